"use strict";
// The inside of one step: its tokens, the probabilities of each generated token, and every head's attention.

const shownToken = (token) => ({ "\n": "⏎", " ": "␣" })[token] ?? token;
const LOG_SPAN = 24; // logits that a bar spans; less likely tokens have no bar

function drawTokens(place, step) {
  const cut = step.prompt.lastIndexOf("C");
  const parts = cut < 0 ? [["this column", step.prompt]] : [["what it wrote last", step.prompt.slice(0, cut)], ["", "C"], ["this column", step.prompt.slice(cut + 1)]];
  const run = (label, text, kind = "") => make("figure", { className: kind },
    make("div", { className: "run" }, ...[...text].map((token) => make("kbd", { textContent: shownToken(token) }))),
    make("figcaption", { textContent: label || "\u00a0" }));
  const wrong = step.expected && step.text !== step.expected;
  const written = run(wrong ? `its output (${step.expected} would be right)` : "its output", step.text || "?", wrong ? "out bad" : "out");
  place.replaceChildren(...parts.map(([label, text]) => run(label, text)), make("div", { className: "written" }, make("span", { className: "arrow", textContent: "→" }), written));
}

function percent(chance) {
  if (chance > 0.9999) return "> 99.99 %";
  if (chance < 0.0001) return "< 0.01 %";
  return `${(100 * chance).toFixed(2)} %`;
}

// The margin of each token: how far it leads the runner-up or, if it is wrong, how far the right token is behind it.
// Tokens after a wrong one have no margin: no continuation is right.
function marginOf(ranked, i, { text, expected }) {
  const wrong = [...text].findIndex((token, j) => token !== expected?.[j]);
  const lead = (a, b) => Math.log(a.chance / b.chance).toFixed(1);
  if (wrong < 0 || i < wrong) return `lead ${lead(ranked[0], ranked[1])}`;
  const right = i === wrong && ranked.find(({ token }) => token === expected?.[i]);
  return right ? `wrong, ${shownToken(right.token)} is ${lead(ranked[0], right)} behind` : i === wrong ? "wrong" : "after a wrong one";
}

function drawProbabilities(place, inside) {
  const tables = inside.probabilities.map((row, i) => {
    const ranked = row.map((chance, id) => ({ chance: Math.max(chance, 1e-30), token: inside.vocabulary[id] })).sort((a, b) => b.chance - a.chance);
    const margin = marginOf(ranked, i, inside);
    const table = make("table", {}, make("caption", {}, `token ${i + 1}: `, make("b", { textContent: margin, className: margin.startsWith("wrong") ? "bad" : "" })));
    ranked.slice(0, 4).forEach(({ token, chance }, rank) => {
      const bar = make("i");
      bar.style.width = `${Math.max(0, 100 * (1 + Math.log(chance) / LOG_SPAN))}%`;
      table.append(make("tr", { className: rank ? "" : "first" }, make("th", { scope: "row", textContent: shownToken(token) }),
        make("td", {}, make("div", { className: "bar" }, bar)), make("td", { textContent: percent(chance) })));
    });
    return table;
  });
  const longest = Math.max(3, tables.length); // room for an output of carry, digit and stop is kept
  place.replaceChildren(...tables, ...Array.from({ length: longest - tables.length }, () => make("div", { className: "blank" })));
}

function drawAttention(place, inside) {
  const tokens = inside.tokens.map(shownToken);
  const begin = inside.tokens.indexOf("\n");
  const size = 14, edge = 16, side = tokens.length * size;
  const colour = colours();
  const figures = inside.attention.flatMap((heads, layer) => heads.map((rows, head) => {
    const picture = svg("svg", { viewBox: `0 0 ${side + edge} ${side + edge}`, role: "img" });
    rows.forEach((row, i) => row.forEach((weight, j) => {
      const spot = svg("rect", { x: edge + j * size, y: edge + i * size, width: size - 1, height: size - 1, rx: 2, fill: colour(weight) });
      spot.append(svg("title", {}, `${tokens[i]} looks at ${tokens[j]}: ${Math.round(100 * weight)} %`));
      picture.append(spot);
    }));
    tokens.forEach((token, i) => picture.append(
      svg("text", { x: edge + (i + 0.5) * size, y: 11, "text-anchor": "middle" }, token),
      svg("text", { x: 8, y: edge + (i + 0.72) * size, "text-anchor": "middle" }, token)));
    picture.append(svg("line", { class: "cut", x1: 0, x2: side + edge, y1: edge + begin * size - 0.5, y2: edge + begin * size - 0.5 }));
    const most = rows.slice(begin).map((row) => tokens[row.indexOf(Math.max(...row))]);
    const told = `Layer ${layer + 1}, head ${head + 1}`;
    picture.setAttribute("aria-label", `${told}: while writing, it looks most at ${most.join(", then ")}`);
    return make("figure", {}, picture, make("figcaption", { textContent: told }));
  }));
  place.replaceChildren(...figures);
}

function svg(tag, attributes, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text) element.textContent = text;
  return element;
}

// From pale to deep (dark theme: from dim to bright): lightness alone encodes the value, so colour blindness does not matter.
function colours() {
  const style = getComputedStyle(document.documentElement);
  const parts = (name) => [1, 3, 5].map((i) => parseInt(style.getPropertyValue(name).trim().slice(i, i + 2), 16));
  const low = parts("--low"), high = parts("--high");
  return (share) => `rgb(${low.map((from, i) => Math.round(from + (high[i] - from) * Math.min(1, Math.max(0, share)))).join(" ")})`;
}

// Black or white, whichever can be read better.
function legibleOn(colour) {
  const [r, g, b] = colour.match(/\d+/g).map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
}
