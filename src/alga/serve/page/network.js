"use strict";
// What the network is: its domain, its certificate, the inside of a step; and what becomes of it when damaged.

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
