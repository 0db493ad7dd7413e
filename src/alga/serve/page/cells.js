"use strict";
// A small grid of every prompt, contexts by columns: right, wrong, or not known. `Mind` is the large one.

class Cells {
  constructor(frame, name) {
    this.canvas = make("canvas", { className: "cells" });
    this.canvas.setAttribute("role", "img");
    this.name = name;
    this.frame = frame;
    frame.append(this.canvas);
    new ResizeObserver(() => this.draw()).observe(frame);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  // `verdicts[i]` of prompt i: true, false, or undefined while it is not known; `marked` is the prompt to frame.
  show(description, verdicts, marked = null) {
    Object.assign(this, { description, verdicts, marked });
    const wrong = verdicts.filter((right) => right === false).length, right = verdicts.filter(Boolean).length;
    Object.assign(this.canvas.dataset, { cells: verdicts.length, wrong, right });
    this.canvas.setAttribute("aria-label", `${this.name}: ${said(right)} of ${said(verdicts.length)} questions right, ${said(wrong)} wrong`);
    this.draw();
  }

  mark(prompt) {
    this.marked = prompt;
    this.draw();
  }

  measure() {
    const { contexts, columns } = this.description;
    this.turned = this.frame.clientWidth < 500 && columns.length > contexts.length; // on a phone, columns go down
    this.across = this.turned ? contexts.length : columns.length;
    this.down = this.turned ? columns.length : contexts.length;
    this.wide = Math.min(24, this.frame.clientWidth / this.across);
    this.high = this.turned ? Math.max(2, Math.min(24, 220 / this.down)) : Math.max(8, Math.min(24, 200 / this.down));
  }

  corner(i) {
    const place = this.description.places[i], size = this.description.columns.length;
    const [x, y] = [place % size, Math.floor(place / size)];
    return this.turned ? [y * this.wide, x * this.high] : [x * this.wide, y * this.high];
  }

  draw() {
    if (!this.description || !this.frame.clientWidth) return;
    this.measure();
    const { canvas, wide, high, description, verdicts } = this, ratio = window.devicePixelRatio || 1;
    const width = Math.ceil(this.across * wide), height = Math.ceil(this.down * high);
    Object.assign(canvas, { width: width * ratio, height: height * ratio });
    Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
    const pen = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
    const named = (name) => style.getPropertyValue(name).trim();
    const inks = { true: named("--right"), false: named("--wrong"), undefined: named("--low") };
    const gap = Math.min(1, wide / 6, high / 6);
    pen.scale(ratio, ratio);
    description.prompts.forEach((_, i) => {
      const [x, y] = this.corner(i);
      pen.fillStyle = inks[verdicts[i]];
      pen.fillRect(x, y, wide - gap, high - gap);
    });
    const at = this.marked === null ? -1 : description.prompts.indexOf(this.marked);
    if (at < 0) return;
    const [x, y] = this.corner(at);
    for (const [ink, size, out] of [[named("--ink"), 1, 3], [named("--mark"), 2, 1.5]]) {
      Object.assign(pen, { strokeStyle: ink, lineWidth: size });
      pen.strokeRect(x - out, y - out, wide + 2 * out - gap, high + 2 * out - gap);
    }
  }

  // The prompt under the mouse.
  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = Math.floor((event.clientX - box.left) / this.wide), y = Math.floor((event.clientY - box.top) / this.high);
    const place = this.turned ? x * this.description.columns.length + y : y * this.description.columns.length + x;
    return this.description.prompts[this.description.places.indexOf(place)] ?? null;
  }
}
