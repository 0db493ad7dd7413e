"use strict";
// The section #smallest: the 59-parameter network drawn whole, each of its numbers a cell to drag, the grid recomputed.

function mountSmallest(element, { network, checker }) {
  const part = (name) => element.querySelector(`[data-part="${name}"]`);
  const cells = new Cells(part("grid"), "The 59 numbers, checked in this browser");
  const sliders = new Map(); // by `tensor[index]`: { cell, tensor, index, most }
  let description = null, forward = null, shipped = null;
  let running = false, version = 0, prompt = "15C38", writing = 0;

  const changes = () => [...sliders.values()].filter(({ tensor, index }) => forward.weights[tensor][index] !== shipped[tensor][index]).length;

  async function open() {
    part("status").textContent = "Loading the 59 numbers …";
    try {
      description = await network("smallest");
    } catch (problem) {
      part("status").textContent = sentence(problem.message);
      return;
    }
    forward = new Forward(description);
    shipped = Forward.weightsOf(description);
    part("numbers").replaceChildren(...groups());
    sliders.values().next().value.cell.tabIndex = 0;
    cells.show(description, Array(description.prompts.length).fill(undefined), prompt);
    changed();
  }

  // --- the 59 cells ------------------------------------------------------------------------------------------------

  function groups() {
    const token = description.vocabulary.map(shownToken), units = ["unit 1", "unit 2", "unit 3"], plane = ["across", "up"];
    const in2 = "layers.0.attention.project_in.weight", hidden = "layers.0.feed_forward";
    return [
      group("Where each token lies", "token_embedding.weight", plane, token.slice(0, 7), (row, column) => 2 * column + row),
      group("", "token_embedding.weight", plane, token.slice(7), (row, column) => 14 + 2 * column + row),
      group("Shifts of positions", "position_embedding.weight", plane, ["3rd", "4th to 6th", "1st written", "2nd written"], (row, column) => 2 * column + row),
      group("Attention: query", in2, [""], plane, (_, column) => column),
      group("Attention: key", in2, [""], plane, (_, column) => 2 + column),
      group("Attention: values", in2, plane, plane, (row, column) => 4 + 2 * row + column),
      group("What hidden units see", `${hidden}.0.weight`, plane, units, (row, column) => 2 * column + row),
      group("Their thresholds", `${hidden}.0.bias`, [""], units, (_, column) => column),
      group("Where they push", `${hidden}.2.weight`, plane, units, (row, column) => 3 * row + column),
    ];
  }

  function group(title, tensor, rows, columns, indexOf) {
    const table = make("div", { className: "numbers-grid" });
    table.style.gridTemplateColumns = `auto repeat(${columns.length}, minmax(0, 62px))`;
    table.append(make("span"), ...columns.map((text) => make("span", { className: "numbers-head", textContent: text })));
    rows.forEach((name, r) => table.append(make("span", { className: "numbers-side", textContent: name }), ...columns.map((column, c) => {
      const index = indexOf(r, c), label = [title || "Where each token lies", column, name].filter(Boolean).join(", ");
      return slider(tensor, index, label);
    })));
    return make("div", { className: "numbers-group" }, ...(title ? [make("h4", { textContent: title })] : []), table);
  }

  function slider(tensor, index, label) {
    const cell = make("span", { className: "number", tabIndex: -1 });
    const most = Math.max(1, 3 * shipped[tensor].reduce((most, value) => Math.max(most, Math.abs(value)), 0));
    for (const [name, value] of Object.entries({ role: "slider", "aria-label": label, "aria-valuemin": -most, "aria-valuemax": most })) cell.setAttribute(name, value);
    const entry = { cell, tensor, index, most, step: most / 300 };
    sliders.set(`${tensor}[${index}]`, entry);
    let from = null; // where a drag began, and the value there
    cell.addEventListener("pointerdown", (event) => { from = [event.clientX, forward.weights[tensor][index]]; cell.setPointerCapture(event.pointerId); focusOn(cell); });
    cell.addEventListener("pointermove", (event) => { if (from) put(entry, from[1] + (event.clientX - from[0]) * entry.step); });
    for (const end of ["pointerup", "pointercancel"]) cell.addEventListener(end, () => { from = null; });
    cell.addEventListener("dblclick", () => put(entry, shipped[tensor][index]));
    cell.addEventListener("keydown", (event) => key(event, entry));
    return cell;
  }

  function key(event, entry) {
    const all = [...sliders.values()], here = all.indexOf(entry), { tensor, index, step } = entry;
    const by = { ArrowUp: 1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key], to = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: all.length - 1 }[event.key];
    if (by) put(entry, forward.weights[tensor][index] + by * step);
    else if (event.key === "Delete" || event.key === "Backspace") put(entry, shipped[tensor][index]);
    else if (to !== undefined) focusOn(all[Math.min(all.length - 1, Math.max(0, to))].cell);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  function focusOn(cell) {
    for (const each of sliders.values()) each.cell.tabIndex = -1;
    cell.tabIndex = 0;
    cell.focus();
  }

  function put({ tensor, index, most }, value) {
    forward.weights[tensor][index] = Math.min(most, Math.max(-most, value));
    changed();
  }

  function drawNumbers() {
    const ink = signed();
    for (const { cell, tensor, index } of sliders.values()) {
      const value = forward.weights[tensor][index], was = shipped[tensor][index];
      const share = value / shipped[tensor].reduce((most, each) => Math.max(most, Math.abs(each)), 1e-9);
      cell.textContent = Math.abs(value) < 99.95 ? value.toFixed(Math.abs(value) < 9.995 ? 2 : 1) : value.toFixed(0);
      const colour = ink(0.55 * Math.max(-1, Math.min(1, share)));
      Object.assign(cell.style, { background: colour, color: legibleOn(colour) });
      cell.classList.toggle("moved", value !== was);
      cell.setAttribute("aria-valuenow", value);
      cell.setAttribute("aria-valuetext", value === was ? value.toFixed(2) : `${value.toFixed(2)}, was ${was.toFixed(2)}`);
    }
    part("reset").setAttribute("aria-disabled", !changes());
  }

  // --- the pictures ------------------------------------------------------------------------------------------------

  function drawPictures() {
    let answer;
    try {
      answer = forward.answer(prompt);
    } catch (problem) {
      part("answer").textContent = sentence(problem.message);
      return;
    }
    const { text } = answer, at = description.prompts.indexOf(prompt), expected = at < 0 ? null : `${description.outputs[at]}S`;
    writing = Math.min(writing, text.length - 1);
    const verdict = expected === null ? "no step of a problem asks this" : text === expected ? "right" : `wrong, ${expected} would be right`;
    part("answer").replaceChildren(`It reads ${prompt} and writes `, make("b", { textContent: text, className: expected !== null && text !== expected ? "bad" : "" }), `: ${verdict}.`);
    part("written").replaceChildren(...[...text].map((token, i) => {
      const button = make("button", { type: "button", textContent: shownToken(token) });
      button.setAttribute("aria-pressed", i === writing);
      button.setAttribute("aria-label", `How it writes ${shownToken(token)}, token ${i + 1}`);
      button.addEventListener("click", () => { writing = i; drawPictures(); part("written").children[i].focus(); });
      return button;
    }));
    const { stateOf, drawPoints, drawAttention, drawLine, drawArc } = SmallestPictures;
    const before = text.slice(0, writing), state = stateOf(forward, prompt, before);
    part("points").replaceChildren(drawPoints(forward, state));
    part("attention").replaceChildren(drawAttention(state));
    part("line").replaceChildren(drawLine(forward, state, before));
    part("arc").replaceChildren(drawArc(forward, state));
    part("echo").replaceChildren(...["points", "attention", "line", "arc"].map((name) => part(name).firstElementChild.cloneNode(true))); // in sight of the numbers
    cells.mark(prompt);
  }

  // --- every prompt ------------------------------------------------------------------------------------------------

  function changed() {
    version++;
    element.dataset.checked = "no";
    part("status").className = "verdict live-verdict";
    part("status").textContent = `Checking all ${said(description.prompts.length)} questions in this browser …`;
    drawNumbers();
    drawPictures();
    check();
  }

  // One check at a time: the grid follows a drag as fast as checks end; the sentence waits for the weights on screen.
  async function check() {
    if (running) return;
    running = true;
    for (let checked = 0; checked !== version;) {
      checked = version;
      const found = await checker.check(description, forward.weights);
      if (!found) continue;
      cells.show(description, found.texts.map((text, i) => text === `${description.outputs[i]}S`), prompt);
      if (checked === version) tell(found);
    }
    running = false;
  }

  function tell({ wrong, margins, least }) {
    const all = said(description.prompts.length), moved = changes();
    const whose = moved ? ` with ${said(moved)} of 59 numbers moved` : "";
    part("status").className = wrong ? "verdict live-verdict bad" : "verdict live-verdict";
    part("status").textContent = wrong ? `Checked in this browser${whose}: ${said(wrong)} of ${all} answers are wrong.`
      : `Checked in this browser${whose}: all ${all} answers are right. The closest lead is ${margins[least].toFixed(2)}, at ${description.prompts[least]}.`;
    element.dataset.checked = "yes";
  }

  // --- things to try -----------------------------------------------------------------------------------------------

  const trials = {
    flat: (w) => { for (let i = 2; i < 12; i++) w["token_embedding.weight"][2 * i + 1] = 2.3; },
    carry: (w) => { for (const d of [0, 1]) w["position_embedding.weight"][d] = w["position_embedding.weight"][2 + d]; },
    switch: (w) => { for (const d of [0, 1]) w["layers.0.feed_forward.2.weight"][3 * d + 1] = 0; },
  };

  function attempt(name) {
    forward = new Forward(description);
    trials[name]?.(forward.weights);
    changed();
  }

  for (const name of Object.keys(trials)) part(name).addEventListener("click", () => forward && attempt(name));
  part("reset").addEventListener("click", () => forward && changes() && attempt(""));
  part("prompt").addEventListener("input", () => { prompt = part("prompt").value; if (forward) drawPictures(); });
  cells.canvas.addEventListener("click", (event) => {
    const chosen = description && cells.at(event);
    if (chosen) { part("prompt").value = prompt = chosen; drawPictures(); }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => forward && drawNumbers());
  return { open, attempt, look: (text, token = 0) => { part("prompt").value = prompt = text; writing = token; drawPictures(); }, get forward() { return forward; } };
}
