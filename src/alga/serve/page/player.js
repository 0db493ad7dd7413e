"use strict";
// A calculation and its player: asks for the answer and the steps, and goes through them.

// --- the calculation ---------------------------------------------------------------------------------------------

const operands = () => [$("a"), $("b")].slice(0, arity()).map((field) => field.value.replace(/[\s_,.']/g, ""));
const arity = () => (from.embedded ? state.catalogue.models[0].arity : 2);
const verb = () => $("operation").value;

async function calculate({ step = 1, hurt = null } = {}) {
  const run = ++state.run;
  const current = () => run === state.run;
  pause();
  Object.assign(state, { problems: [], steps: [], done: 0 });
  $("problem-error").textContent = "";
  const request = { operands: operands() };
  if ($("model").value) request.model = $("model").value;
  const engine = $("engine").value;
  const answered = from.answer(verb(), engine ? { ...request, engine } : request);
  const heard = (name, data) => {
    if (!current()) return;
    if (name === "problem") begin(data);
    if (name === "steps") data.forEach(take);
    if (name === "note") state.problems.at(-1).after = data.text;
    if (name === "done") { finish(); goTo(Math.min(step, state.steps.length)); }
    else if (state.done < step && state.steps.length >= step) goTo(step);
  };
  try {
    const shown = answered.then((answer) => current() && showAnswer(answer, request.operands));
    const streamed = hurt ? null : from.steps(verb(), request, heard);
    const [first, second] = await Promise.allSettled([shown, streamed]);
    if (first.status === "rejected") throw first.reason;
    if (second.status === "rejected") $("note").textContent = current() ? `Not played: ${second.reason.message}.` : "";
    if (hurt && current()) await breakIt(hurt, step);
  } catch (problem) {
    if (!(problem instanceof Refused)) throw problem;
    if (current()) refuse(problem.message);
  }
  remember();
}

function refuse(message) {
  $("problem-error").textContent = message.charAt(0).toUpperCase() + message.slice(1) + ".";
  $("result").textContent = "";
  $("sheet").replaceChildren();
  $("steps").replaceChildren();
  $("live").textContent = $("note").textContent = "";
}

function begin(problem) {
  state.problems.push({ ...problem, steps: [], first: state.steps.length });
}

function take(step) {
  const problem = state.problems.at(-1);
  state.steps.push({ ...step, problem, index: problem.steps.length });
  problem.steps.push(step);
  $("position").max = state.steps.length;
}

function finish() {
  $("position").max = state.steps.length;
  const one = state.problems.length === 1;
  if (one && state.problems[0].columns > 60) $("position").setAttribute("aria-label", `Step, of ${said(state.steps.length)}`);
}

function showAnswer(answer, numbers) {
  const long = (answer.answer ?? "").length > 60;
  const asked = numbers.map(shortened).join(` ${$("sign").textContent} `);
  const facts = [`by the engine ${answer.engine}`, `${said(answer.steps)} steps`];
  if (answer.rounds) facts.push(`${said(answer.rounds)} rounds`);
  if (answer.network_calls) facts.push(`${said(answer.network_calls)} calls of the network`);
  if (long) facts.push(`${said(answer.answer.length)} digits`);
  facts.push(answer.certified ? "certified" : "not certified");
  const text = answer.answer === null ? answer.failure : verb() === "divmod" ? answer.answer.replace(" ", " remainder ") : answer.answer;
  $("result").className = long ? "result long" : "result";
  $("result").replaceChildren(`${asked} ${verb() === "cmp" ? ":" : "="} `, make("b", { id: "answer", textContent: text }),
    make("small", { textContent: facts.join(" · ") }));
}

// --- the player --------------------------------------------------------------------------------------------------

function goTo(done, quiet = false) {
  state.done = Math.max(0, Math.min(done, state.steps.length));
  $("position").value = state.done;
  const step = state.steps[state.done - 1];
  const problem = step?.problem ?? state.problems[0];
  if (!problem) return;
  const within = step ? step.index + 1 : 0;
  drawSheet($("sheet"), problem, within);
  drawSteps($("steps"), state.steps, state.done, (number) => { pause(); goTo(number); });
  const several = state.problems.length > 1;
  const before = several && within === 1 ? state.problems[state.problems.indexOf(problem) - 1]?.after : "";
  $("note").textContent = several ? `Part ${state.problems.indexOf(problem) + 1} of ${state.problems.length}: ${shortened(problem.expression)}${before ? ` (${before})` : ""}` : "";
  $("back").disabled = state.done === 0;
  $("step").disabled = state.done >= state.steps.length;
  if (!quiet) tell(step);
  if (problem.model !== state.shownModel) showNetwork(problem.model);
  if (step) {
    mind.use(step.prompt);
    if (!quiet) lookInside(problem.model, step.prompt);
  }
  if (!state.playing) remember();
}

function tell(step) {
  if (!step) {
    $("live").textContent = "Nothing done yet. Press play, or go on step by step.";
    return;
  }
  const margin = step.margin === null ? "" : `, margin ${step.margin.toFixed(1)}`;
  const last = step.index === step.problem.columns - 1;
  const carry = step.carry && !last ? `, ${step.problem.from_right ? "carry" : "take along"} ${step.carry}` : "";
  const write = step.written === null ? "that is no output" : step.written ? `write ${step.written}${carry}` : `keep ${step.carry || step.text}`;
  $("live").textContent = `Step ${said(state.done)} of ${said(state.steps.length)}: the network reads ${step.prompt} and writes ${step.text || "nothing"}${margin}: ${write}.`;
}

function play() {
  if (state.done >= state.steps.length) goTo(0);
  state.playing = true;
  $("play").textContent = "Pause";
  $("play").setAttribute("aria-pressed", "true");
  let last = performance.now(), owed = 0;
  const tick = (now) => {
    if (!state.playing) return;
    const speed = SPEEDS[$("speed").value];
    owed += (now - last) / 1000 * speed;
    last = now;
    if (owed >= 1) {
      const steps = Math.floor(owed);
      owed -= steps;
      const next = state.done + steps;
      goTo(next, speed > 4 && next < state.steps.length); // what goes by too fast to be read is not read out
      if (next >= state.steps.length) return pause();
    }
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}

function pause() {
  if (!state.playing) return;
  state.playing = false;
  $("play").textContent = "Play";
  $("play").setAttribute("aria-pressed", "false");
  goTo(state.done);
}
