"use strict";
// The section #run-here: a network run by this page itself. Every activation, any weight changed, every prompt checked.

function mountLive(element, { networks, network, checker }) {
  const part = (name) => element.querySelector(`[data-part="${name}"]`);
  const cells = new Cells(part("grid"), "Checked in this browser");
  let here = null; // { description, forward, changed: Map from `tensor[index]` to the shipped value }
  let waiting = 0, version = 0, prompt = ""; // of the timer, of the weights; the last valid one

  part("network").replaceChildren(...networks.map((name) => new Option(name, name)));

  async function open(name = part("network").value) {
    part("network").value = name;
    part("status").textContent = `Loading ${name} …`;
    let description;
    try {
      description = await network(name);
    } catch (problem) {
      part("status").textContent = sentence(problem.message);
      return;
    }
    if (part("network").value !== name) return;
    here = { description, forward: new Forward(description), changed: new Map() };
    part("tensor").replaceChildren(...Object.keys(description.tensors).map((each) => new Option(each, each)));
    part("hook").replaceChildren(...Object.keys(here.forward.run(description.prompts[0]).activations).map((each) => new Option(hookWords(each), each)));
    part("hook").value = [...part("hook").options].find((option) => option.value.endsWith("hook_pattern")).value;
    part("check").textContent = `Check all ${said(description.prompts.length)} now`;
    part("prompt").value = description.prompts.includes("15C77") ? "15C77" : description.prompts.at(-1);
    chooseWeight(largest(Object.keys(description.tensors)[0]));
    look();
    unchecked();
  }

  const largest = (tensor) => {
    const array = here.forward.weights[tensor];
    return { tensor, index: array.reduce((best, value, i) => (Math.abs(value) > Math.abs(array[best]) ? i : best), 0) };
  };
  const weight = () => ({ tensor: part("tensor").value, index: Number(part("index").value) });

  // --- one prompt --------------------------------------------------------------------------------------------------

  function look() {
    const { forward, description } = here, asked = part("prompt").value;
    let answer;
    try {
      answer = forward.answer(asked);
    } catch (problem) {
      part("answer").textContent = sentence(problem.message);
      part("picture").replaceChildren();
      prompt = "";
      cells.mark(null);
      return;
    }
    prompt = asked;
    const at = description.prompts.indexOf(prompt), expected = at < 0 ? null : `${description.outputs[at]}S`;
    const verdict = expected === null ? "no step of a problem asks this" : answer.text === expected ? "right" : `wrong, ${expected} would be right`;
    const lead = Number.isFinite(answer.margin) ? `, it leads the runner-up by ${answer.margin.toFixed(2)}` : ", and a logit is not a number";
    part("answer").replaceChildren(`It reads ${prompt} and writes `, make("b", { textContent: answer.text, className: expected !== null && answer.text !== expected ? "bad" : "" }), `: ${verdict}${lead}.`);
    drawInside(answer.text);
    cells.mark(prompt);
  }

  function drawInside(text = prompt && here.forward.answer(prompt).text) {
    if (!prompt) return;
    const { activations, tokens } = here.forward.run(`${prompt}\n${text.slice(0, -1)}`); // the last token is not read
    const name = part("hook").value;
    part("picture").dataset.hook = name;
    drawActivations(part("picture"), name, activations[name], here.description.vocabulary, tokens);
  }

  // --- one weight --------------------------------------------------------------------------------------------------

  function chooseWeight({ tensor, index }) {
    const array = here.forward.weights[tensor], last = array.length - 1;
    const chosen = Math.min(last, Math.max(0, Math.floor(index) || 0));
    part("tensor").value = tensor;
    Object.assign(part("index"), { max: last, value: chosen });
    const span = Math.max(1, 2 * array.reduce((most, value) => Math.max(most, Math.abs(value)), 0));
    Object.assign(part("value"), { min: -span, max: span, step: span / 400, value: array[chosen] });
    showValue();
  }

  function showValue() {
    const { tensor, index } = weight(), value = here.forward.weights[tensor][index];
    part("value-shown").textContent = value.toFixed(3);
    const shipped = here.changed.get(`${tensor}[${index}]`);
    part("changed").textContent = here.changed.size === 0 ? "All weights are as they ship." :
      `${said(here.changed.size)} of ${said(here.description.parameters)} weights changed${shipped === undefined ? "" : `; this one was ${shipped.toFixed(3)}`}.`;
    part("reset").setAttribute("aria-disabled", here.changed.size === 0);
  }

  function setWeight(tensor, index, value) {
    const array = here.forward.weights[tensor], key = `${tensor}[${index}]`;
    const shipped = here.changed.get(key) ?? array[index];
    array[index] = value;
    if (array[index] === shipped) here.changed.delete(key);
    else here.changed.set(key, shipped);
    showValue();
    look();
    unchecked();
    clearTimeout(waiting);
    waiting = setTimeout(check, 250);
  }

  function reset() {
    here.forward = new Forward(here.description);
    here.changed.clear();
    chooseWeight(weight());
    look();
    check();
  }

  // --- every prompt ------------------------------------------------------------------------------------------------

  // What was found holds for the weights that were checked, and is taken off the screen with the first change.
  function unchecked() {
    version++;
    element.dataset.checked = "no";
    cells.show(here.description, Array(here.description.prompts.length).fill(undefined), prompt);
    part("status").className = "verdict";
    part("status").textContent = "Not checked yet.";
  }

  async function check() {
    clearTimeout(waiting);
    unchecked();
    const { description, forward } = here, all = description.prompts.length, checked = version;
    part("status").textContent = `Checking in this browser: 0 of ${said(all)} …`;
    const found = await checker.check(description, forward.weights, (done, wrong) => {
      part("status").ariaLive = "off"; // too fast to be read out
      if (checked === version) part("status").textContent = `Checking in this browser: ${said(done)} of ${said(all)}, ${said(wrong)} wrong …`;
    });
    if (!found || checked !== version) return;
    const right = all - found.wrong, changed = here.changed.size;
    part("status").ariaLive = "polite";
    cells.show(description, found.texts.map((text, i) => text === `${description.outputs[i]}S`), prompt);
    part("status").className = found.wrong ? "verdict bad" : "verdict";
    const whose = changed ? ` with ${said(changed)} weight${changed > 1 ? "s" : ""} changed` : "";
    const least = found.margins[found.least], lead = Number.isFinite(least) ? ` The closest lead is ${least.toFixed(2)}, at ${description.prompts[found.least]}.` : "";
    part("status").textContent = found.wrong
      ? `Checked in this browser${whose}: ${said(found.wrong)} of ${said(all)} answers are wrong (${found.seconds.toFixed(1)} s).`
      : `Checked in this browser${whose}: all ${said(right)} answers are right (${found.seconds.toFixed(1)} s).${lead}`;
    element.dataset.checked = "yes";
  }

  part("network").addEventListener("change", () => open());
  part("prompt").addEventListener("input", () => here && look());
  part("hook").addEventListener("change", () => here && drawInside());
  part("tensor").addEventListener("change", () => chooseWeight(largest(part("tensor").value)));
  part("index").addEventListener("change", () => chooseWeight(weight()));
  part("value").addEventListener("input", () => { const { tensor, index } = weight(); setWeight(tensor, index, Number(part("value").value)); });
  part("reset").addEventListener("click", () => here?.changed.size && reset());
  part("check").addEventListener("click", () => here && check());
  cells.canvas.addEventListener("click", (event) => {
    const chosen = cells.at(event);
    if (chosen) { part("prompt").value = chosen; look(); }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => here && drawInside());
  const turn = (tensor, index, value) => { chooseWeight({ tensor, index }); setWeight(tensor, index, value); part("value").value = value; };
  return { open, check, reset, setWeight: turn, look: (text) => { part("prompt").value = text; look(); }, get here() { return here; } };
}
