"use strict";
// The page itself: what a person sets, what is shown for it, and the link that brings it back.

const $ = (id) => document.getElementById(id);
const SPEEDS = [0.5, 1, 2, 4, 8, 16, 40, 120, 400]; // steps a second
const KINDS = { add: "add", sub: "sub", mul: "times", divmod: "divide", cmp: "cmp" }; // the step that a network is chosen for
const NAMES = { add: "Add", sub: "Subtract", mul: "Multiply", divmod: "Divide", cmp: "Compare" };
const said = (number) => number.toLocaleString("en");

const from = source();
const state = {
  problems: [], // of one calculation, in order; each with its steps
  steps: [], // of all problems, in order: { problem, index, ...step }
  done: 0, playing: false, run: 0, shownModel: null, hurt: null, telling: null, healthy: new Map(), insides: new Map(), catalogue: null,
};

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

// --- what the network is -----------------------------------------------------------------------------------------

async function showNetwork(model) {
  state.shownModel = model;
  const [domain, certificate] = await Promise.all([from.domain(model), from.certificate(model)]);
  if (state.shownModel !== model) return;
  state.healthy.set(model, { domain, certificate });
  if (!state.hurt) {
    mind.show(domain);
    showCertificate(certificate);
    const step = state.steps[state.done - 1];
    if (step) mind.use(step.prompt);
  }
  const { tensors, favourite, levels } = await from.weights(model);
  const names = Object.keys(tensors).length ? Object.keys(tensors) : [favourite.tensor];
  $("tensor").replaceChildren(...names.map((name) => new Option(name, name)));
  $("tensor").value = favourite.tensor;
  $("index").value = favourite.index;
  state.tensors = tensors;
  if (levels) { // of a file: only these were tried
    state.levels = [0, ...levels].sort((a, b) => a - b);
    Object.assign($("amount"), { min: 0, max: state.levels.length - 1, step: 1 });
    for (const id of ["tensor", "index", "another"]) $(id).disabled = true;
  }
}

function showCertificate(certificate) {
  $("words").className = certificate.certified ? "" : "bad";
  $("words").replaceChildren(...certificate.words.map((text) => make("p", { textContent: text })));
  $("certificate-title").textContent = certificate.certified ? "Why it is never wrong" : "Why it may be wrong";
  $("badge").className = certificate.certified ? "badge" : "badge bad";
  $("badge").textContent = certificate.certified ? `✓ ${certificate.strength} on all ${said(certificate.prompts)} prompts` : `✗ wrong on ${said(certificate.wrong)} of ${said(certificate.prompts)} prompts`;
  $("figures").textContent = `${certificate.task}: ${said(certificate.parameters)} parameters, ${certificate.dtype}; weights ${certificate.sha256.slice(0, 16)}…`;
}

async function lookInside(model, prompt) {
  const key = `${model} ${prompt} ${JSON.stringify(state.hurt)}`;
  state.looking = key;
  if (!state.insides.has(key)) {
    if (state.insides.size > 500) state.insides.clear();
    state.insides.set(key, await from.step(model, prompt, state.hurt ?? undefined).catch(() => null));
  }
  if (state.looking !== key) return;
  const inside = state.insides.get(key);
  const cell = mind.byPrompt?.get(prompt);
  const step = inside ?? { prompt, text: cell?.text ?? state.steps[state.done - 1]?.text ?? "", expected: cell?.expected };
  drawTokens($("tokens"), step);
  $("inside").dataset.prompt = prompt;
  if (inside) {
    drawProbabilities($("probabilities"), inside);
    drawAttention($("attention"), inside);
  } else {
    const missing = state.hurt ? "The inside of a damaged network is not kept in this file." : "There is no more to see of this step.";
    $("probabilities").replaceChildren(make("p", { className: "missing", textContent: missing }));
    $("attention").replaceChildren();
  }
}

// --- damage ------------------------------------------------------------------------------------------------------

const amount = () => (state.levels ? state.levels[$("amount").value] : Number($("amount").value));

function wanted() {
  return amount() === 0 ? null : { tensor: $("tensor").value, index: Number($("index").value), amount: amount() };
}

async function breakIt(hurt, step = 1) {
  const run = ++state.run;
  pause();
  state.hurt = hurt;
  $("amount-shown").textContent = amount() > 0 ? `+${amount()}` : `${amount()}`;
  $("heal").disabled = !hurt;
  if (!hurt) {
    $("telling").disabled = true;
    $("verdict").textContent = "";
    const { domain, certificate } = state.healthy.get(state.shownModel);
    mind.show(domain);
    showCertificate(certificate);
    return calculate({ step: state.done || 1 });
  }
  $("verdict").textContent = "Asking every prompt again …";
  const plain = state.problems[0] ? state.problems.length === 1 && KINDS[verb()] === verb() : true;
  let report;
  try {
    report = await from.damage(state.shownModel ?? undefined, hurt, plain || from.embedded ? operands().map((text) => text.replace(/^-/, "")) : undefined);
  } catch (problem) {
    if (!(problem instanceof Refused)) throw problem;
    if (run === state.run) $("verdict").textContent = `Not done: ${problem.message}.`;
    return;
  }
  if (run !== state.run) return;
  state.telling = report.example;
  $("telling").disabled = !report.example;
  mind.show(report.domain);
  showCertificate(report.certificate);
  showDamaged(report);
  if (report.problem) {
    Object.assign(state, { problems: [], steps: [], done: 0 });
    begin(report.problem);
    report.problem.steps.forEach(take);
    markWrong(report);
    finish();
    goTo(Math.min(step, state.steps.length));
  }
  remember();
}

// A step is marked where the answer to its prompt is not the one that the task asks for.
function markWrong(report) {
  const expected = new Map(report.domain.cells.map((cell) => [cell.prompt, cell.expected]));
  state.steps.forEach((step) => { step.bad = expected.has(step.prompt) ? expected.get(step.prompt) !== step.text : true; });
  const wrong = state.steps.findIndex((step) => step.bad);
  if (wrong >= 0) state.problems[0].wrongFrom = wrong;
}

function showDamaged({ problem, certificate, weight }) {
  const moved = `${weight.tensor}[${weight.index}] went from ${weight.before.toFixed(3)} to ${weight.after.toFixed(3)}. `;
  const failed = certificate.certified ? "The certificate still holds. " : `The certificate fails: ${said(certificate.wrong)} prompts are wrong. `;
  if (!problem) return $("verdict").replaceChildren(moved + failed);
  const right = problem.answer === problem.exact;
  const said_ = problem.answer === null ? problem.failure : shortened(problem.answer);
  const verdict = make("b", { textContent: said_, className: right ? "" : "bad" });
  $("verdict").replaceChildren(moved + failed, `${problem.rows.map(shortened).join(` ${problem.sign} `)} = `, verdict,
    right ? ", which is right." : `, which is wrong: ${shortened(problem.exact)} would be right.`);
  $("result").replaceChildren("The damaged network says: ", make("b", { id: "answer", textContent: problem.answer ?? problem.failure, className: right ? "" : "error" }),
    make("small", { textContent: right ? "right, though it is no longer certified" : "wrong" }));
}

// --- numbers to try ----------------------------------------------------------------------------------------------

const digits = () => "0123456789abcdefghijklmnopqrstuvwxyz".slice(0, chosenModel()?.base ?? 10);
const chosenModel = () => state.catalogue?.models.find((model) => model.name === $("model").value);
const drawn = (characters, count) => Array.from({ length: count }, () => characters[Math.floor(Math.random() * characters.length)]).join("");

function surprise() {
  const all = digits(), length = 3 + Math.floor(Math.random() * 10);
  const [long, short] = [length, 1 + Math.floor(Math.random() * length)].map((count) => drawn(all.slice(1), 1) + drawn(all, count - 1));
  setNumbers(long, oneDigit() ? drawn(all.slice(1), 1) : short);
}

function longest() {
  const all = digits(), length = 12;
  const nines = all.at(-1).repeat(length), power = all[1] + all[0].repeat(length);
  setNumbers(verb() === "sub" ? power : nines, oneDigit() ? all.at(-1) : all[1]);
}

const oneDigit = () => from.embedded && from.content.table.repeats;

function setNumbers(a, b) {
  $("a").value = a;
  $("b").value = b;
  fit();
  calculate({ hurt: state.hurt });
}

function fit() {
  for (const field of [$("a"), $("b")]) {
    field.style.height = "auto";
    field.style.height = `${Math.min(180, field.scrollHeight + 2)}px`;
  }
}

// --- the link ----------------------------------------------------------------------------------------------------

let remembered = "";

function remember() {
  const parts = new URLSearchParams({ op: verb(), a: $("a").value, b: $("b").value, step: state.done });
  if ($("engine").value) parts.set("engine", $("engine").value);
  if ($("model").value) parts.set("model", $("model").value);
  if (state.hurt) for (const [name, value] of Object.entries(state.hurt)) parts.set(name, value);
  remembered = `#${parts}`;
  history.replaceState(null, "", remembered);
}

function recalled() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const pick = (id, value) => { if (value !== null && [...$(id).options].some((option) => option.value === value)) $(id).value = value; };
  pick("operation", parts.get("op"));
  offerModels();
  pick("model", parts.get("model"));
  pick("engine", parts.get("engine"));
  if (parts.has("a")) $("a").value = parts.get("a");
  if (parts.has("b")) $("b").value = parts.get("b");
  fit();
  const hurt = parts.has("amount") ? { tensor: parts.get("tensor"), index: Number(parts.get("index")), amount: Number(parts.get("amount")) } : null;
  return { step: Number(parts.get("step") ?? 1), hurt };
}

// --- setting up --------------------------------------------------------------------------------------------------

function offerModels() {
  const kind = KINDS[verb()] ?? verb();
  const fitting = state.catalogue?.models.filter((model) => from.embedded || model.verbs.includes(kind)) ?? [];
  const before = $("model").value;
  $("model").replaceChildren(...(from.embedded ? [] : [new Option("as shipped", "")]), ...fitting.map((model) => new Option(model.name, model.name)));
  if (fitting.some((model) => model.name === before)) $("model").value = before;
  $("sign").textContent = from.embedded ? state.catalogue.models[0].sign : { add: "+", sub: "−", mul: "×", divmod: "÷", cmp: "?" }[verb()];
}

function offer() {
  const verbs = from.embedded ? [state.catalogue.models[0].verbs[0] ?? ""] : Object.keys(KINDS);
  $("operation").replaceChildren(...verbs.map((name) => new Option(NAMES[name] ?? (from.embedded ? state.catalogue.models[0].summary : name), name)));
  const engines = from.embedded ? [["table", "table"]] : [["", "as fits"], ["table", "table"], ["sequential", "sequential"], ["lookahead", "lookahead"]];
  $("engine").replaceChildren(...engines.map(([value, text]) => new Option(text, value)));
  document.querySelector(".numbers").classList.toggle("alone", arity() === 1);
}

const mind = new Mind($("grid"), $("mind-frame"), (cell) => { pause(); lookInside(state.shownModel, cell.prompt); }, (text) => { $("cell").textContent = text; });
let soon = 0;
const damageSoon = () => { clearTimeout(soon); $("amount-shown").textContent = amount() > 0 ? `+${amount()}` : `${amount()}`; soon = setTimeout(() => breakIt(wanted()), 250); };

$("problem").addEventListener("submit", (event) => { event.preventDefault(); calculate({ hurt: state.hurt }); });
for (const field of [$("a"), $("b")]) {
  field.addEventListener("input", fit);
  field.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); calculate({ hurt: state.hurt }); } });
}
$("operation").addEventListener("change", () => { offerModels(); heal(); calculate(); });
$("model").addEventListener("change", () => { heal(); calculate(); });
$("engine").addEventListener("change", () => calculate({ hurt: state.hurt }));
$("surprise").addEventListener("click", surprise);
$("longest").addEventListener("click", longest);
$("play").addEventListener("click", () => (state.playing ? pause() : play()));
$("step").addEventListener("click", () => { pause(); goTo(state.done + 1); });
$("back").addEventListener("click", () => { pause(); goTo(state.done - 1); });
$("position").addEventListener("input", () => { const wanted = Number($("position").value); pause(); goTo(wanted); });
$("amount").addEventListener("input", damageSoon);
$("tensor").addEventListener("change", () => { $("index").value = 0; damageSoon(); });
$("index").addEventListener("change", damageSoon);
$("another").addEventListener("click", () => {
  const names = Object.keys(state.tensors), name = names[Math.floor(Math.random() * names.length)];
  $("tensor").value = name;
  $("index").value = Math.floor(Math.random() * state.tensors[name]);
  damageSoon();
});
$("heal").addEventListener("click", () => { $("amount").value = state.levels ? state.levels.indexOf(0) : 0; breakIt(null); });
$("telling").addEventListener("click", () => setNumbers(...[...state.telling, ""].slice(0, 2)));
$("link").addEventListener("click", async () => {
  remember();
  await navigator.clipboard?.writeText(location.href).catch(() => {});
  $("linked").textContent = "The address of this page now leads back to what is on screen.";
});

function heal() {
  state.hurt = null;
  state.shownModel = null;
  $("amount").value = state.levels ? state.levels.indexOf(0) : 0;
  $("amount-shown").textContent = "0";
  $("verdict").textContent = "";
  $("heal").disabled = $("telling").disabled = true;
}

document.addEventListener("keydown", (event) => {
  if (event.target.matches("textarea, input, select, canvas") || event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.key === "ArrowRight" || event.key === "ArrowLeft") { pause(); goTo(state.done + (event.key === "ArrowRight" ? 1 : -1)); }
  if (event.key === " " && !event.target.matches("button, a")) { event.preventDefault(); state.playing ? pause() : play(); }
});
addEventListener("hashchange", () => { if (location.hash !== remembered) restore(); });
new ResizeObserver(() => state.steps.length && drawSheet($("sheet"), state.steps[state.done - 1]?.problem ?? state.problems[0], state.done ? state.steps[state.done - 1].index + 1 : 0)).observe($("paper"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { const step = state.steps[state.done - 1]; if (step) lookInside(step.problem.model, step.prompt); });

async function restore() {
  const { step, hurt } = recalled();
  if (hurt) {
    const calculated = calculate({ step });
    await calculated;
    if (state.levels) $("amount").value = Math.max(0, state.levels.indexOf(hurt.amount));
    else Object.assign($("amount"), { value: hurt.amount });
    await state.ready;
    $("tensor").value = hurt.tensor;
    $("index").value = hurt.index;
    return breakIt(hurt, step);
  }
  return calculate({ step });
}

// The list of networks may take a while; the first answer does not wait for it, unless the link names a network.
async function begun() {
  const catalogue = from.models().then((found) => { state.catalogue = found; });
  if (from.embedded || location.hash.includes("model=")) await catalogue;
  offer();
  const restored = restore();
  await catalogue;
  offerModels();
  await restored;
  document.body.dataset.ready = "yes";
}

begun();
