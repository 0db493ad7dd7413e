"use strict";
// The section #train-here: a small network learns a task in a worker, until every prompt is right.

function mountTrainHere(element, { newWorker }) {
  const part = (name) => element.querySelector(`[data-part="${name}"]`);
  const CHIPS = 16; // prompts that are shown one by one; more are a grid
  const MANY = 1000; // columns of the problem that it is asked at the end
  const chips = make("ol", { className: "chips" });
  part("grid").append(chips);
  const cells = new Cells(part("grid"), "The network in training");
  let table = [..."01101001"]; // the visitor's rule; at first, the sum of three bits without its carry
  let description = null, worker = null, number = 0, course = null;

  const task = () => Trainer.shapeOf(part("task").value === "rule" ? Trainer.tasks.rule(table) : Trainer.tasks[part("task").value]());

  function drawRule() {
    part("rule").hidden = part("task").value !== "rule";
    part("rule").replaceChildren(part("rule").querySelector("legend"), ...table.map((answer, i) => {
      const [before, a, b] = i.toString(2).padStart(3, "0"), button = make("button", { type: "button" }, `${before}C${a}${b} → `, make("b", { textContent: answer }));
      button.setAttribute("aria-label", `After ${before}, for ${a}${b}: ${answer}`);
      button.addEventListener("click", () => { table[i] = answer === "0" ? "1" : "0"; chosen(); part("rule").querySelectorAll("button")[i].focus(); });
      return button;
    }));
  }

  // Another task or rule: what was learned is not what is on screen any more.
  function chosen() {
    stop();
    description = task();
    course = { steps: [], losses: [], right: [] };
    drawRule();
    drawPrompts(null);
    part("course").replaceChildren();
    tell(`${said(description.prompts.length)} questions, ${said(description.parameters)} numbers, nothing learned yet.`);
  }

  function tell(text, kind = "") {
    part("status").className = `verdict live-verdict ${kind}`;
    part("status").ariaLive = element.dataset.training === "yes" ? "off" : "polite"; // too fast to be read out
    part("status").textContent = text;
    element.dataset.state = kind || "open";
  }

  function drawPrompts(texts) {
    const { prompts, outputs } = description, few = prompts.length <= CHIPS, verdicts = prompts.map((_, i) => (texts ? texts[i] === `${outputs[i]}S` : undefined));
    chips.hidden = !few;
    cells.canvas.hidden = few;
    cells.show(description, verdicts);
    chips.replaceChildren(...(few ? prompts : []).map((prompt, i) => make("li", { className: { true: "right", false: "wrong", undefined: "" }[verdicts[i]] },
      texts ? `${prompt} → ${texts[i]} ${verdicts[i] ? "✓" : "✗"}` : `${prompt} → ?`)));
  }

  function start() {
    chosen();
    worker ??= newWorker();
    const mine = ++number, seed = Number(part("seed").value) || 0;
    worker.onmessage = ({ data }) => { if (data.number === number) report(data); };
    worker.onerror = (problem) => { stop(); tell(sentence(problem.message), "bad"); };
    worker.postMessage({ number: mine, train: { description, seed } });
    part("start").textContent = "Stop";
    element.dataset.training = "yes";
    tell("Training …");
  }

  function stop() {
    number++;
    worker?.postMessage({ stop: true });
    part("start").textContent = "Train";
    element.dataset.training = "no";
  }

  function report({ step, loss, texts, wrong, least, done, weights, seconds, over }) {
    if (over) {
      stop();
      if (element.dataset.state !== "good") tell("It has not learned everything in 4,000 steps. Another seed starts from other numbers.", "bad");
      return;
    }
    const all = description.prompts.length;
    course.steps.push(step);
    course.losses.push(loss);
    course.right.push(all - wrong);
    drawPrompts(texts);
    drawCourse(part("course"), { ...course, all, at: course.steps.length - 1 });
    if (done) {
      stop();
      tell(`All ${said(all)} answers are right, with a lead of ${least.toFixed(1)} or more: checked in this browser, after ${said(step)} steps and ${seconds.toFixed(1)} s. ${walked(weights)}`, "good");
    } else tell(`Step ${said(step)}: ${said(all - wrong)} of ${said(all)} questions right, loss ${loss.toPrecision(2)}.`);
  }

  // A problem of many columns, walked by the new network and, beside it, by the task itself.
  function walked(weights) {
    const network = new Forward(description, weights), { columns, prompts, outputs } = description;
    let before = null, exact = null;
    for (let i = 0; i < MANY; i++) {
      const column = columns[Math.floor(Math.random() * columns.length)], prompt = (context) => (context === null ? column : `${context}C${column}`);
      before = network.answer(prompt(before)).text.slice(0, -1);
      exact = outputs[prompts.indexOf(prompt(exact))];
    }
    return `Then it walked ${said(MANY)} random columns and ended with ${before}: ${before === exact ? "right" : `wrong, ${exact} would be right`}.`;
  }

  part("task").addEventListener("change", chosen);
  part("start").addEventListener("click", () => (element.dataset.training === "yes" ? stop() : start()));
  part("seed").addEventListener("change", () => element.dataset.training === "yes" && start());
  chosen();
  return { start, stop, get description() { return description; }, get course() { return course; } };
}
