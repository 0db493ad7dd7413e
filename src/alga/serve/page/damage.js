"use strict";
// Damage: one weight changed in a copy of the network on screen; the controls and the outcome.

let soon = 0; // the timer of a change that has not been requested yet

const damagedNetwork = () => state.result?.hurt?.model ?? state.result?.network;
const weightsOf = (name) => state.networks.get(name)?.weights;
// A file has copies for a few amounts only; the slider steps through them.
const amountsOf = (weights) => weights.levels && [0, ...weights.levels].sort((a, b) => a - b);

function amount() {
  const amounts = amountsOf(weightsOf(damagedNetwork()));
  return amounts ? amounts[$("amount").value] : Number($("amount").value);
}

function wanted() {
  return amount() === 0 ? null : { model: damagedNetwork(), tensor: $("tensor").value, index: Number($("index").value || NaN), amount: amount() };
}

function damageSoon() {
  clearTimeout(soon);
  showAmount(amount());
  soon = setTimeout(() => { soon = 0; calculate({ hurt: wanted(), step: state.result.done || 1 }); }, 250);
}

// The networks as they are.
function heal(step = 1) {
  clearTimeout(soon);
  soon = 0;
  return calculate({ hurt: null, step });
}

function showAmount(amount) {
  $("amount-shown").textContent = amount > 0 ? `+${amount}` : `${amount}`;
}

function drawDamage() {
  const { result } = state, { hurt } = result, name = damagedNetwork(), weights = weightsOf(name);
  able("heal", hurt);
  able("telling", result.damage?.example);
  $("verdict").replaceChildren(...verdict(result));
  $("amount").disabled = !weights;
  if (!weights || soon) return; // the user is still changing the controls
  const amounts = amountsOf(weights), names = Object.keys(weights.tensors);
  if ($("tensor").dataset.network !== name) {
    $("tensor").dataset.network = name;
    $("tensor").replaceChildren(...(names.length ? names : [weights.favourite.tensor]).map((name) => new Option(name, name)));
    $("tensor").value = weights.favourite.tensor;
    $("index").value = weights.favourite.index;
  }
  if (hurt) Object.assign($("tensor"), { value: hurt.tensor });
  if (hurt) Object.assign($("index"), { value: hurt.index });
  if (amounts) Object.assign($("amount"), { min: 0, max: amounts.length - 1, step: 1 });
  for (const id of ["tensor", "index", "another"]) $(id).disabled = Boolean(amounts);
  $("amount").value = amounts ? amounts.indexOf(hurt?.amount ?? 0) : hurt?.amount ?? 0;
  showAmount(hurt?.amount ?? 0);
}

function verdict({ hurt, damage, answer, refused, request, problems }) {
  if (refused) return [`Not done: ${refused}.`];
  if (!hurt || !damage) return [];
  const { weight, certificate } = damage;
  const moved = `${weight.tensor}[${weight.index}] of ${hurt.model} went from ${weight.before.toFixed(3)} to ${weight.after.toFixed(3)}. `;
  const held = certificate.certified ? "It is still right on every question: the copy is certified. " : `The certificate fails: ${said(certificate.wrong)} answers are wrong. `;
  if (!answer) return [moved + held];
  const solved = `${request.operands.map(shortened).join(` ${request.sign} `)} ${request.verb === "cmp" ? ":" : "="} `;
  const part = problems.length && !problems.some((problem) => problem.model === hurt.model) ? ` (${hurt.model} has no part in it)` : "";
  const text = answer.answer === null ? answer.failure : shortened(inWords(answer.answer, request.verb));
  return [moved + held + solved, make("b", { textContent: text, className: isWrong(answer) ? "bad" : "" }), `${part}, ${judged(answer, request.verb)}.`];
}

// A problem that the damaged network gets wrong, by the operation that the network is for.
function showTelling() {
  const { model } = state.result.hurt, kinds = state.catalogue?.models.find(({ name }) => name === model).verbs;
  const fitting = Object.entries(OPERATIONS).find(([, { kind, network }]) => (kinds ? kinds.includes(kind) : network === model));
  if (!from.embedded && fitting) {
    $("operation").value = fitting[0];
    offerModels();
  }
  setNumbers(...[...state.result.damage.example, ""].slice(0, 2));
}

$("amount").addEventListener("input", damageSoon);
$("tensor").addEventListener("change", () => { $("index").value = 0; damageSoon(); });
$("index").addEventListener("change", damageSoon);
$("another").addEventListener("click", () => {
  const { tensors } = weightsOf(damagedNetwork()), names = Object.keys(tensors), name = names[Math.floor(Math.random() * names.length)];
  $("tensor").value = name;
  $("index").value = Math.floor(Math.random() * tensors[name]);
  damageSoon();
});
$("heal").addEventListener("click", () => heal(state.result.done || 1));
$("telling").addEventListener("click", showTelling);
