"use strict";
// The player: steps through the result, on paper and in the list.

function goTo(done) {
  const { result } = state, before = damagedNetwork();
  result.quiet = false;
  result.wanted = result.done = Math.max(0, Math.min(done, result.steps.length));
  drawPaper();
  drawNetwork();
  if (damagedNetwork() !== before) drawDamage();
  if (!state.playing) remember();
}

// A button that cannot be used keeps keyboard focus: it is marked (aria-disabled), not disabled.
const able = (id, yes) => $(id).setAttribute("aria-disabled", String(!yes));
document.addEventListener("click", (event) => {
  if (event.target.closest("[aria-disabled='true']")) event.stopImmediatePropagation();
}, true);

function drawPaper() {
  const { result } = state, { step, done, steps } = result;
  const quick = state.playing && SPEEDS[$("speed").value] > QUICK;
  Object.assign($("position"), { max: steps.length, value: done, disabled: !steps.length });
  $("position").setAttribute("aria-valuetext", `${said(done)} of ${said(steps.length)}`);
  able("back", done > 0);
  able("step", done < steps.length);
  able("play", steps.length > 0);
  drawResultSheet();
  drawSteps($("steps"), steps, done, (number) => { pause(); goTo(number); });
  $("note").textContent = noted(result);
  $("live").setAttribute("aria-live", quick ? "off" : "polite");
  $("live").textContent = told(result);
  const opened = step ?? (steps.length ? state.opened : result);
  if (opened === state.opened) return; // the user has opened something else meanwhile
  state.opened = opened;
  if (step) lookInside(step.prompt, done);
  else closeInside();
}

function drawResultSheet() {
  const { problem, step } = state.result;
  drawWhole(state.result);
  if (problem) drawSheet($("sheet"), problem, step ? step.index + 1 : 0);
  else clearSheet($("sheet"));
}

function noted({ problem, problems, step, note, answer, answeredBy, traced }) {
  const told = [note];
  if (problems.length > 1) {
    const place = problems.indexOf(problem), before = step?.index === 0 ? problems[place - 1]?.after : "";
    told.push(`Part ${place + 1} of ${problems.length}: ${shortened(problem.expression)}${before ? ` (${before})` : ""}`);
  } else if (problem && answeredBy.length && !answeredBy.includes(problem.model)) {
    told.push(`Step by step by ${problem.model}; the answer above is by ${answeredBy.join(", ")}.`);
  }
  if (answer && traced !== undefined && traced !== answer.answer) told.push(`Step by step it comes to ${traced ?? "no answer"}, which is not the answer above.`);
  return told.filter(Boolean).join(" ");
}

function told({ step, steps, done, error, answer }) {
  if (!step) return error || !steps.length ? (answer ? "There are no steps to play." : "") : "Nothing done yet. Press play, or go on step by step.";
  const { problem, prompt, text, written } = step;
  const right = step.bad ? `, which is wrong${step.expected ? ` (${step.expected} would be right)` : ""}` : step.margin === null ? "" : `, lead ${step.margin.toFixed(1)}`;
  const carry = step.carry && step.index !== problem.columns - 1 ? `, ${problem.from_right ? "carry" : "take along"} ${step.carry}` : "";
  const write = written === null ? "that is no output" : written ? `write ${written}${carry}` : `keep ${step.carry || text}`;
  return `Step ${said(done)} of ${said(steps.length)}: the network reads ${prompt} and writes ${text || "nothing"}${right}: ${write}.`;
}

function play() {
  const { result } = state;
  if (!result?.steps.length) return;
  if (result.done >= result.steps.length) goTo(0);
  playing(true);
  let last = performance.now(), owed = 0;
  const tick = (now) => {
    if (!state.playing || state.result !== result) return;
    owed += (now - last) / 1000 * SPEEDS[$("speed").value];
    last = now;
    if (owed >= 1) {
      const steps = Math.floor(owed);
      owed -= steps;
      goTo(result.done + steps);
      if (result.done >= result.steps.length) return pause();
    }
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}

function playing(yes) {
  state.playing = yes;
  $("play").textContent = yes ? "Pause" : "Play";
  $("play").setAttribute("aria-pressed", String(yes));
}

function stop() {
  if (state.playing) playing(false);
}

function pause() {
  if (!state.playing) return;
  playing(false);
  goTo(state.result.done);
}
