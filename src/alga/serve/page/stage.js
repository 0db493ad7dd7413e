"use strict";
// The stage: one sum on paper, what the network reads and writes, all questions, a counter. The tour sets its state.
// Every step shown was taken by a network; the counter counts them, and looks each question up among all there are.

const LONG = 1000; // digits of the sums that run by themselves
const CALM = matchMedia("(prefers-reduced-motion: reduce)");

class Stage {
  constructor() {
    const legend = { box: $("stage-legend"), count: $("stage-count"), scale: $("stage-scale") };
    this.grid = new Mind($("stage-grid"), $("stage-frame"), {
      legend, turns: false, chosen: (cell) => this.open(cell), told: (text) => { $("stage-cell").textContent = text; },
      tall: () => Math.max(105, Math.min(420, innerWidth < 900 ? innerHeight * 0.16 : innerHeight - 470)),
    });
    this.modes = [["met", "met"], ["right", "right"], ["lead", "lead"]];
    this.grid.mode = "met";
    offerModes($("stage-modes"), this.grid, this.modes);
    this.turn = 0; // of the tour: what was asked for an earlier one is dropped
    this.result = null;
    this.endless = false; // sums follow each other
    this.running = this.seen = false;
    this.seed = 26; // of the made-up digits
    this.network = null; // { name, domain, certificate }
    this.resetCounts();
    $("stage-play").addEventListener("click", () => (this.running ? this.pause() : this.play()));
    $("stage-step").addEventListener("click", () => { this.pause(); this.advance(1); });
    $("stage-back").addEventListener("click", () => { this.pause(); this.goTo(this.result.done - 1); });
    new IntersectionObserver(([entry]) => { this.seen = entry.isIntersecting; this.tick(); }).observe($("stage"));
    new ResizeObserver(() => this.result && this.drawSum()).observe($("stage-sheet"));
  }

  // --- networks and sums -------------------------------------------------------------------------------------------

  // The network whose steps follow; its questions are on the grid. `found` replaces them (a damaged copy).
  show(name, found) {
    this.network = { name, ...found };
    if (this.grid.domain !== found.domain) this.grid.show(found.domain);
  }

  // The steps of a problem, as `Result` has them; a sum that runs may be shown before its last step has arrived.
  async trace(operands, begun = () => {}) {
    const result = new Result({ operands }, null, 0, "");
    await from.steps(storyVerb(), { operands, model: this.network.name }, (name, data) => {
      if (name === "problem") result.begin(data);
      if (name === "steps") data.forEach((step) => result.take(step));
      if (name === "done") result.traced = data.answer;
      if (name === "steps") begun(result);
      return true;
    });
    return result;
  }

  // A made-up problem of many digits, the same after each start of the page.
  madeUp() {
    const all = DIGITS.slice(0, storyModel().base ?? 10);
    const digit = () => {
      this.seed = (Math.imul(this.seed, 1103515245) + 12345) >>> 0;
      return all[Math.floor((this.seed / 2 ** 32) * all.length)];
    };
    const number = (first, count) => first + Array.from({ length: count - 1 }, digit).join("");
    if (storyModel().arity === 1) return [number(all[1], LONG)];
    return [number(all.at(-1), LONG), oneDigit() ? all.at(-1) : number(all[1], LONG)];
  }

  async stream() {
    const turn = this.turn;
    this.endless = true;
    let shown = false;
    const begin = (result) => {
      if (shown || turn !== this.turn) return;
      shown = true;
      this.put(result, 0);
      if (!CALM.matches) this.play();
    };
    await this.trace(this.madeUp(), begin);
  }

  put(result, done) {
    this.result = result;
    this.goTo(done);
  }

  // --- steps -------------------------------------------------------------------------------------------------------

  resetCounts() {
    Object.assign(this, { steps: 0, fresh: 0 });
    this.grid.met.clear();
  }

  // Without counting: shows the sum after `done` steps, and their questions as met.
  goTo(done) {
    const { result } = this;
    result.wanted = result.done = Math.max(0, Math.min(done, result.steps.length)); // wanted: more steps may arrive
    if (!this.endless) {
      this.grid.met.clear();
      result.steps.slice(0, result.done).forEach((step, i) => this.grid.met.set(step.prompt, i));
    }
    this.drawSum();
    this.changed?.();
  }

  advance(count) {
    const { result } = this;
    for (let i = 0; i < count && result.done < result.steps.length; i++) {
      const { prompt } = result.steps[result.done];
      this.steps += 1;
      if (!this.grid.byPrompt.has(prompt)) this.fresh += 1;
      this.grid.met.set(prompt, this.steps);
      result.wanted = result.done += 1;
    }
    if (this.endless) {
      this.drawSum();
      this.countSteps();
    } else this.goTo(result.done);
  }

  countSteps() {
    const all = this.network.domain.cells.length;
    this.count([[said(this.steps), "steps taken"], [said(this.grid.met.size), `different questions, of ${said(all)}`], [said(this.fresh), "new ones"]]);
  }

  count(facts) {
    $("counter").querySelectorAll("div").forEach((place, i) => {
      const [value, name, bad] = facts[i];
      place.querySelector("dt").textContent = name;
      Object.assign(place.querySelector("dd"), { textContent: value, className: bad ? "bad" : "" });
    });
  }

  drawSum() {
    const { result } = this, { problem, step } = result;
    if (!problem) return;
    drawSheet($("stage-sheet"), problem, step ? step.index + 1 : 0);
    this.drawAnatomy(step);
    this.grid.use(step?.prompt);
    able("stage-back", !this.endless && result.done > 0);
    able("stage-step", result.done < result.steps.length);
  }

  // --- playing -----------------------------------------------------------------------------------------------------

  play() {
    if (!this.result) return this.retry?.();
    if (this.result.done >= this.result.steps.length && !this.endless) this.goTo(0);
    this.set(true);
    Object.assign(this, { last: performance.now(), owed: 0 });
    this.tick();
  }

  pause() { this.set(false); }

  set(running) {
    this.running = running;
    $("stage-play").textContent = running ? "Pause" : "Play";
  }

  // Slow at first, so that one can follow; a sum that runs by itself becomes fast.
  get pace() { return this.endless ? Math.min(24, 2 + this.steps ** 1.5 / 40) : 1.25; }

  tick() {
    if (this.ticking || !this.running || !this.seen) return;
    this.ticking = true;
    requestAnimationFrame((now) => {
      this.ticking = false;
      if (!this.running || !this.seen) return;
      this.owed += Math.min(0.25, (now - this.last) / 1000) * this.pace; // not all at once after a pause
      this.last = now;
      if (this.owed >= 1) {
        this.advance(Math.floor(this.owed));
        this.owed %= 1;
      }
      if (this.result.traced !== undefined && this.result.done >= this.result.steps.length) this.ended();
      this.tick();
    });
  }

  ended() {
    this.pause();
    if (this.endless) this.stream().catch((problem) => { if (!(problem instanceof Refused)) throw problem; }); // it rests at its end
  }

  // --- what it reads and writes ------------------------------------------------------------------------------------

  // A question of the grid, chosen by the visitor: its tokens; the sum stays where it is.
  open(cell) {
    this.pause();
    const output = cell.text.replace(/S$/, "");
    this.drawAnatomy({ ...cell, bad: cell.text !== cell.expected, carry: output.slice(0, -1) });
  }

  // The same places for every step, so that nothing moves: context, C, column; then output and stop.
  drawAnatomy(step) {
    const { domain } = this.network, most = (texts) => texts.reduce((most, text) => Math.max(most, text?.length ?? 0), 1);
    const sizes = [most(domain.contexts), 1, most(domain.columns), most(domain.cells.map((cell) => cell.expected)) - 1, 1];
    const place = $("anatomy"), shape = sizes.join(" ");
    if (place.dataset.shape !== shape) {
      place.dataset.shape = shape;
      const labels = ["wrote last", domain.contexts.length > 1 ? "then" : "", "column", domain.carried ? `${domain.carried}, digit` : "writes", "stop"];
      const run = (i) => make("figure", { className: i > 2 ? "out" : "" },
        make("div", { className: "run" }, ...Array.from({ length: sizes[i] }, () => make("kbd"))), make("figcaption", { textContent: labels[i] || "\u00a0" }));
      place.replaceChildren(make("div", { className: "reads" }, make("span", { className: "verb", textContent: "reads" }), run(0), run(1), run(2)),
        make("div", { className: "writes" }, make("span", { className: "verb", textContent: "writes" }), run(3), run(4)));
    }
    const prompt = step?.prompt ?? "", cut = prompt.lastIndexOf("C"), text = step?.text ?? "", output = text.replace(/S$/, "");
    const parts = [cut < 0 ? "" : prompt.slice(0, cut), cut < 0 ? "" : "C", prompt.slice(cut + 1), output, text.endsWith("S") ? "S" : ""];
    place.querySelectorAll("figure").forEach((figure, i) => {
      const keys = [...figure.querySelectorAll("kbd")], shown = i === 2 ? parts[i].padEnd(keys.length) : parts[i].padStart(keys.length);
      figure.classList.toggle("bad", Boolean(i > 2 && step?.bad));
      keys.forEach((key, j) => { key.textContent = shown[j] === " " ? "" : shown[j]; key.className = shown[j] === " " ? "none" : ""; });
    });
    place.setAttribute("aria-label", step ? `It reads ${prompt} and writes ${text || "nothing"}` : "Nothing read yet");
  }
}

// The network of the story: addition, or the one in this file.
const storyModel = () => (from.embedded ? from.content.models.models[0] : { name: "addition", base: 10, arity: 2, verbs: ["add"] });
const storyVerb = () => storyModel().verbs[0] ?? "";
const isAddition = () => !from.embedded || (storyModel().name === "addition" && storyModel().base === 10);
