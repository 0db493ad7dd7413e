"use strict";
// Every prompt there is on one canvas: contexts by columns, coloured by margin, wrong ones red and crossed.

class Mind {
  constructor(canvas, frame, chosen, told) {
    Object.assign(this, { canvas, frame, chosen, told });
    this.used = null; // the cell of the current step
    this.cursor = null; // the cell that the user selected
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
    this.most = domain.cells.reduce((most, cell) => (this.wrong(cell) ? most : Math.max(most, cell.margin ?? 0)), 1);
    this.cursor = this.cursor && (this.byPrompt.get(this.cursor.prompt) ?? null);
    this.used = this.used && (this.byPrompt.get(this.used.prompt) ?? null);
    const wrong = domain.cells.filter((cell) => this.wrong(cell)).length;
    this.canvas.dataset.cells = domain.cells.length;
    this.canvas.dataset.wrong = wrong;
    document.getElementById("count").textContent = `${domain.cells.length.toLocaleString("en")} prompts, ${wrong ? wrong.toLocaleString("en") : "none"} wrong`;
    document.getElementById("legend-high").textContent = `margin ${this.most.toFixed(0)}`;
    this.draw();
    this.tell();
  }

  clear() {
    Object.assign(this, { domain: null, byPrompt: null, used: null, cursor: null });
    for (const name of Object.keys(this.canvas.dataset)) delete this.canvas.dataset[name];
    this.canvas.getContext("2d").clearRect(0, 0, this.canvas.width, this.canvas.height);
    document.getElementById("count").textContent = document.getElementById("legend-high").textContent = "";
    this.tell();
  }

  wrong = (cell) => cell.text !== cell.expected;
  // Cubed, so that small differences between clear decisions are visible.
  share = (cell) => ((cell.margin ?? 0) / this.most) ** 3;

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
    this.turned = width < 600 && columns.length > contexts.length; // on a phone, columns go down
    const [across, down] = this.turned ? [contexts.length, columns.length] : [columns.length, contexts.length];
    const labels = this.turned ? { left: 26, top: 18 } : { left: 34, top: 18 };
    const wide = (width - labels.left - 3) / across; // however narrow: the whole domain must fit
    const high = this.turned ? Math.max(4, Math.min(9, 560 / down)) : Math.max(6, Math.min(16, 380 / down));
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
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement);
    const named = (name) => style.getPropertyValue(name).trim();
    const colour = colours();
    const gap = wide > 5 && high > 5 ? 1 : Math.min(0.4, wide / 8);
    for (const cell of this.domain.cells) {
      const [x, y] = this.corner(cell);
      pen.fillStyle = this.wrong(cell) ? named("--wrong") : colour(this.share(cell));
      pen.fillRect(x, y, wide - gap, high - gap);
      if (this.wrong(cell) && wide > 5 && high > 8) {
        pen.strokeStyle = named("--card");
        pen.beginPath();
        pen.moveTo(x + 1.5, y + 1.5);
        pen.lineTo(x + wide - gap - 1.5, y + high - gap - 1.5);
        pen.moveTo(x + wide - gap - 1.5, y + 1.5);
        pen.lineTo(x + 1.5, y + high - gap - 1.5);
        pen.stroke();
      }
    }
    this.write(pen, named("--soft"));
    this.outline(pen, this.used, named("--mark"), named("--ink"));
    if (this.cursor && this.cursor !== this.used) this.outline(pen, this.cursor, named("--ink"), named("--card"));
    this.scale(colour);
  }

  write(pen, ink) {
    const { contexts, columns } = this.domain;
    pen.fillStyle = ink;
    pen.font = "10px system-ui, sans-serif";
    const every = (step, room) => Math.max(1, Math.ceil(room / step));
    const name = (context) => (context === null ? "first" : context);
    const [acrossNames, downNames] = this.turned ? [contexts.map(name), columns] : [columns, contexts.map(name)];
    const skip = every(this.wide, this.turned ? 15 : 22), skipDown = every(this.high, 11);
    pen.textAlign = "center";
    acrossNames.forEach((text, i) => i % skip || pen.fillText(this.turned && text === "first" ? "1st" : text, this.labels.left + (i + 0.5) * this.wide, 11));
    pen.textAlign = "right";
    downNames.forEach((text, i) => i % skipDown || pen.fillText(text, this.labels.left - 5, this.labels.top + (i + 0.5) * this.high + 3.5));
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

  scale(colour) {
    const canvas = document.getElementById("scale"), pen = canvas.getContext("2d");
    for (let x = 0; x < canvas.width; x++) {
      pen.fillStyle = colour((x / canvas.width) ** 3);
      pen.fillRect(x, 0, 1, canvas.height);
    }
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
    const margin = cell.margin === null || this.wrong(cell) ? "" : `, margin ${cell.margin.toFixed(2)}`;
    return this.told(`${where}: the prompt is ${cell.prompt}, ${verdict}${margin}.`);
  }
}
