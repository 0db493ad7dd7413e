"use strict";
// One step as a flow: tokens, embedding, each block's attention and feed-forward network, logits.
// Attention and probabilities are the network's own records; strips of activations need its weights in this browser.

const FLOW = { left: 92, top: 24, column: 58, strip: 12, gap: 46, between: 30 }; // pixels; on a phone, narrower columns

const flow = {
  shown: null, // { model, inside, hurt, activations }
  written: 0, // the token of the output that is being written
  opened: "block 1: attention",
  timer: 0,
  near: false, // whether it is on screen, or almost

  // Every activation of a step by the name of its hook point, { shape, data }; null without weights here.
  async activations(model, prompt, text) {
    if (typeof Forward === "undefined" || typeof live === "undefined") return null;
    const description = await live.network(model).catch(() => null);
    return description ? new Forward(description).run(`${prompt}\n${text.slice(0, -1)}`).activations : null;
  },

  show(model, inside, hurt) {
    this.clear();
    this.shown = { model, inside, hurt, activations: null };
    this.draw();
    this.fill();
  },

  // Compute the strips, once the picture is near: the weights in this page are those of the undamaged network.
  async fill() {
    const shown = this.shown;
    if (!shown || !this.near || shown.hurt || shown.activations) return;
    const found = await this.activations(shown.model, shown.inside.prompt, shown.inside.text).catch(() => null);
    if (!found || this.shown !== shown) return;
    shown.activations = found;
    this.draw();
  },

  clear() {
    clearInterval(this.timer);
    Object.assign(this, { shown: null, written: 0 });
    for (const id of ["flow-tokens", "flow-picture", "flow-open"]) $(id).replaceChildren();
  },

  choose(written) {
    this.written = written;
    this.draw();
  },

  // The rows of the picture, from the tokens down: strips of numbers, and between them what a block does.
  rows() {
    const { inside, activations } = this.shown, rows = [{ name: "embedding", hook: "blocks.0.hook_resid_pre" }];
    inside.attention.forEach((heads, i) => {
      rows.push({ name: `block ${i + 1}: attention`, heads, layer: i, hook: `blocks.${i}.hook_resid_mid` });
      rows.push({ name: `block ${i + 1}: feed-forward`, feed: true, layer: i, hook: `blocks.${i}.hook_resid_post` });
    });
    return rows.map((row) => ({ ...row, strip: activations?.[row.hook] ?? null }));
  },

  // Off screen it is not drawn: steps may pass fast.
  draw() {
    if (!this.shown || !this.near) return;
    const { inside } = this.shown, tokens = inside.tokens.map(shownToken), begin = inside.tokens.indexOf("\n"), from = begin + this.written;
    Object.assign(FLOW, innerWidth < 560 ? { left: 78, column: 33 } : { left: 92, column: 58 });
    const { left, top, column, gap, between } = FLOW, rows = this.rows();
    $("flow-tokens").replaceChildren(...[...inside.text].map((token, i) => {
      const button = make("button", { type: "button", textContent: `writes ${shownToken(token)}`, onclick: () => this.choose(i) });
      button.setAttribute("aria-pressed", String(i === this.written));
      return button;
    }), ...(inside.text.length > 1 && !CALM.matches ? [make("button", { type: "button", textContent: "Token by token", onclick: () => this.run() })] : []));
    const width = left + tokens.length * column + 10, height = top + rows.reduce((sum, row) => sum + (row.heads ? gap : between), 0) + 70;
    const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `How ${inside.text[this.written]} comes about` });
    const x = (i) => left + (i + 0.5) * column;
    tokens.forEach((token, i) => picture.append(svg("text", { class: i === from ? "token here" : i > from ? "token later" : "token", x: x(i), y: 15, "text-anchor": "middle" }, token)));
    let y = top;
    for (const row of rows) {
      const before = y;
      y += row.heads ? gap : between;
      if (row.heads) this.lines(picture, row, { from, x, before: before + FLOW.strip, y });
      this.layer(picture, row, { x, y, from, count: tokens.length, width, before });
    }
    this.end(picture, { x: x(from), y: y + FLOW.strip, from });
    $("flow-picture").replaceChildren(picture);
    this.open();
  },

  // Where the token being written looks, one line for each token and head; its width is the weight.
  lines(picture, { heads }, { from, x, before, y }) {
    heads.forEach((head, h) => head[from].forEach((weight, j) => {
      if (weight < 0.03) return;
      const shift = (h - (heads.length - 1) / 2) * 7, middle = (before + y) / 2;
      const line = svg("path", { class: `look head-${h % 4}`, d: `M ${x(j) + shift} ${before} C ${x(j) + shift} ${middle}, ${x(from) + shift} ${middle}, ${x(from) + shift} ${y}`, "stroke-width": 0.5 + 6 * weight });
      line.append(svg("title", {}, `Head ${h + 1} looks at ${shownToken(this.shown.inside.tokens[j])}: ${Math.round(100 * weight)} %`));
      picture.append(line);
    }));
  },

  layer(picture, row, { x, y, from, count, width, before }) {
    const group = svg("g", { class: `layer${this.opened === row.name ? " opened" : ""}`, tabindex: 0, role: "button", "aria-label": `Open ${row.name}`, "data-layer": row.name });
    group.append(svg("rect", { class: "hit", x: 0, y: before + FLOW.strip + 1, width, height: y - before - 1 }), svg("text", { class: "name", x: 4, y: y + 9 }, row.name.replace("block ", "")));
    for (let i = 0; i < count; i++) this.strip(group, row, i, { x: x(i), y, later: i > from, here: i === from });
    const open = () => { this.opened = row.name; this.draw(); $("flow-picture").querySelector(`[data-layer="${row.name}"]`).focus(); };
    group.addEventListener("click", open);
    group.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); event.stopPropagation(); open(); } });
    picture.append(group);
  },

  // A token's numbers at this place, in groups: teal above zero, orange below; plain where the weights are not here.
  strip(group, { strip }, i, { x, y, later, here }) {
    const wide = FLOW.column - 12, left = x - wide / 2, kind = `${later ? "later" : ""}${here ? " here" : ""}`;
    group.append(svg("rect", { class: `frame ${kind}`, x: left - 1, y: y - 1, width: wide + 2, height: FLOW.strip + 2 }));
    if (!strip || later) return;
    const size = strip.shape.at(-1), row = strip.data.slice(i * size, (i + 1) * size), most = Math.max(...strip.data.map(Math.abs)), bins = Math.min(size, 16);
    for (let b = 0; b < bins; b++) {
      const part = row.slice(Math.floor(b * size / bins), Math.floor((b + 1) * size / bins)), mean = part.reduce((sum, value) => sum + value, 0) / part.length;
      group.append(svg("rect", { class: mean < 0 ? "minus" : "plus", x: left + b * wide / bins, y, width: wide / bins - 0.4, height: FLOW.strip, opacity: Math.min(1, 0.08 + 1.6 * Math.abs(mean) / most) }));
    }
  },

  // The end: the likeliest tokens.
  end(picture, { x, y }) {
    const { inside } = this.shown, ranked = inside.probabilities[this.written].map((chance, id) => ({ chance, token: inside.vocabulary[id] })).sort((a, b) => b.chance - a.chance);
    picture.append(svg("path", { class: "look head-0", d: `M ${x} ${y} L ${x} ${y + 16}`, "stroke-width": 3 }), svg("text", { class: "wrote", x, y: y + 36, "text-anchor": "middle" }, shownToken(ranked[0].token)),
      svg("text", { class: "name", x, y: y + 50, "text-anchor": "middle" }, percent(ranked[0].chance)), svg("text", { class: "name", x: 4, y: y + 34 }, "writes"));
  },

  // The layer that was chosen, in full.
  open() {
    const { inside } = this.shown, row = this.rows().find(({ name }) => name === this.opened), from = inside.tokens.indexOf("\n") + this.written;
    if (!row) return $("flow-open").replaceChildren(make("p", { className: "hint", textContent: "Choose a layer: where each head looks, and all numbers of its strip." }));
    const parts = [make("h4", { textContent: row.name })];
    row.heads?.forEach((head, h) => {
      const seen = head[from].map((weight, j) => ({ weight, token: shownToken(inside.tokens[j]) })).filter(({ weight }) => weight >= 0.01).sort((a, b) => b.weight - a.weight);
      parts.push(make("p", { textContent: `Head ${h + 1}: ${seen.map(({ weight, token }) => `${token} ${Math.round(100 * weight)} %`).join(", ")}` }));
    });
    if (row.strip) {
      const size = row.strip.shape.at(-1), values = [...row.strip.data.slice(from * size, (from + 1) * size)], most = Math.max(...values.map(Math.abs));
      const bars = svg("svg", { viewBox: `0 0 ${size * 5} 80`, role: "img", "aria-label": `The ${size} numbers of this strip, from ${Math.min(...values).toFixed(1)} to ${Math.max(...values).toFixed(1)}` });
      values.forEach((value, i) => bars.append(svg("rect", { class: value < 0 ? "minus" : "plus", x: i * 5, y: value < 0 ? 40 : 40 - 38 * value / most, width: 4, height: Math.max(0.5, 38 * Math.abs(value) / most) })));
      parts.push(make("p", { className: "hint", textContent: `Its ${size} numbers at the token being written, computed in this browser:` }), bars);
    } else parts.push(make("p", { className: "hint", textContent: "The numbers of this strip need the network's weights, which are not in this page." }));
    return $("flow-open").replaceChildren(...parts);
  },

  // One written token after the other.
  run() {
    clearInterval(this.timer);
    this.choose(0);
    this.timer = setInterval(() => {
      if (!this.shown || this.written >= this.shown.inside.text.length - 1) return clearInterval(this.timer);
      return this.choose(this.written + 1);
    }, 900);
  },
};

new IntersectionObserver(([entry]) => { flow.near = entry.isIntersecting; flow.draw(); flow.fill(); }, { rootMargin: "300px" }).observe($("flow"));
