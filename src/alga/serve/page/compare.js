"use strict";
// Compare: two networks at one question, other published methods at one digit more, and a reader's attention by distance.

const PAIR = ["addition", "smallest"];

async function comparePair() {
  const prompt = $("compare-prompt").value.trim(), names = from.embedded ? [from.content.domain.model, ...Object.keys(from.content.others)] : PAIR;
  const found = await Promise.all(names.map(async (name) => ({ name, ...(await networkOf(name)) })));
  if (prompt !== $("compare-prompt").value.trim()) return; // another was typed meanwhile
  const cells = found.map(({ domain }) => domain.cells.find((cell) => cell.prompt === prompt));
  const row = (title, value) => make("tr", {}, make("th", { scope: "row", textContent: title }), ...found.map((each, i) => {
    const text = value(each, cells[i]);
    return make("td", { textContent: text, className: text === "wrong" ? "bad" : "" });
  }));
  const right = (cell) => cell.text === cell.expected;
  $("compared").replaceChildren($("compared").caption, make("tbody", {},
    make("tr", {}, make("td"), ...found.map(({ name }) => make("th", { scope: "col", textContent: name }))),
    row("numbers in it", ({ certificate }) => said(certificate.parameters)),
    row("questions there are", ({ domain }) => said(domain.cells.length)),
    row("it writes", (_, cell) => cell?.text ?? "not a question of its task"),
    row("that is", (_, cell) => (!cell ? "–" : right(cell) ? "right" : "wrong")),
    row("lead, in logits", (_, cell) => (!cell || !right(cell) || cell.margin === null ? "–" : cell.margin.toFixed(2))),
    row("closest lead of all", ({ certificate }) => certificate.least_margin?.toFixed(2) ?? "–"),
    row("certificate", ({ certificate }) => (certificate.certified ? certificate.strength : "none"))));
}

// The share of right sums by length, from the committed records: the darker, the more. Training ended at five digits.
function drawRecords() {
  const { digits, lengths, methods } = RECORDS, colour = colours();
  const head = make("tr", {}, make("th", { scope: "col", textContent: "method" }), ...lengths.map((length) => make("th", { scope: "col", textContent: length, className: Number(length) > digits ? "beyond" : "" })));
  const rows = methods.map(({ title, source, shares }) => make("tr", {}, make("th", { scope: "row", textContent: title, title: source }), ...shares.map((share, i) => {
    const part = share && share[0] / share[1], cell = make("td", { textContent: share ? `${Math.round(100 * part)}` : "–", className: Number(lengths[i]) === digits + 1 ? "edge" : "" });
    if (!share) return cell;
    cell.style.backgroundColor = colour(part);
    cell.style.color = legibleOn(colour(part));
    cell.title = `${said(share[0])} of ${said(share[1])} sums of ${lengths[i]} digits`;
    return cell;
  })));
  $("records").replaceChildren(make("caption", { textContent: "Right sums in per cent, by digits; – was not measured" }), make("thead", {}, head), make("tbody", {}, ...rows));
  const [problem, wrote] = methods[0].example, runs = Math.max(...methods.map((method) => method.runs));
  $("records-words").textContent = `Published methods, rebuilt here at small scale and trained on sums of up to ${digits} digits (${runs} runs each, the same tokens). `
    + `Asked ${problem}, the ${methods[0].title} wrote ${wrote.replace("<end>", "")}. These are measurements; only the networks of this page are certified.`;
}

// What each head of the reader adds to a score, by coupled distance.
function drawReader() {
  const own = (i) => i + first === 0 || i + first === 1, { from: first, scores } = RECORDS.reader, wide = 22, high = 110, most = Math.max(...scores.flat()), least = Math.min(...scores.flat());
  $("reader").replaceChildren(...scores.map((row, head) => {
    const picture = svg("svg", { viewBox: `0 0 ${row.length * wide + 4} ${high + 18}`, role: "img", "aria-label": `Head ${head + 1}: highest at distance ${first + row.indexOf(Math.max(...row))}` });
    row.forEach((score, i) => {
      const tall = Math.max(1, high * (score - least) / (most - least)), bar = svg("rect", { class: own(i) ? "own" : "other", x: i * wide + 3, y: high - tall, width: wide - 4, height: tall });
      bar.append(svg("title", {}, `distance ${i + first}: ${score.toFixed(1)}`));
      picture.append(bar, svg("text", { x: (i + 0.5) * wide + 1, y: high + 13, "text-anchor": "middle" }, String(i + first)));
    });
    const ahead = Math.min(...row.filter((_, i) => own(i))) - Math.max(...row.filter((_, i) => !own(i)));
    return make("figure", {}, picture, make("figcaption", { textContent: `Head ${head + 1}: own and next place ahead by ${ahead.toFixed(0)}` }));
  }));
}

function beginCompare() {
  drawReader();
  drawRecords();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawRecords);
  const refused = (problem) => { if (!(problem instanceof Refused)) throw problem; };
  $("compare-prompt").addEventListener("input", () => comparePair().catch(refused));
  const near = new IntersectionObserver(([entry]) => {
    if (!entry.isIntersecting) return;
    near.disconnect();
    if (from.embedded) $("compare-prompt").value = from.content.domain.cells.at(-1).prompt;
    if (from.embedded && isAddition()) $("compare-prompt").value = "15C77";
    comparePair().catch(refused);
  }, { rootMargin: "300px" });
  near.observe($("compare"));
}
