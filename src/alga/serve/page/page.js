"use strict";
// The page: its controls, and the link that restores what is on screen.

// --- numbers to try ----------------------------------------------------------------------------------------------

const digits = () => DIGITS.slice(0, chosenModel()?.base ?? 10);
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
  calculate();
}

function fit() {
  for (const field of [$("a"), $("b")]) {
    field.style.height = "auto";
    field.style.height = `${Math.min(130, field.scrollHeight + 2)}px`;
  }
}

// --- the link ----------------------------------------------------------------------------------------------------

let remembered = "", later = 0;

// Browsers limit how often the address may change, so it is updated with a delay; not if a link was followed meanwhile.
function remember(wait = 200) {
  const { request: { verb, typed: [a, b = ""], engine, model }, done, hurt, quiet } = state.result;
  if (quiet && wait) return; // a place on the page was asked for, not a problem
  const parts = new URLSearchParams({ op: verb, a, b, step: done });
  if (engine) parts.set("engine", engine);
  if (model) parts.set("model", model);
  const { model: damaged, ...weight } = hurt ?? {};
  if (hurt) for (const [name, value] of Object.entries({ damaged, ...weight })) parts.set(name, value);
  remembered = `#${parts}`;
  clearTimeout(later);
  const before = location.hash;
  if (wait) later = setTimeout(() => { if (location.hash === before) history.replaceState(null, "", remembered); }, wait);
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
  const step = Math.max(0, Math.floor(Number(parts.get("step") ?? 1)) || 0);
  if (Number(parts.get("amount") ?? 0) === 0) return { step, hurt: null };
  const number = (name) => Number(parts.get(name) || NaN);
  const model = parts.get("damaged") ?? request().network;
  return { step, hurt: { model, tensor: parts.get("tensor") ?? "", index: number("index"), amount: number("amount") } };
}

// --- setting up --------------------------------------------------------------------------------------------------

function offerModels() {
  const operation = OPERATIONS[verb()], kind = operation?.kind ?? verb();
  const fitting = state.catalogue?.models.filter((model) => from.embedded || (model.engine !== "whole" && model.verbs.includes(kind))) ?? [];
  const before = $("model").value;
  const bases = [...new Set(fitting.map((model) => model.base))].sort((a, b) => a - b);
  const groups = bases.map((base) => make("optgroup", { label: `base ${base}` },
    ...fitting.filter((model) => model.base === base).map((model) => new Option(model.name, model.name))));
  $("model").replaceChildren(...(from.embedded ? [] : [new Option("as shipped", "")]), ...groups);
  if (fitting.some((model) => model.name === before)) $("model").value = before;
  $("sign").textContent = from.embedded ? state.catalogue.models[0].sign : operation.sign;
  $("longest").hidden = from.embedded ? !["add", "sub"].includes(kind) : !operation.carries;
  label();
}

// Which digits a number may have depends on the network.
function label() {
  const base = chosenModel()?.base ?? 10;
  for (const [id, name] of [["a", "First number"], ["b", "Second number"]]) {
    document.querySelector(`label[for="${id}"]`).textContent = base === 10 ? name : `${name}, base ${base}`;
    $(id).inputMode = base > 10 ? "text" : "numeric";
  }
}

function offer() {
  const verbs = from.embedded ? [state.catalogue.models[0].verbs[0] ?? ""] : Object.keys(OPERATIONS);
  $("operation").replaceChildren(...verbs.map((name) => new Option(OPERATIONS[name]?.name ?? state.catalogue.models[0].summary, name)));
  const engines = from.embedded ? [["table", "table"]] : [["", "as fits"], ["table", "table"], ["sequential", "sequential"], ["lookahead", "lookahead"]];
  $("engine").replaceChildren(...engines.map(([value, text]) => new Option(text, value)));
  document.querySelector(".numbers").classList.toggle("alone", arity() === 1);
}

const mind = new Mind($("grid"), $("mind-frame"), {
  chosen: (cell) => { pause(); lookInside(cell.prompt); }, told: (text) => { $("cell").textContent = text; },
  legend: { box: $("mind-legend"), count: $("count"), scale: $("scale") },
});
offerModes($("mind-modes"), mind, [["right", "right or wrong"], ["lead", "lead"]]);

$("problem").addEventListener("submit", (event) => { event.preventDefault(); calculate(); });
for (const field of [$("a"), $("b")]) {
  field.addEventListener("input", fit);
  field.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); calculate(); } });
}
$("operation").addEventListener("change", () => { offerModels(); heal(); });
$("model").addEventListener("change", () => { label(); heal(); });
$("engine").addEventListener("change", () => calculate());
$("surprise").addEventListener("click", surprise);
$("longest").addEventListener("click", longest);
$("play").addEventListener("click", () => (state.playing ? pause() : play()));
$("step").addEventListener("click", () => { pause(); goTo(state.result.done + 1); });
$("back").addEventListener("click", () => { pause(); goTo(state.result.done - 1); });
$("position").addEventListener("input", () => { const wanted = Number($("position").value); pause(); goTo(wanted); });
$("link").addEventListener("click", async () => {
  remember(0);
  await navigator.clipboard?.writeText(location.href).catch(() => {});
  $("linked").textContent = "The address of this page now leads back to what is on screen.";
});

document.addEventListener("keydown", (event) => {
  if (!state.result || event.target.matches("textarea, input, select, canvas, summary") || event.altKey || event.ctrlKey || event.metaKey) return;
  if (inStory(event.target)) return;
  if (event.key === "ArrowRight" || event.key === "ArrowLeft") { pause(); goTo(state.result.done + (event.key === "ArrowRight" ? 1 : -1)); }
  if (event.key === " " && !event.target.matches("button, a")) { event.preventDefault(); state.playing ? pause() : play(); }
});
// Other addresses are places on the page.
const isProblem = () => location.hash.length < 2 || location.hash.includes("=");
addEventListener("hashchange", () => { if (isProblem() && location.hash !== remembered) restore(); });
new ResizeObserver(() => state.result && drawResultSheet()).observe($("paper"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => state.looking && lookInside(state.looking.prompt, state.looking.number));

function restore() {
  const { step, hurt } = recalled();
  label();
  if ($("model").value && !from.embedded || $("engine").value && !from.embedded) $("advanced").open = true;
  return calculate({ step, hurt, quiet: !isProblem() });
}

// Without the list of networks those that always ship still answer. It says so in one line, until the list is there.
async function loadCatalogue(link = location.hash) {
  try {
    state.catalogue = await from.models();
  } catch (problem) {
    if (!(problem instanceof Refused)) throw problem;
    const button = make("button", { type: "button", textContent: "Try again" });
    button.addEventListener("click", () => loadAgain(link));
    $("outage").replaceChildren(`The list of networks did not load: ${problem.message}. Until it does, each operation has its usual network only. `, button);
    $("outage").hidden = false;
  }
}

// `link`: what the visitor had asked for, maybe of a network that was not on offer.
async function loadAgain(link) {
  $("outage").textContent = "Loading the list of networks …";
  await loadCatalogue(link);
  if (!state.catalogue) return $("outage").querySelector("button").focus();
  $("outage").hidden = true;
  offerModels();
  if (link.includes("model=")) location.hash = link;
  else if (state.result.error) calculate();
  if (!stage.result) stage.retry?.();
}

// The list of networks may take a while; the first answer does not wait for it, unless the link names a network.
async function begun() {
  const catalogue = loadCatalogue();
  if (from.embedded || location.hash.includes("model=")) await catalogue;
  offer();
  const restored = restore();
  beginTour();
  beginCompare();
  await catalogue;
  offerModels();
  await restored;
  document.body.dataset.ready = "yes";
}

begun();
