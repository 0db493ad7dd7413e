"use strict";
// The activations of one prompt as a picture: a row per token, a cell per number; attention as token by token.

const HOOKS = { // the last part of a hook point's name, in words
  "embed.hook_out": "tokens, embedded", "pos_embed.hook_out": "positions", hook_resid_pre: "what enters", "attn.hook_in": "read by attention",
  "attn.hook_q": "queries", "attn.hook_k": "keys", "attn.hook_v": "values", "attn.hook_attn_scores": "scores", "attn.hook_pattern": "attention",
  "attn.hook_z": "mixed values", "attn.hook_out": "what attention adds", hook_resid_mid: "after attention", "mlp.hook_in": "read by the hidden units",
  "mlp.hook_pre": "hidden units before GELU", "mlp.hook_post": "hidden units", "mlp.hook_out": "what the hidden units add", hook_resid_post: "what leaves",
  "ln_final.hook_out": "at the end, normed", "unembed.hook_out": "logits",
};

function hookWords(name) {
  const [, block, rest] = /^(?:blocks\.(\d+)\.)?(.*)$/.exec(name);
  return block === undefined ? HOOKS[rest] : `block ${Number(block) + 1}: ${HOOKS[rest]}`;
}

// Blocks of rows by columns: [{ label, rows, columns, data, at(row, column) }].
function panels(name, { shape, data }, vocabulary, tokens) {
  const shown = tokens.map(shownToken);
  if (/scores$|pattern$/.test(name)) {
    const [heads, rows, columns] = shape;
    return Array.from({ length: heads }, (_, h) => ({
      label: `head ${h + 1}`, rows: shown, columns: shown, value: (r, c) => data[(h * rows + r) * columns + c],
    }));
  }
  const [, ...rest] = shape, size = rest.reduce((a, b) => a * b, 1);
  const heads = rest.length > 1 ? rest[0] : 1, each = size / heads;
  const names = name === "unembed.hook_out" ? vocabulary.map(shownToken) : Array.from({ length: each }, (_, i) => `${i}`);
  return Array.from({ length: heads }, (_, h) => ({
    label: rest.length > 1 ? `head ${h + 1}` : "", rows: shown, columns: names, value: (r, c) => data[r * size + h * each + c],
  }));
}

const figure3 = (value) => (Number.isFinite(value) ? value.toPrecision(3) : value === -Infinity ? "−∞ (may not look)" : "not a number");

// Negative numbers to one side of the paper's colour, positive ones to the other; the largest has the full colour.
function signed() {
  const style = getComputedStyle(document.documentElement);
  const parts = (name) => [1, 3, 5].map((i) => parseInt(style.getPropertyValue(name).trim().slice(i, i + 2), 16));
  const zero = parts("--card"), plus = parts("--high"), minus = parts("--minus");
  return (share) => {
    const end = share < 0 ? minus : plus, part = Math.min(1, Math.abs(share));
    return `rgb(${zero.map((from, i) => Math.round(from + (end[i] - from) * part)).join(" ")})`;
  };
}

function drawActivations(place, name, activation, vocabulary, tokens) {
  const ink = signed(), most = activation.data.reduce((most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), 1e-12);
  place.replaceChildren(...panels(name, activation, vocabulary, tokens).map(({ label, rows, columns, value }) => {
    const wide = Math.max(2.2, Math.min(22, 560 / columns.length)), high = 18, edge = 20, top = columns.length > 40 ? 2 : 16;
    const picture = svg("svg", { viewBox: `0 0 ${edge + wide * columns.length} ${top + high * rows.length}`, role: "img", class: "activation" });
    picture.style.maxWidth = `${Math.max(180, edge + wide * columns.length) * 1.25}px`;
    rows.forEach((row, r) => {
      picture.append(svg("text", { x: 8, y: top + (r + 0.72) * high, "text-anchor": "middle" }, row));
      columns.forEach((column, c) => {
        const spot = svg("rect", { x: edge + c * wide, y: top + r * high, width: Math.max(1, wide - 0.6), height: high - 1, fill: ink(value(r, c) / most) });
        spot.append(svg("title", {}, `${row}, ${column}: ${figure3(value(r, c))}`));
        picture.append(spot);
      });
    });
    if (top > 2) columns.forEach((column, c) => picture.append(svg("text", { x: edge + (c + 0.5) * wide, y: 11, "text-anchor": "middle" }, column)));
    picture.setAttribute("aria-label", `${hookWords(name)}${label && `, ${label}`}: ${rows.length} tokens by ${columns.length} numbers, at most ${figure3(most)} in size`);
    return make("figure", {}, picture, make("figcaption", { textContent: label }));
  }));
}
