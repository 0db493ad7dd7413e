"use strict";
// The network of the step on screen: its domain, its certificate, and the inside of a step.

// The data of the network on screen: of the damaged copy if that one is shown, else of the network itself.
const known = ({ network, hurtHere, damage }) => (hurtHere ? damage : state.networks.get(network));

function drawNetwork() {
  const { result } = state, { network, hurtHere } = result, found = known(result);
  if (!state.networks.has(network)) fetchNetwork(network); // also for a damaged one: its list of weights is fetched there
  if (!found) {
    mind.clear();
    return drawCertificate(null);
  }
  if (mind.domain !== found.domain) mind.show(found.domain);
  mind.use(result.step?.prompt);
  drawCertificate(found.certificate, hurtHere ? `${network}, one weight moved` : network);
}

// What is asked for once and used in several places; after a failure it is asked for again.
function once(map, key, ask) {
  if (!map.has(key)) map.set(key, ask().catch((problem) => { map.delete(key); throw problem; }));
  return map.get(key);
}

const opening = new Map();
const networkOf = (name) => once(opening, name, async () => {
  const [domain, certificate, weights] = await Promise.all([from.domain(name), from.certificate(name), from.weights(name)]);
  return { domain, certificate, weights };
});

const fetched = new Set(); // requested for this result; failed requests are repeated with the next one

async function fetchNetwork(name) {
  if (fetched.has(name)) return;
  fetched.add(name);
  let failed = "";
  try {
    state.networks.set(name, await networkOf(name));
  } catch (problem) {
    if (!(problem instanceof Refused)) throw problem;
    failed = problem.message;
  }
  if (state.result.network !== name) return;
  if (failed) return drawCertificate(null, name, `There is nothing to show of ${name}: ${failed}.`);
  drawNetwork();
  drawDamage();
}

function drawCertificate(certificate, name = "", missing = "") {
  const words = certificate?.words ?? (missing ? [missing] : []);
  $("words").className = certificate && !certificate.certified ? "bad" : "";
  $("words").replaceChildren(...words.map((text) => make("p", { textContent: text })));
  $("certificate-title").textContent = !certificate ? "The certificate" : certificate.certified ? "Why it is never wrong" : "Why it may be wrong";
  $("badge").className = certificate && !certificate.certified ? "badge bad" : "badge";
  $("badge").textContent = !certificate ? "" : certificate.certified ? `✓ ${name}: ${certificate.strength} on all ${said(certificate.prompts)} questions`
    : certificate.strength === "sampled" && !certificate.wrong ? `✗ ${name}: only sampled, not certified`
    : `✗ ${name}: wrong on ${said(certificate.wrong)} of ${said(certificate.prompts)} questions`;
  $("figures").textContent = !certificate ? "" : `${certificate.task}, base ${certificate.base}: ${said(certificate.parameters)} parameters, ${certificate.dtype}; weights ${certificate.sha256.slice(0, 16)}…`;
}

// --- the inside of a step ----------------------------------------------------------------------------------------

// Steps may pass faster than their insides arrive: one request at a time, then the latest step. The title says which.
async function lookInside(prompt, number = 0) {
  const { result } = state;
  state.looking = { result, model: result.network, prompt, number, hurt: result.hurtHere };
  if (state.fetching) return;
  state.fetching = true;
  try {
    for (let shown = null; state.looking && shown !== state.looking;) {
      shown = state.looking;
      const inside = await laidOpen(shown);
      if (state.looking?.result === shown.result) drawInside(shown, inside);
    }
  } finally {
    state.fetching = false;
  }
}

async function laidOpen({ model, prompt, hurt }) {
  const key = `${model} ${prompt} ${JSON.stringify(hurt)}`;
  if (state.insides.has(key)) return state.insides.get(key);
  if (state.insides.size > 500) state.insides.clear();
  const found = await from.step(model, prompt, hurt ?? undefined).catch(() => null);
  if (found) state.insides.set(key, found);
  return found;
}

function drawInside(shown, inside) {
  const { prompt, number, hurt } = shown;
  const cell = mind.byPrompt?.get(prompt);
  $("inside-title").textContent = number ? `Inside step ${said(number)}` : `Inside the question ${prompt}`;
  $("inside").dataset.prompt = prompt;
  drawTokens($("tokens"), inside ?? { prompt, text: cell?.text ?? state.result.steps[number - 1]?.text ?? "", expected: cell?.expected });
  if (inside) {
    drawProbabilities($("probabilities"), inside);
    drawAttention($("attention"), inside);
    flow.show(shown.model, inside, shown.hurt);
  } else {
    flow.clear();
    const missing = hurt && from.embedded ? "The inside of a damaged network is not kept in this file." : "There is no more to see of this step.";
    $("probabilities").replaceChildren(make("p", { className: "missing", textContent: missing }));
    $("attention").replaceChildren();
  }
}

function closeInside() {
  state.looking = null;
  $("inside-title").textContent = "Inside a step";
  delete $("inside").dataset.prompt;
  for (const id of ["tokens", "probabilities", "attention"]) $(id).replaceChildren();
  flow.clear();
}
