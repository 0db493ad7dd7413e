"use strict";
// The page itself: what a person sets, what is shown for it, and the link that brings it back.

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
    field.style.height = `${Math.min(130, field.scrollHeight + 2)}px`;
  }
}

// --- the link ----------------------------------------------------------------------------------------------------

let remembered = "", later = 0;

// Browsers object to an address that changes too often, as under a slider: it follows a moment later.
function remember(wait = 200) {
  const parts = new URLSearchParams({ op: verb(), a: $("a").value, b: $("b").value, step: state.done });
  if ($("engine").value) parts.set("engine", $("engine").value);
  if ($("model").value) parts.set("model", $("model").value);
  if (state.hurt) for (const [name, value] of Object.entries(state.hurt)) parts.set(name, value);
  remembered = `#${parts}`;
  clearTimeout(later);
  if (wait) later = setTimeout(() => history.replaceState(null, "", remembered), wait);
  else history.replaceState(null, "", remembered);
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
  remember(0);
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
