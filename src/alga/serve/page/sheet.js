"use strict";
// The problem on paper: numbers one above the other, carries above them, the answer below.

function make(tag, properties = {}, ...children) {
  const { dataset, ...rest } = properties;
  const element = Object.assign(document.createElement(tag), rest);
  Object.assign(element.dataset, dataset);
  element.append(...children);
  return element;
}

// The place of a step on paper, counted from the left.
const placeOf = (problem, step) => (problem.from_right ? problem.columns - 1 - step : step);

// What each place shows after `done` steps: carries above, the digits of the answer below.
function standing(problem, done) {
  const carries = new Map(), answer = new Map();
  for (let i = 0; i < done && i < problem.steps.length; i++) {
    const { carry, written } = problem.steps[i];
    const place = placeOf(problem, i), last = i === problem.columns - 1;
    if (carry && !last) carries.set(placeOf(problem, i + 1), carry);
    if (written === null) answer.set(place, "✗");
    else if (problem.from_right) {
      answer.set(place, written.slice(-1));
      if (written.length > 1) answer.set(place - 1, written.slice(0, -1));
    } else {
      answer.set(place, written.slice(0, 1));
      if (written.length > 1) answer.set(place + 1, written.slice(1));
    }
  }
  return { carries, answer };
}

// Draws the sheet after `done` steps, the last of them highlighted; of long numbers, the places around it.
function drawSheet(sheet, problem, done) {
  const cell = parseFloat(getComputedStyle(sheet).getPropertyValue("--cell"));
  const fits = Math.floor((sheet.clientWidth - 4) / cell) - 2; // two places are for the last step's carry
  const cut = problem.columns > fits;
  const edges = cut ? 56 : 0;
  const room = Math.max(5, Math.floor((sheet.clientWidth - 2 * edges - 4) / cell) - 1);
  const now = done ? placeOf(problem, done - 1) : problem.from_right ? problem.columns : -1;
  let from = -1, to = problem.columns;
  if (cut) {
    from = Math.min(Math.max(-1, now - Math.floor(room / 2)), problem.columns - room);
    to = from + room;
  }
  const hidden = { left: Math.max(0, from), right: Math.max(0, problem.columns - 1 - to) };
  const { carries, answer } = standing(problem, done);
  const wrong = problem.wrongFrom;
  const shown = [];
  const row = (kind, text, edge) => {
    shown.push(make("span", { className: `edge ${kind}`, textContent: edge.left }));
    for (let place = from; place <= to; place++) {
      const [char, more = ""] = text(place);
      const classes = [kind, more, place === now ? "now" : ""].join(" ");
      shown.push(make("span", { className: classes, textContent: char }));
    }
    shown.push(make("span", { className: `edge ${kind}`, textContent: edge.right }));
  };
  const blank = { left: "", right: "" };
  row("carry top", (place) => [carries.get(place) ?? ""], blank);
  problem.rows.forEach((digits, i) => {
    const start = problem.from_right ? problem.columns - digits.length : 0;
    const last = i === problem.rows.length - 1;
    const more = { left: hidden.left ? `${hidden.left.toLocaleString("en")} more` : "", right: hidden.right ? `${hidden.right.toLocaleString("en")} more` : "" };
    const faint = problem.repeats && i === 1 ? "faint" : "";
    row("digit", (place) => {
      const sign = last && problem.rows.length > 1 && place === from && !digits[place - start];
      return sign ? [problem.sign] : [digits[place - start] ?? "", faint];
    }, i === 0 ? more : blank);
  });
  row("sum", (place) => {
    const step = problem.from_right ? problem.columns - 1 - place : place;
    const bad = answer.has(place) && (answer.get(place) === "✗" || step >= wrong) ? "bad" : "";
    const fresh = place === now && !bad ? "fresh" : "";
    return answer.has(place) ? [answer.get(place), bad || fresh] : [place >= 0 && place < problem.columns ? "·" : "", "later"];
  }, blank);
  sheet.style.gridTemplateColumns = `${edges}px repeat(${to - from + 1}, ${cell}px) ${edges}px`;
  sheet.replaceChildren(...shown);
  const read = [...answer].filter(([place]) => place >= from && place <= to).sort(([a], [b]) => a - b).map(([, text]) => text).join("");
  sheet.setAttribute("aria-label", `${problem.rows.map((digits) => shortened(digits)).join(` ${problem.sign} `)}; written so far: ${read || "nothing"}`);
}

function clearSheet(sheet) {
  sheet.replaceChildren();
  sheet.setAttribute("aria-label", "Nothing on paper");
}

// The trace around the current step; each line can be selected. Keyboard focus stays on the current one.
function drawSteps(list, steps, done, choose) {
  const most = 7;
  const from = Math.max(0, Math.min(done - 4, steps.length - most));
  const lines = steps.slice(from, from + most).map((step, i) => {
    const number = from + i + 1;
    const states = [number === done ? "here" : "", number > done ? "ahead" : "", step.bad ? "bad" : ""].join(" ");
    const margin = step.bad ? "wrong" : step.margin === null ? "" : step.margin.toFixed(1);
    const button = make("button", { type: "button", title: `Go to step ${number}`, onclick: () => choose(number) },
      make("span", { textContent: `${number}ª)` }), make("span", { textContent: step.prompt }), make("span", { textContent: "→" }),
      make("b", { textContent: step.text || "?" }), make("span", { className: "margin", textContent: margin, title: "lead over the runner-up (margin), in logits" }));
    if (number === done) button.setAttribute("aria-current", "step");
    return make("li", { className: states }, button);
  });
  const focused = list.contains(document.activeElement);
  list.replaceChildren(...lines);
  if (focused) (list.querySelector("[aria-current]") ?? list.querySelector("button"))?.focus({ preventScroll: true });
}

const shortened = (text) => (text.length > 40 ? `${text.slice(0, 18)}…${text.slice(-18)} (${text.length.toLocaleString("en")} digits)` : text);
