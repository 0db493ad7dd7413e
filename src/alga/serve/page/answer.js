"use strict";
// Asking a question: fetches answer, steps and damage, and shows them together as one result.

const arity = () => (from.embedded ? state.catalogue.models[0].arity : 2);
const verb = () => $("operation").value;
const chosenModel = () => state.catalogue?.models.find((model) => model.name === $("model").value);
const GRACE = 300; // milliseconds: a result that arrives sooner replaces the old one directly

// The content of the fields. Only white space around a number is dropped; anything else that is not a digit is refused.
function request() {
  const typed = [$("a"), $("b")].slice(0, arity()).map((field) => field.value), model = $("model").value;
  return {
    verb: verb(), typed, operands: typed.map((text) => text.trim()), model, engine: $("engine").value,
    base: chosenModel()?.base ?? 10, sign: $("sign").textContent, network: model || OPERATIONS[verb()].network,
  };
}

async function calculate({ step = 1, hurt = state.hurt, refused = "", quiet = false } = {}) {
  const result = Object.assign(new Result(request(), hurt, step, refused), { quiet }), number = ++state.asked;
  const current = () => number === state.asked;
  const show = () => { if (current()) put(result); };
  const late = setTimeout(() => { if (result.answer) show(); else if (current()) $("working").textContent = "Calculating …"; }, GRACE);
  state.hurt = hurt;
  try {
    if (hurt) await damaged(result);
    if (current()) state.hurt = result.hurt;
    if (!result.hurt) await undamaged(result, current, show);
  } catch (problem) {
    if (!(problem instanceof Refused)) throw problem;
    result.refuse(problem.message);
  } finally {
    clearTimeout(late);
  }
  if (state.result === result) drawPaper(); // it may have a note by now
  else show();
}

function put(result) {
  stop();
  fetched.clear();
  state.result = result;
  $("working").textContent = "";
  drawAnswer();
  drawStep();
}

function drawStep() {
  drawPaper();
  drawNetwork();
  drawDamage();
  remember();
}

async function undamaged(result, current, show) {
  const { verb, operands, model, engine } = result.request;
  const problem = model ? { operands, model } : { operands };
  let ended = false;
  const ready = () => { if (state.result !== result && result.answer && (ended || result.steps.length >= result.wanted)) show(); };
  const heard = (name, data) => {
    if (!current() || result.error) return false;
    const before = result.step;
    if (name === "problem") result.begin(data);
    if (name === "steps") data.forEach((step) => result.take(step));
    if (name === "note" && result.problems.length) result.problems.at(-1).after = data.text;
    if (name === "done") { result.traced = data.answer; ended = true; }
    if (state.result === result) result.step === before ? drawPaper() : drawStep();
    ready();
    return true;
  };
  const streamed = from.steps(verb, problem, heard).catch((problem) => problem);
  result.answer = await from.answer(verb, engine ? { ...problem, engine } : problem);
  ready();
  const failed = await streamed;
  if (failed && !(failed instanceof Refused)) throw failed;
  if (failed) result.note = `Not played${result.steps.length ? " to the end" : ""}: ${failed.message}.`;
}

// The same problem with one weight of one network changed. An invalid problem is an error; if the weight does not exist,
// the undamaged network solves the problem.
async function damaged(result) {
  const { verb, operands, model } = result.request;
  try {
    plausible(result.hurt);
    result.damage = await from.damage(result.hurt, { verb, operands, ...(model && { model }) });
  } catch (problem) {
    if (!(problem instanceof Refused)) throw problem;
    try {
      plausible(result.hurt);
      result.damage = await from.damage(result.hurt, null);
      result.refuse(problem.message);
    } catch (worse) {
      if (!(worse instanceof Refused)) throw worse;
      Object.assign(result, { hurt: null, refused: worse.message });
    }
    return;
  }
  result.answer = result.damage.solved;
  for (const { steps, after, ...problem } of result.answer.problems) {
    result.begin(problem);
    result.problems.at(-1).after = after;
    steps.forEach((step) => result.take(step));
  }
  if (!result.steps.length) result.note = "Not played: this network does not go from column to column.";
}

function plausible({ amount, index, tensor }) {
  if (!tensor) throw new Refused("no tensor is named");
  if (!(Math.abs(amount) <= 100)) throw new Refused(`a weight is moved by -100 to 100, not by ${amount}`);
  if (!Number.isInteger(index) || index < 0) throw new Refused(`a tensor's numbers are counted 0, 1, 2 and so on, got ${index}`);
}

// --- the answer --------------------------------------------------------------------------------------------------

const inWords = (text, verb) => (verb === "divmod" ? text.replace(" ", " remainder ") : text);

function drawAnswer() {
  const { request: { verb, operands, sign, base }, answer, error, hurt } = state.result;
  $("problem-error").textContent = error;
  $("result").className = "result";
  if (!answer) return $("result").replaceChildren();
  const long = (answer.answer ?? "").length > 60;
  const facts = [hurt ? `with one weight of ${hurt.model} moved` : `by the engine ${answer.engine}`, `${said(answer.steps)} steps`];
  if (answer.rounds) facts.push(`${said(answer.rounds)} rounds`);
  if (answer.network_calls) facts.push(`${said(answer.network_calls)} calls of the network`);
  if (long) facts.push(`${said(answer.answer.length)} digits`);
  if (base !== 10) facts.push(`base ${base}`);
  if (hurt) facts.push(judged(answer, verb));
  facts.push(answer.certified ? "certified" : "not certified");
  const text = answer.answer === null ? answer.failure : inWords(answer.answer, verb);
  $("result").classList.toggle("long", long);
  $("result").replaceChildren(`${operands.map(shortened).join(` ${sign} `)} ${verb === "cmp" ? ":" : "="} `,
    make("b", { id: "answer", textContent: text, className: isWrong(answer) ? "wrong" : "" }), make("small", { textContent: facts.join(" · ") }));
}

// `exact` is the right answer; missing if the undamaged network is not certified.
const isWrong = ({ answer, exact }) => typeof exact === "string" && answer !== exact;

function judged(answer, verb) {
  if (typeof answer.exact !== "string") return `undamaged it says ${shortened(inWords(answer.healthy ?? "nothing", verb))}`;
  return isWrong(answer) ? `wrong: ${shortened(inWords(answer.exact, verb))} would be right` : "right";
}
