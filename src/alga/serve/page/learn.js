"use strict";
// The section #learn: recorded trainings, checkpoint by checkpoint. The grid turns from wrong to right beside the loss.

// A bit per prompt, from the lowest bit of the first byte on (runs/verdicts.py).
function bitsOf(text, count) {
  const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  return Array.from({ length: count }, (_, i) => Boolean((bytes[i >> 3] >> (i & 7)) & 1));
}

// Two lines over the steps: the loss, on a scale of powers of ten, and the prompts that are right.
function drawCourse(place, { steps, losses, right, all, at }) {
  const width = 460, height = 220, left = 40, bottom = 24, top = 10, end = steps.at(-1) || 1;
  const known = losses.filter((loss) => loss !== null && loss > 0), [low, high] = [Math.min(...known), Math.max(...known)].map(Math.log10);
  const x = (step) => left + (step / end) * (width - left - 44), lossAt = (loss) => top + ((high - Math.log10(loss)) / (high - low || 1)) * (height - top - bottom);
  const rightAt = (count) => top + (1 - count / all) * (height - top - bottom);
  const path = (points) => points.map(([px, py], i) => `${i ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`).join("");
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", class: "course", "aria-label": `Loss and questions right over ${said(end)} steps; at step ${said(steps[at])}, ${said(right[at])} of ${said(all)} are right` });
  const text = (px, py, said, anchor, kind = "") => picture.append(svg("text", { x: px, y: py, "text-anchor": anchor, class: kind }, said));
  for (let power = Math.ceil(low); power <= high; power++) {
    picture.append(svg("line", { x1: left, x2: width - 44, y1: lossAt(10 ** power), y2: lossAt(10 ** power), class: "thread" }));
    text(left - 5, lossAt(10 ** power) + 4, power < -3 ? `1e${power}` : `${10 ** power}`, "end");
  }
  for (const share of [0, 0.5, 1]) text(width - 40, rightAt(share * all) + 4, `${100 * share} %`, "start", "right");
  text(left, height - 6, "0", "middle");
  text(width - 44, height - 6, `${said(end)} steps`, "end");
  picture.append(
    svg("path", { d: path(steps.map((step, i) => [x(step), rightAt(right[i])])), class: "count" }),
    svg("path", { d: path(steps.flatMap((step, i) => (losses[i] > 0 ? [[x(step), lossAt(losses[i])]] : []))), class: "loss" }),
    svg("line", { x1: x(steps[at]), x2: x(steps[at]), y1: 0, y2: height - bottom, class: "here" }));
  place.replaceChildren(picture);
}

function mountLearn(element, { recorded }) {
  const part = (name) => element.querySelector(`[data-part="${name}"]`);
  const cells = new Cells(part("grid"), "As the trainer recorded it");
  let course = null, at = 0, playing = 0;

  function prepared(run) {
    const all = run.places.length, verdicts = run.right.map((text) => bitsOf(text, all));
    const prompts = run.places.map((place) => {
      const context = run.contexts[Math.floor(place / run.columns.length)], column = run.columns[place % run.columns.length];
      return context === null ? column : `${context}C${column}`;
    });
    return { ...run, all, verdicts, prompts, right: verdicts.map((bits) => bits.filter(Boolean).length) };
  }

  async function open() {
    part("told").textContent = "Loading the training …";
    let found;
    try {
      found = await recorded();
    } catch (problem) {
      part("told").textContent = sentence(problem.message);
      return;
    }
    const courses = found.runs.map(prepared);
    part("run").replaceChildren(...courses.map((each, i) => new Option(each.title, i)));
    part("run").addEventListener("change", () => choose(courses[part("run").value]));
    choose(courses[0]);
  }

  function choose(chosen) {
    pause();
    course = chosen;
    Object.assign(part("position"), { max: course.steps.length - 1, value: 0 });
    part("end").textContent = course.end;
    show(0);
  }

  function show(frame) {
    at = frame;
    const { steps, losses, right, all, verdicts } = course, loss = losses[at];
    part("position").value = at;
    part("position").setAttribute("aria-valuetext", `step ${said(steps[at])}`);
    cells.show(course, verdicts[at]);
    drawCourse(part("course"), { ...course, at });
    const lost = at ? verdicts[at - 1].filter((was, i) => was && !verdicts[at][i]).length : 0;
    part("told").setAttribute("aria-live", playing ? "off" : "polite");
    part("told").replaceChildren(make("b", { textContent: `Step ${said(steps[at])}` }), `: ${right[at] === all ? `all ${said(all)}` : `${said(right[at])} of ${said(all)}`} questions right${loss === null ? "" : `, loss ${loss.toPrecision(2)}`}${lost ? `; ${said(lost)} that were right before are wrong again` : ""}.`);
    element.dataset.step = steps[at];
  }

  function pause() {
    clearInterval(playing);
    playing = 0;
    part("play").textContent = "Play";
    part("play").setAttribute("aria-pressed", "false");
  }

  function play() {
    if (at === course.steps.length - 1) show(0);
    part("play").textContent = "Pause";
    part("play").setAttribute("aria-pressed", "true");
    playing = setInterval(() => {
      show(Math.min(at + 1, course.steps.length - 1));
      if (at === course.steps.length - 1) { pause(); show(at); }
    }, 9000 / course.steps.length);
  }

  part("play").addEventListener("click", () => course && (playing ? pause() : play()));
  part("position").addEventListener("input", () => { if (course) { pause(); show(Number(part("position").value)); } });
  return { open, show: (frame) => { pause(); show(frame); }, get course() { return course; } };
}
