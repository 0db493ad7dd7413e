"use strict";
// The tour: the chapter that the visitor has scrolled to sets the state of the stage. Each has an address of its own.

const SUM = ["65785", "8765"];
const BREAKS = [-4, -2, -1, -0.5, 0, 0.5, 1, 2, 4, 8]; // added to the weight; the amounts that a single file has
const TERMS = {
  question: "The paper calls it a prompt: a first column (an instance of the first type), or what was written last, C and a column (second type).",
  stop: "S, the token with which each output of the network ends.",
  context: "The context: the output of the previous step, which the network reads before the letter C.",
  number: "A parameter, also called a weight: training sets it, and the network is nothing but these.",
  lead: "The margin: by how many logits the chosen token exceeds every other. A logit more is 2.7 times as likely.",
};
const PARTS = [["tour-column", "Tour"], ["workbench", "Free play"], ["inside", "Inside"], ["damage", "Break it"], ["compare", "Compare"],
  ["run-here", "Run it"], ["smallest", "59 numbers"], ["learn", "Watch it learn"], ["train-here", "Train one"]];

const stage = new Stage();
const tour = { chapter: -1, sums: new Map(), copies: new Map(), hurt: BREAKS.indexOf(8) };

const sumOf = (name) => once(tour.sums, name, () => stage.trace(SUM));

// --- the chapters ------------------------------------------------------------------------------------------------

// Each is called with `live`, which says whether the visitor is still there.
const CHAPTERS = [
  async (live) => {
    await onStage(storyModel().name, live);
    if (!live()) return;
    stage.resetCounts();
    chooseMode($("stage-modes"), stage.grid, "met");
    says(`${said(LONG)} made-up digits, one column after the other.`);
    stage.countSteps();
    await stage.stream();
    if (live() && CALM.matches) stage.advance(40);
  },
  (live) => sumAt(1, "The first column: there is nothing before it.", live),
  (live) => sumAt(3, "In the middle: the last output is read again.", live),
  async (live) => {
    await sumAt(5, "", live);
    if (!live()) return;
    const { contexts, columns, cells } = stage.network.domain, first = cells.filter((cell) => contexts[cell.row] === null);
    stage.grid.blocks = [{ rows: [0, 0], places: [0, Math.max(...first.map((cell) => cell.place))] }, { rows: [1, contexts.length - 1], places: [0, columns.length - 1] }];
    stage.grid.draw();
    says("Framed: first columns, and all later ones.");
    stage.count([[said(first.length), "first columns"], [said(cells.length - first.length), `later: ${contexts.length - 1} × ${columns.length}`], [said(cells.length), "questions in all"]]);
  },
  async (live) => {
    await sumAt(5, "", live);
    if (!live()) return;
    brokenOnce(BREAKS[tour.hurt]).catch(() => {}); // the next chapter needs it
    await askAll(live);
  },
  async (live) => {
    await sumAt(5, "", live);
    if (live()) await breakIt(tour.hurt, live);
  },
  (live) => showSmall(true, live),
];

async function onStage(name, live) {
  const found = await networkOf(name);
  if (!live()) return;
  if (name === storyModel().name) claim(found); // also after a failure
  stage.show(name, found);
  stage.grid.asked = Infinity;
  stage.grid.blocks = [];
}

async function sumAt(done, text, live, name = storyModel().name) {
  await onStage(name, live);
  if (!live()) return;
  const result = await sumOf(name);
  if (!live()) return;
  stage.endless = false;
  stage.changed = tour.chapter < 3 ? () => countStep(text) : null;
  chooseMode($("stage-modes"), stage.grid, tour.chapter < 4 ? "met" : "right");
  stage.put(result, done);
}

function countStep(text) {
  const { step, done, steps } = stage.result;
  says(step ? `Step ${done} of ${steps.length}. ${text && done === (tour.chapter === 1 ? 1 : 3) ? text : `${step.index ? `After ${step.prompt.split("C")[0]}` : "First column"}: write ${step.written}${step.carry && done < steps.length ? `, carry ${step.carry}` : ""}.`}` : "Nothing written yet.");
  stage.count([[step?.prompt ?? "–", "it reads"], [step?.text ?? "–", "it writes"], [step ? step.margin.toFixed(1) : "–", "lead, in logits"]]);
}

// All questions one after the other, as the certificate found them; at once if the visitor wants no motion.
async function askAll(live) {
  const { domain, certificate } = stage.network, total = domain.cells.length;
  const wrongUpTo = domain.cells.map(((sum) => (cell) => (sum += stage.grid.wrong(cell)))(0));
  const began = performance.now(), lasts = CALM.matches ? 0 : 2400;
  says(certificate.certified ? strengthOf(certificate) : `Not certified: ${said(certificate.wrong)} questions are answered wrong.`);
  for (let asked = 0; asked < total && live();) {
    asked = lasts ? Math.min(total, Math.ceil((performance.now() - began) / lasts * total)) : total;
    stage.grid.asked = asked;
    stage.grid.draw();
    const wrong = asked ? wrongUpTo[asked - 1] : 0;
    stage.count([[said(asked), "asked"], [said(asked - wrong), "right"], [said(wrong), "wrong", wrong]]);
    if (asked < total) await new Promise(requestAnimationFrame);
  }
}

const STRENGTHS = { "kernel-checked": "Proven, and a theorem in Coq.", proven: "Proven, rounding included." };
const strengthOf = ({ strength }) => STRENGTHS[strength] ?? "Checked on one machine.";

async function breakIt(slot, live) {
  tour.hurt = slot;
  const amount = BREAKS[slot], name = storyModel().name;
  $("tour-amount").value = slot;
  $("tour-amount-shown").textContent = amount > 0 ? `+${amount}` : `${amount}`;
  if (amount) says("Asking every question again …");
  const report = amount ? await brokenOnce(amount) : null;
  if (!live() || tour.hurt !== slot) return;
  const found = report ?? await networkOf(name), { certificate } = found;
  stage.show(name, found);
  stage.put(report ? report.result : await sumOf(name), 5);
  const { traced } = stage.result;
  const wrong = certificate.certified ? 0 : certificate.wrong;
  says(!report ? "As it was trained." : `${SUM.join(" + ")} = ${traced ?? "no answer"}${traced === report.exact ? ", right by luck" : report.exact ? `, wrong: ${report.exact} would be right` : ""}.`);
  stage.count([[said(found.domain.cells.length), "asked again"], [said(wrong), "wrong", wrong], [certificate.certified ? "holds" : "fails", "certificate", !certificate.certified]]);
  $("tour-verdict").textContent = !report ? "Unmoved: every answer is right."
    : certificate.certified ? `${weightOf(report)} Every answer is still right, so this copy is certified too.`
      : `${weightOf(report)} ${said(wrong)} answers are wrong, and the copy has no certificate.`;
  if (report && certificate.certified) says(`${SUM.join(" + ")} = ${traced}, right, as every sum is with this copy.`);
}

const brokenOnce = (amount) => once(tour.copies, amount, () => brokenBy(storyModel().name, amount));
const weightOf = ({ weight }) => `That number went from ${weight.before.toFixed(2)} to ${weight.after.toFixed(2)}.`;

async function brokenBy(name, amount) {
  const { favourite } = (await networkOf(name)).weights;
  const report = await from.damage({ model: name, ...favourite, amount }, { verb: storyVerb(), operands: SUM });
  const result = new Result({ operands: SUM }, {}, 0, "");
  for (const { steps, ...problem } of report.solved.problems) {
    result.begin(problem);
    steps.forEach((step) => result.take(step));
  }
  result.traced = report.solved.answer;
  return { ...report, result, exact: report.solved.exact };
}

async function showSmall(small, live) {
  const name = small ? "smallest" : storyModel().name;
  await sumAt(5, "", live, name);
  if (!live()) return;
  chooseMode($("stage-modes"), stage.grid, "lead");
  const { certificate, domain } = stage.network;
  for (const [id, pressed] of [["tour-small-one", small], ["tour-large-one", !small]]) $(id).setAttribute("aria-pressed", String(pressed));
  if (small) document.querySelector("[data-fact=small]").textContent = said(certificate.parameters);
  stage.count([[said(certificate.parameters), "numbers in it"], [said(certificate.prompts), "questions asked"], [said(certificate.certified ? 0 : certificate.wrong), "wrong"]]);
  says(`${certificate.certified ? strengthOf(certificate) : "Not certified."} Closest lead: ${certificate.least_margin.toFixed(1)} logits.`);
  if (!small) return;
  const padded = domain.columns.every((column) => column.length > 1);
  $("small-words").textContent = `It reads one column like its large sister${padded ? `, with 0 where a number has run out: ${said(certificate.prompts)} questions` : ""}. `
    + `Colours mean the same for both. Its closest decision leads by ${certificate.least_margin.toFixed(1)} logits, that of the first network by ${(await networkOf(storyModel().name)).certificate.least_margin.toFixed(1)}.`;
}

// --- words -------------------------------------------------------------------------------------------------------

function says(text) { $("stage-says").textContent = text; }

// What the page claims of the network on stage is what its certificate says.
function claim({ domain, certificate }) {
  const { contexts, columns, cells } = domain, first = cells.filter((cell) => contexts[cell.row] === null).length, later = contexts.length - 1;
  const facts = { all: said(cells.length), first: said(first), contexts: said(later), columns: said(columns.length), parameters: said(certificate.parameters),
    sum: `${said(first)} + ${said(later)} × ${said(columns.length)} = ${said(first + later * columns.length)}` };
  for (const [name, text] of Object.entries(facts)) document.querySelectorAll(`[data-fact="${name}"]`).forEach((place) => { place.textContent = text; });
  $("claim-count").textContent = `${said(cells.length)} questions`;
  const { certified, strength, words, wrong, prompts, least_margin: lead, least_margin_prompt: closest } = certificate;
  $("claim-asked").textContent = certified ? "We asked all of them." : strength === "sampled" ? "We asked some of them, which proves nothing."
    : `We asked all of them: ${said(wrong)} answers are wrong.`;
  $("asked-words").textContent = certified ? `Finitely many questions can simply be asked. All ${said(prompts)} answers were compared with the right ones: none is wrong.` : words.join(" ");
  $("asked-therefore").textContent = certified ? `Each step of a sum is one of these questions. So every step is right, and with it every sum, however long. ${words.at(-1)}` : "";
  $("asked-closest").textContent = certified ? `The closest call is ${closest}, by ${lead.toFixed(1)} logits.` : "";
  if (!isAddition()) {
    $("claim-numbers").textContent = storyModel().arity === 1 ? "A number" : "Two numbers";
    $("lead").textContent = `This network has learned one step: ${storyModel().summary}. Watch a problem of ${said(LONG)} digits ask its questions: none is new.`;
  }
}

function defineTerms() {
  document.querySelectorAll(".term").forEach((term, i) => {
    const id = `means-${i}`;
    term.tabIndex = 0;
    term.setAttribute("aria-describedby", id);
    term.append(make("span", { id, className: "means", textContent: TERMS[term.dataset.term] }));
  });
}
