"use strict";
// Four pictures of the 59-parameter network at one prompt, drawn from its weights as they are now: its tokens as points,
// attention at work, the line that three hidden units bend, and the point that is furthest in the result's direction.

const SmallestPictures = (() => {
  const DIGIT = /^[0-9]$/;

  // A plot of the rectangle from (left, bottom) to (right, top), as wide as `width`.
  class Plot {
    constructor({ left, right, bottom, top, width = 460, height = 250, label }) {
      Object.assign(this, { left, right, bottom, top, width, height });
      this.svg = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, class: "plane" });
    }

    x = (value) => ((value - this.left) / (this.right - this.left)) * this.width;
    y = (value) => ((this.top - value) / (this.top - this.bottom)) * this.height;
    add(tag, attributes, text) { const made = svg(tag, attributes, text); this.svg.append(made); return made; }
    dot = ([x, y], kind, r = 4) => this.add("circle", { cx: this.x(x), cy: this.y(y), r, class: kind });
    name = ([x, y], text, kind = "", up = 9) => this.add("text", { x: this.x(x), y: this.y(y) - up, "text-anchor": "middle", class: kind }, text);
    line = ([x1, y1], [x2, y2], kind, width = 1) => this.add("line", { x1: this.x(x1), y1: this.y(y1), x2: this.x(x2), y2: this.y(y2), class: kind, "stroke-width": width });
  }

  const pair = (array, i) => [array[2 * i], array[2 * i + 1]];
  const plus = ([a, b], [c, d]) => [a + c, b + d];

  // Everything about one written token: what it read, how it looked, where that led.
  function stateOf(forward, prompt, written) {
    const { activations, tokens } = forward.run(`${prompt}\n${written}`), last = tokens.length - 1;
    const at = (name) => { const { shape, data } = activations[name], size = data.length / shape[0]; return [...data.slice(last * size, (last + 1) * size)]; };
    const pattern = activations["blocks.0.attn.hook_pattern"], weights = [...pattern.data.slice(last * tokens.length, (last + 1) * tokens.length)];
    const points = tokens.map((_, i) => plus(pair(activations["embed.hook_out"].data, i), pair(activations["pos_embed.hook_out"].data, i)));
    const middle = points.reduce((sum, point, i) => plus(sum, point.map((value) => value * weights[i])), [0, 0]);
    const logits = at("unembed.hook_out"), best = logits.indexOf(Math.max(...logits));
    return { tokens, weights, points, middle, mid: at("blocks.0.hook_resid_mid"), units: at("blocks.0.mlp.hook_post"), result: at("blocks.0.hook_resid_post"), logits, best };
  }

  // --- 1: tokens are points --------------------------------------------------------------------------------------

  function drawPoints(forward, { tokens }) {
    const where = forward.weights["token_embedding.weight"], names = forward.vocabulary;
    const plot = new Plot({ left: -24, right: 22, bottom: -31, top: 8, label: "All 14 tokens as points in the plane; the ten digits lie on a line" });
    names.forEach((token, i) => { if (i && DIGIT.test(token) && DIGIT.test(names[i - 1])) plot.line(pair(where, i - 1), pair(where, i), "thread"); });
    names.forEach((token, i) => {
      const read = tokens.includes(token);
      plot.dot(pair(where, i), `${DIGIT.test(token) ? "digit" : "other"}${read ? " read" : ""}`, read ? 6 : 4);
      plot.name(pair(where, i), shownToken(token), read ? "read" : "");
    });
    return plot.svg;
  }

  // --- 2: attention pulls to the midpoint ------------------------------------------------------------------------

  function drawAttention({ tokens, weights, points, middle }) {
    const seen = points.filter((_, i) => weights[i] > 0.02 || i < tokens.length);
    const [xs, ys] = [0, 1].map((axis) => seen.map((point) => point[axis]).concat(middle[axis]));
    const room = (values, least) => { const low = Math.min(...values), high = Math.max(...values), out = Math.max(0.12 * (high - low), least); return [low - out, high + out]; };
    const [left, right] = room(xs, 6), [bottom, top] = room(ys, 5);
    const looked = tokens.map((token, i) => [weights[i], shownToken(token)]).filter(([weight]) => weight > 0.05).sort(([a], [b]) => b - a);
    const plot = new Plot({ left, right, bottom, top, label: `It looks at ${looked.map(([weight, token]) => `${token} (${Math.round(100 * weight)} %)`).join(", ")}` });
    points.forEach((point, i) => { if (weights[i] > 0.004) plot.line(point, middle, "pull", 1 + 7 * weights[i]); });
    const spots = new Map(); // tokens at the same spot share a label
    points.forEach((point, i) => {
      plot.dot(point, weights[i] > 0.05 ? "digit read" : "other", 3 + 9 * Math.sqrt(weights[i]));
      const spot = point.map((value) => value.toFixed(1)).join();
      spots.set(spot, { point, weight: (spots.get(spot)?.weight ?? 0) + weights[i], text: [...(spots.get(spot)?.text ?? []), shownToken(tokens[i])] });
    });
    for (const { point, weight, text } of spots.values()) plot.name(point, weight > 0.05 ? `${text.join(" ")} (${Math.round(100 * weight)} %)` : text.join(" "), weight > 0.05 ? "read" : "", 14);
    plot.dot(middle, "middle", 6);
    return plot.svg;
  }

  // --- 3: the line, and what is written along it -----------------------------------------------------------------

  // What the feed-forward network makes of a point, and the token that is furthest in that direction.
  function bend(forward, point) {
    const w = forward.weights, lean = w["layers.0.feed_forward.0.weight"], bias = w["layers.0.feed_forward.0.bias"], push = w["layers.0.feed_forward.2.weight"];
    const units = [0, 1, 2].map((i) => Forward.gelu(lean[2 * i] * point[0] + lean[2 * i + 1] * point[1] + bias[i]));
    const result = point.map((value, d) => value + units.reduce((sum, unit, i) => sum + push[3 * d + i] * unit, 0));
    const tokens = w["token_embedding.weight"], reach = forward.vocabulary.map((_, i) => tokens[2 * i] * result[0] + tokens[2 * i + 1] * result[1]);
    return { units, token: forward.vocabulary[reach.indexOf(Math.max(...reach))] };
  }

  function drawLine(forward, { mid }, written) {
    const ends = ["0C00", "9C99"].map((prompt) => stateOf(forward, prompt, written).mid), count = 400;
    const along = (t) => ends[0].map((value, d) => value + t * (ends[1][d] - value));
    const walked = Array.from({ length: count + 1 }, (_, i) => ({ t: -0.06 + (1.15 * i) / count })).map(({ t }) => ({ t, ...bend(forward, along(t)) }));
    const plot = new Plot({ left: -0.06, right: 1.09, bottom: 0, top: 1, label: "" });
    const told = [];
    for (let i = 0, begin = 0; i <= count; i++) {
      if (i < count && walked[i + 1].token === walked[i].token) continue;
      const { token } = walked[i], from = walked[begin].t, to = walked[Math.min(count, i + 1)].t;
      plot.add("rect", { x: plot.x(from), y: 0, width: plot.x(to) - plot.x(from), height: 46, class: told.length % 2 ? "stretch odd" : "stretch" });
      if (plot.x(to) - plot.x(from) > 12) plot.add("text", { x: (plot.x(from) + plot.x(to)) / 2, y: 29, "text-anchor": "middle", class: "read" }, shownToken(token));
      told.push(shownToken(token));
      begin = i + 1;
    }
    [0, 1, 2].forEach((unit) => {
      const high = Math.max(1e-9, ...walked.map(({ units }) => Math.abs(units[unit]))), middle = 88 + 62 * unit;
      plot.add("line", { x1: 0, x2: plot.width, y1: middle + 20, y2: middle + 20, class: "thread" });
      plot.add("path", { d: walked.map(({ t, units }, i) => `${i ? "L" : "M"}${plot.x(t).toFixed(1)} ${(middle + 20 - 36 * (units[unit] / high)).toFixed(1)}`).join(""), class: "unit" });
      plot.add("text", { x: 4, y: middle - 16 }, `unit ${unit + 1}`);
    });
    const [dx, dy] = [ends[1][0] - ends[0][0], ends[1][1] - ends[0][1]];
    const t = ((mid[0] - ends[0][0]) * dx + (mid[1] - ends[0][1]) * dy) / (dx * dx + dy * dy || 1), at = Math.min(1.08, Math.max(-0.05, t));
    plot.add("line", { x1: plot.x(at), x2: plot.x(at), y1: 0, y2: plot.height, class: "here" });
    plot.svg.setAttribute("aria-label", `Along the line it writes ${told.join(", ")}; this question is ${Math.round(100 * t)} % of the way from 0 + 0 to 9 + 9`);
    return plot.svg;
  }

  // --- 4: the furthest point wins --------------------------------------------------------------------------------

  function drawArc(forward, { result, best, logits }) {
    const where = forward.weights["token_embedding.weight"], names = forward.vocabulary, chosen = names[best];
    const shown = names.map((token, i) => i).filter((i) => DIGIT.test(names[i]) || names[i] === "S");
    const [xs, ys] = [0, 1].map((axis) => shown.map((i) => where[2 * i + axis]));
    const tall = Math.max(0.4, Math.max(...ys) - Math.min(...ys));
    const plot = new Plot({ left: Math.min(...xs) - 3, right: Math.max(...xs) + 3, bottom: Math.min(...ys) - 0.15 * tall, top: Math.max(...ys) + 0.35 * tall,
      label: `${shownToken(chosen)} reaches furthest in the direction of the result` });
    // Every point of this line reaches as far as the winner.
    const size = Math.hypot(...result) || 1, [x, y] = pair(where, best), [dx, dy] = [-result[1] / size, result[0] / size];
    plot.line([x - 99 * dx, y - 99 * dy], [x + 99 * dx, y + 99 * dy], "front", 2);
    shown.slice(1).forEach((i, n) => plot.line(pair(where, shown[n]), pair(where, i), "thread"));
    for (const i of shown) {
      plot.dot(pair(where, i), i === best ? "winner" : DIGIT.test(names[i]) ? "digit" : "other", i === best ? 8 : 4);
      plot.name(pair(where, i), shownToken(names[i]), i === best ? "read" : "", i === best ? 13 : 9);
    }
    return plot.svg;
  }

  return { stateOf, drawPoints, drawAttention, drawLine, drawArc };
})();
