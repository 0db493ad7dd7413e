"use strict";
// Long multiplication and division as on paper, drawn from the steps of the networks: rows of digits that fill up.
// Only the layout is made here; every digit was written by a network, and the notes say which digit of the quotient it was.

const MOST_PLACES = 40; // longer numbers are shown by the network at work only

// How many steps of a problem are done.
function doneIn(result, problem) {
  const now = result.problems.indexOf(result.problem), place = result.problems.indexOf(problem);
  return place < now ? problem.steps.length : place === now && result.step ? result.step.index + 1 : 0;
}

const isDone = (result, problem) => problem.steps.length === problem.columns && doneIn(result, problem) === problem.columns;
const plain = (text) => text.trim().replace(/^[+-]/, "").toLowerCase().replace(/^0+(?=.)/, "");
const kindOf = (problem) => problem.task.replace(/-base-\d+$/, "");

// The rows on paper: { cells: Map(column -> [text, class]), line: whether a line is drawn above, name }.
function longhand(result) {
  const { verb, operands } = result.request;
  if (!["mul", "divmod"].includes(verb) || result.problems.length < 2) return null;
  const [a, b] = operands.map(plain);
  if (a.length + b.length > MOST_PLACES) return null;
  return verb === "mul" ? longProduct(result, ...(a.length >= b.length ? [a, b] : [b, a])) : longDivision(result, a, b);
}

const row = (name, line = false) => ({ name, line, cells: new Map() });

function place(target, text, last, kind = "") {
  [...text].forEach((char, i) => target.cells.set(last - text.length + 1 + i, [char, kind]));
}

// What a problem has written so far, its units in column `last`; the newest digit is marked.
function placeWritten(target, result, problem, last, kind = "") {
  const done = doneIn(result, problem), { answer } = standing(problem, done), all = isDone(result, problem);
  const first = Math.min(...answer.keys()), digits = [...answer].sort(([x], [y]) => x - y);
  let leading = all;
  for (const [at, char] of digits) {
    leading = leading && char === "0" && at < problem.columns - 1;
    if (leading) continue; // zeros in front are not written
    const bad = char === "✗" || problem.columns - 1 - at >= problem.wrongFrom;
    const fresh = problem === result.problem && result.step && (at === placeOf(problem, result.step.index) || (at < 0 && at === first && all));
    target.cells.set(last - (problem.columns - 1 - at), [char, bad ? "bad" : fresh ? "fresh now" : kind]);
  }
}

function longProduct(result, top, bottom) {
  const width = top.length + bottom.length + 1, end = width - 1, rows = [row("carry"), row("first"), row("second")];
  const product = row("answer", true), byDigit = new Map(), partials = [];
  place(rows[1], top, end);
  place(rows[2], bottom, end);
  rows[2].cells.set(end - Math.max(top.length, bottom.length), ["×", "soft"]);
  const queue = [...result.problems];
  let before = null; // what must be done before a row is written
  [...bottom].reverse().forEach((digit, k) => {
    const made = !byDigit.has(digit);
    if (made) byDigit.set(digit, queue.shift());
    const problem = byDigit.get(digit), partial = row("partial", k === 0);
    if (problem && (made || !before || isDone(result, before))) placeWritten(partial, result, problem, end - k);
    if (problem === result.problem && made) {
      rows[2].cells.set(end - k, [digit, "now"]);
      for (const [at, carry] of standing(problem, doneIn(result, problem)).carries) rows[0].cells.set(end - (problem.columns - 1 - at), [carry, "small"]);
    }
    partials.push(partial);
    const sum = k ? queue.shift() : problem;
    if (sum && k) placeWritten(product, result, sum, end - k, k < bottom.length - 1 ? "soft" : "");
    if (sum && isDone(result, sum)) place(product, written(result, sum).slice(-1), end - k, product.cells.get(end - k)?.[1].replace("soft", "") ?? "");
    before = sum;
  });
  return { rows: [...rows, ...partials, product], width, says: `${top} × ${bottom}` };
}

// The whole answer of a problem that is done.
const written = (result, problem) => [...standing(problem, problem.columns).answer].sort(([x], [y]) => x - y).map(([, char]) => char).join("").replace(/^0+(?=.)/, "");

// The problems up to each digit of the quotient: trials of multiples, then perhaps a subtraction.
function roundsOf(problems) {
  const rounds = [{ problems: [] }];
  for (const problem of problems) {
    rounds.at(-1).problems.push(problem);
    const [, digit, rest] = /next digit is (\w); (\w+) is left/.exec(problem.after) ?? [];
    if (digit !== undefined) { Object.assign(rounds.at(-1), { digit, rest }); rounds.push({ problems: [] }); }
  }
  return rounds;
}

function longDivision(result, top, divisor) {
  const left = divisor.length + 2, width = left + top.length, quotient = row("quotient"), first = row("first", true), rows = [quotient, first];
  place(first, divisor, divisor.length - 1, "soft");
  first.cells.set(divisor.length, [")", "soft"]);
  place(first, top, width - 1);
  let at = divisor.length - 1, rest = top.slice(0, at), leading = true, says = "";
  for (const { problems, digit, rest: after } of roundsOf(result.problems)) {
    const begun = problems.some((problem) => doneIn(result, problem) > 0);
    if (!begun || at >= top.length) break;
    const shown = (rest + top[at]).replace(/^0+(?=.)/, ""), column = left + at;
    if (rows.length > 2) place(rows.at(-1), shown, column);
    const last = problems.at(-1), take = kindOf(last) === "subtraction" ? last : null, now = problems.includes(result.problem);
    if (now) first.cells.set(column, [top[at], "now"]);
    if (now) says = trial(result, shown);
    if (take && doneIn(result, take)) {
      const multiple = row("multiple");
      place(multiple, take.rows[1].replace(/^0+(?=.)/, ""), column);
      multiple.cells.set(column - take.columns, ["−", "soft"]);
      const left = row("rest", true);
      placeWritten(left, result, take, column);
      rows.push(multiple, left);
    }
    if (digit === undefined || !isDone(result, last)) break;
    leading = leading && digit === "0" && at < top.length - 1;
    quotient.cells.set(column, [digit, leading ? "soft" : now ? "fresh now" : "fresh"]);
    rest = after === "0" && at < top.length - 1 ? "" : after;
    at += 1;
  }
  return { rows, width, says, tall: 2 + 2 * (top.length - divisor.length + 1) };
}

// What is being tried for the next digit of the quotient.
function trial(result, rest) {
  const { problem } = result, done = isDone(result, problem), answer = done ? written(result, problem) : "…";
  if (kindOf(problem) === "times-a-digit") return `Try ${problem.rows[1]?.[0] ?? "a digit"}: ${problem.expression} = ${answer}`;
  if (kindOf(problem) === "comparison") return `Does ${problem.rows[1]} fit into ${rest}? ${!done ? "…" : answer === "<" ? "No: it is too much." : "Yes."}`;
  return `${problem.expression} = ${answer}`;
}

function drawLonghand(paper, found) {
  const shown = found.rows.map(({ name, line, cells }) => {
    const columns = [...cells.keys()], from = Math.min(...columns), to = Math.max(...columns);
    return Array.from({ length: found.width }, (_, i) => {
      const [text, kind] = cells.get(i) ?? ["", ""];
      const above = line && (name === "answer" || name === "partial" || (i >= from && i <= to && !(name === "first" && i <= (found.width - 1) && kind === "soft")));
      return make("span", { className: `${name} ${kind}${above ? " line" : ""}`, textContent: text });
    });
  });
  const focus = paper.scrollTop;
  paper.style.gridTemplateColumns = `repeat(${found.width}, var(--cell))`;
  paper.replaceChildren(...shown.flat());
  paper.scrollTop = focus;
  const now = [...paper.querySelectorAll(".now")].reduce((low, cell) => (!low || cell.offsetTop > low.offsetTop ? cell : low), null);
  if (now && (now.offsetTop + now.offsetHeight > paper.scrollTop + paper.clientHeight || now.offsetTop < paper.scrollTop)) paper.scrollTop = now.offsetTop - paper.clientHeight / 2;
  const read = found.rows.map(({ name, cells }) => `${name}: ${[...cells].sort(([x], [y]) => x - y).map(([, [char]]) => char).join("")}`);
  paper.setAttribute("aria-label", read.filter((text) => !text.startsWith("carry")).join("; "));
}

// --- the tabs ----------------------------------------------------------------------------------------------------

// Problems made of many have two views: the whole as on paper, and the part that a network is at.
function drawWhole(result) {
  const found = longhand(result);
  $("paper-tabs").hidden = !found;
  if (found) drawLonghand($("long"), found);
  else $("long").replaceChildren();
  $("trial").textContent = found?.says ?? "";
  choosePaper(found ? state.paper : "work");
}

function choosePaper(name) {
  const composed = !$("paper-tabs").hidden;
  for (const which of ["long", "work"]) {
    $(`tab-${which}`).setAttribute("aria-selected", String(which === name));
    $(`tab-${which}`).tabIndex = which === name ? 0 : -1;
    $(`panel-${which}`).hidden = which !== name;
  }
  for (const id of ["panels", "inside", "mind"]) $(id).classList.toggle("composed", composed); // heights that hold for every part
}

for (const which of ["long", "work"]) {
  const other = which === "long" ? "work" : "long";
  const choose = (name) => { state.paper = name; choosePaper(name); drawResultSheet(); };
  $(`tab-${which}`).addEventListener("click", () => choose(which));
  $(`tab-${which}`).addEventListener("keydown", (event) => {
    if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
    event.stopPropagation();
    choose(other);
    $(`tab-${other}`).focus();
  });
}
