"use strict";
// Every question there is on one canvas: what the network wrote last, by the next column of digits.
// One colour scale for all networks. Three ways to colour: right or wrong, the lead over the runner-up, what a sum has met.

const LEAD = { least: 0.1, most: 40 }; // logits at either end of the scale, which is logarithmic
const TRAIL = 14; // questions of a running sum that still glow

class Mind {
  // `legend` has the elements beside the canvas; `turns`: on a phone, columns go down; `tall()`: pixels for all rows.
  constructor(canvas, frame, { chosen, told, legend, turns = true, tall = () => 380 }) {
    Object.assign(this, { canvas, frame, chosen, told, legend, turns, tall });
    this.mode = "right";
    this.used = null; // the cell of the current step
    this.cursor = null; // the cell that the user selected
    this.met = new Map(); // cells that a sum has reached: the number of the step
    this.asked = Infinity; // cells coloured so far, while all are asked one after the other
    this.blocks = []; // outlined parts: { rows: [from, to], places: [from, to] }
    canvas.addEventListener("click", (event) => this.point(event));
    canvas.addEventListener("mousemove", (event) => this.hover(event));
    canvas.addEventListener("mouseleave", () => this.tell());
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("focus", () => { this.cursor ??= this.used ?? this.domain?.cells[0] ?? null; this.tell(); this.draw(); });
    canvas.addEventListener("blur", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(frame);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  show(domain) {
    this.domain = domain;
    this.byPrompt = new Map(domain.cells.map((cell) => [cell.prompt, cell]));
    this.byPlace = new Map(domain.cells.map((cell) => [`${cell.row},${cell.place}`, cell]));
    this.cursor = this.cursor && (this.byPrompt.get(this.cursor.prompt) ?? null);
    this.used = this.used && (this.byPrompt.get(this.used.prompt) ?? null);
    const wrong = domain.cells.filter((cell) => this.wrong(cell)).length;
    this.canvas.dataset.cells = domain.cells.length;
    this.canvas.dataset.wrong = wrong;
    this.legend.count.textContent = `${domain.cells.length.toLocaleString("en")} questions, ${wrong ? wrong.toLocaleString("en") : "none"} wrong`;
    this.draw();
    this.tell();
  }

  clear() {
    Object.assign(this, { domain: null, byPrompt: null, used: null, cursor: null });
    for (const name of ["cells", "wrong", "used"]) delete this.canvas.dataset[name];
    this.canvas.getContext("2d").clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.legend.count.textContent = "";
    this.tell();
  }

  wrong = (cell) => cell.text !== cell.expected;

  setMode(mode) {
    this.mode = this.canvas.dataset.mode = mode;
    this.draw();
  }

  use(prompt) {
    this.used = this.byPrompt?.get(prompt) ?? null;
    this.cursor = null;
    this.canvas.dataset.used = this.used?.prompt ?? "";
    this.draw();
    this.tell();
  }

  measure() {
    const { contexts, columns } = this.domain;
    const width = this.frame.clientWidth;
    this.turned = this.turns && width < 600 && columns.length > contexts.length; // on a phone, columns go down
    const [across, down] = this.turned ? [contexts.length, columns.length] : [columns.length, contexts.length];
    this.halves = halvesOf(this.domain);
    const labels = this.turned ? { left: 30, top: this.halves.length ? 32 : 18 } : { left: this.halves.length ? 50 : 34, top: 18 };
    const wide = (width - labels.left - 3) / across; // however narrow: the whole domain must fit
    const high = this.turned ? Math.max(4, Math.min(9, 560 / down)) : Math.max(4, Math.min(20, this.tall() / down));
    Object.assign(this, { across, down, labels, wide: Math.min(wide, 46), high });
  }

  corner(cell) {
    const [x, y] = this.turned ? [cell.row, cell.place] : [cell.place, cell.row];
    return [this.labels.left + x * this.wide, this.labels.top + y * this.high];
  }

  draw() {
    if (!this.domain || !this.frame.clientWidth) return;
    this.measure();
    const { canvas, wide, high, labels } = this;
    const ratio = window.devicePixelRatio || 1;
    const width = Math.ceil(labels.left + this.across * wide + 3), height = Math.ceil(labels.top + this.down * high + 3);
    const size = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== size[0] || canvas.height !== size[1]) {
      [canvas.width, canvas.height] = size;
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const style = getComputedStyle(document.documentElement);
    const named = (name) => style.getPropertyValue(name).trim();
    const ink = this.inks(named), card = named("--card"), crossed = wide > 5 && high > 8;
    const gap = wide > 5 && high > 5 ? 1 : Math.min(0.4, wide / 8);
    this.domain.cells.forEach((cell, i) => {
      const [x, y] = this.corner(cell), wrong = this.wrong(cell) && i < this.asked;
      pen.fillStyle = wrong ? ink.wrong : i < this.asked ? ink.of(cell) : ink.unasked;
      pen.fillRect(x, y, wide - gap, high - gap);
      if (!wrong || !crossed) return;
      pen.strokeStyle = card;
      pen.beginPath();
      pen.moveTo(x + 1.5, y + 1.5);
      pen.lineTo(x + wide - gap - 1.5, y + high - gap - 1.5);
      pen.moveTo(x + wide - gap - 1.5, y + 1.5);
      pen.lineTo(x + 1.5, y + high - gap - 1.5);
      pen.stroke();
    });
    writeAxes(this, pen, named("--soft"));
    for (const block of this.blocks) this.frameBlock(pen, block, named("--now-line"));
    this.outline(pen, this.used, named("--mark"), named("--ink"));
    if (this.cursor && this.cursor !== this.used) this.outline(pen, this.cursor, named("--ink"), card);
    drawLegend(this, named);
  }

  // What colours a cell that is right.
  inks(named) {
    const wrong = named("--wrong"), unasked = named("--unasked");
    if (this.mode === "lead") {
      const colour = colours();
      return { wrong, unasked, of: (cell) => colour(leadShare(cell.margin)) };
    }
    if (this.mode === "right") return { wrong, unasked, of: () => named("--right") };
    const now = Math.max(0, ...this.met.values()), met = named("--met"), fresh = named("--mark");
    return { wrong, unasked, of: ({ prompt }) => (!this.met.has(prompt) ? unasked : now - this.met.get(prompt) < TRAIL ? fresh : met) };
  }

  outline(pen, cell, colour, halo) {
    if (!cell) return;
    const [x, y] = this.corner(cell);
    for (const [ink, width, out] of [[halo, 1, 4], [colour, 3, 2]]) {
      pen.strokeStyle = ink;
      pen.lineWidth = width;
      pen.strokeRect(x - out, y - out, this.wide + 2 * out - 1, this.high + 2 * out - 1);
    }
    pen.lineWidth = 1;
  }

  frameBlock(pen, { rows, places }, colour) {
    const [x, y] = this.corner({ row: rows[0], place: places[0] }), [right, bottom] = this.corner({ row: rows[1], place: places[1] });
    pen.strokeStyle = colour;
    pen.lineWidth = 2;
    pen.strokeRect(x - 1, y - 1, right - x + this.wide + 1, bottom - y + this.high + 1);
    pen.lineWidth = 1;
  }

  at(event) {
    if (!this.domain) return null;
    const box = this.canvas.getBoundingClientRect();
    const x = Math.floor((event.clientX - box.left - this.labels.left) / this.wide);
    const y = Math.floor((event.clientY - box.top - this.labels.top) / this.high);
    return this.byPlace.get(this.turned ? `${x},${y}` : `${y},${x}`) ?? null;
  }

  point(event) {
    const cell = this.at(event);
    if (cell) this.choose(cell);
  }

  hover(event) {
    const cell = this.at(event);
    if (cell) this.tell(cell);
  }

  key(event) {
    const turn = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!turn || !this.cursor) return;
    event.preventDefault();
    event.stopPropagation();
    const [dx, dy] = this.turned ? [turn[1], turn[0]] : turn;
    const next = this.byPlace.get(`${this.cursor.row + dy},${this.cursor.place + dx}`);
    if (next) this.choose(next);
  }

  choose(cell) {
    this.cursor = cell;
    this.draw();
    this.tell();
    this.chosen(cell);
  }

  tell(cell = this.cursor ?? this.used) {
    if (!cell) return this.told("");
    const context = this.domain.contexts[cell.row], column = this.domain.columns[cell.place];
    const where = context === null ? `First column ${column}` : `After ${context}, column ${column}`;
    const verdict = this.wrong(cell) ? `wrong: it writes ${cell.text || "nothing"}, and ${cell.expected} would be right` : `it writes ${cell.text}`;
    const lead = cell.margin === null || this.wrong(cell) ? "" : `, lead ${cell.margin.toFixed(2)}`;
    return this.told(`${where}: the question is ${cell.prompt}, ${verdict}${lead}.`);
  }
}
