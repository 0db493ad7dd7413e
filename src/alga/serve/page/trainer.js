"use strict";
// Training in the browser: gradients of the network of forward.js by hand, Adam, and small tasks to learn.
//
// For networks with all norms and biases and a map to the vocabulary of their own, as in the recipe `small`.
// tests/serve/test_train_here.py holds the gradients equal to torch's.

const Trainer = (() => {
  const MARGIN = 3; // logits: the least lead at which a training ends

  // --- what to learn ---------------------------------------------------------------------------------------------

  // A task whose step reads what was written before (null at first) and a column, and writes one symbol.
  function taskOf(name, symbols, columns, step) {
    const contexts = [null, ...new Set(columns.map((column) => step(null, column)))];
    for (const context of contexts.slice(1)) for (const column of columns) if (!contexts.includes(step(context, column))) contexts.push(step(context, column));
    contexts.splice(1, contexts.length, ...[...symbols].filter((symbol) => contexts.includes(symbol)));
    const prompts = [], outputs = [], places = [];
    contexts.forEach((context, row) => columns.forEach((column, place) => {
      prompts.push(context === null ? column : `${context}C${column}`);
      outputs.push(step(context, column));
      places.push(row * columns.length + place);
    }));
    return { model: name, task: name, contexts, columns, prompts, outputs, places, vocabulary: ["P", "S", ...symbols, "\n", "C"] };
  }

  const pairs = (digits) => [...digits].flatMap((a) => [...digits].map((b) => a + b));
  const tasks = {
    parity: () => taskOf("parity", "01", ["0", "1"], (before, column) => `${(before ?? 0) ^ column}`),
    comparison: (digits = "0123") => taskOf("comparison", `${digits}<=>`, pairs(digits), (before, [a, b]) => (a === b ? before ?? "=" : a < b ? "<" : ">")),
    // Eight answers, of which the visitor chooses each: by the bit before (0 at first) and two bits.
    rule: (table) => taskOf("your rule", "01", pairs("01"), (before, [a, b]) => table[4 * (before ?? 0) + 2 * a + 1 * b]),
  };

  // --- first weights ---------------------------------------------------------------------------------------------

  function random(seed) { // mulberry32: the same numbers for the same seed in every browser
    let state = seed >>> 0;
    const uniform = () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
    };
    return { uniform, normal: () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()) };
  }

  function shapeOf(task, { width = 16, heads = 2, layers = 1, hidden = 32 } = {}) {
    const input_length = Math.max(...task.prompts.map((prompt) => prompt.length)), output_length = 1 + Math.max(...task.outputs.map((output) => output.length));
    const shape = { vocabulary: task.vocabulary.length, input_length, output_length, width, heads, layers, hidden, tied: false, norms: "all", biases: "all", query_width: 0, shared_keys: false, out: true, positions: "" };
    const norm = (name) => ({ [`${name}.weight`]: [width], [`${name}.bias`]: [width] }), linear = (name, from, to) => ({ [`${name}.weight`]: [to, from], [`${name}.bias`]: [to] });
    const tensors = { "token_embedding.weight": [shape.vocabulary, width], "position_embedding.weight": [input_length + output_length, width] };
    for (let i = 0; i < layers; i++) {
      const layer = `layers.${i}`;
      Object.assign(tensors, norm(`${layer}.attention_norm`), linear(`${layer}.attention.project_in`, width, 3 * width), linear(`${layer}.attention.project_out`, width, width),
        norm(`${layer}.feed_forward_norm`), linear(`${layer}.feed_forward.0`, width, hidden), linear(`${layer}.feed_forward.2`, hidden, width));
    }
    Object.assign(tensors, norm("final_norm"), { "head.weight": [shape.vocabulary, width] });
    return { ...task, shape, tensors, parameters: Object.values(tensors).reduce((sum, size) => sum + size.reduce((a, b) => a * b, 1), 0) };
  }

  function firstWeights({ tensors }, seed) {
    const { uniform, normal } = random(seed);
    return Object.fromEntries(Object.entries(tensors).map(([name, size]) => {
      const array = new Float32Array(size.reduce((a, b) => a * b, 1)), bound = 1 / Math.sqrt(size.at(-1));
      if (name.includes("embedding")) return [name, array.map((_, i) => (name.startsWith("token") && i < size[1] ? 0 : 0.3 * normal()))]; // padding is zero
      if (name.includes("norm")) return [name, array.fill(name.endsWith("weight") ? 1 : 0)];
      return [name, name.endsWith("bias") ? array : array.map(() => bound * (2 * uniform() - 1))];
    }));
  }

  // --- gradients -------------------------------------------------------------------------------------------------

  // Adds to the gradients of a linear map, and returns the gradient of what it read.
  function throughLinear(dy, x, rows, inputs, outputs, weight, dWeight, dBias) {
    const dx = new Float64Array(rows * inputs);
    for (let r = 0; r < rows; r++) for (let o = 0; o < outputs; o++) {
      const d = dy[r * outputs + o];
      if (d === 0) continue;
      if (dBias) dBias[o] += d;
      for (let i = 0, at = o * inputs; i < inputs; i++, at++) { dWeight[at] += d * x[r * inputs + i]; dx[r * inputs + i] += d * weight[at]; }
    }
    return dx;
  }

  function throughNorm(dy, x, rows, width, weight, dWeight, dBias) {
    const dx = new Float64Array(rows * width);
    for (let from = 0; from < rows * width; from += width) {
      let mean = 0, variance = 0, sum = 0, along = 0;
      for (let d = 0; d < width; d++) mean += x[from + d] / width;
      for (let d = 0; d < width; d++) variance += (x[from + d] - mean) ** 2 / width;
      const scale = 1 / Math.sqrt(variance + 1e-5), normed = (d) => (x[from + d] - mean) * scale;
      for (let d = 0; d < width; d++) {
        dWeight[d] += dy[from + d] * normed(d);
        dBias[d] += dy[from + d];
        sum += (dy[from + d] * weight[d]) / width;
        along += (dy[from + d] * weight[d] * normed(d)) / width;
      }
      for (let d = 0; d < width; d++) dx[from + d] = scale * (dy[from + d] * weight[d] - sum - normed(d) * along);
    }
    return dx;
  }

  const gelled = (x) => 0.5 * (1 + Forward.erf(x * Math.SQRT1_2)) + (x * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI); // GELU's slope

  // From the gradient of what attention adds to that of what it read.
  function throughAttention(dy, kept, L, shape, w, g, i) {
    const { width: D, heads: H } = shape, E = D / H, layer = `layers.${i}.attention`, block = `blocks.${i}.attn`, data = (name) => kept[`${block}.${name}`].data;
    const dz = throughLinear(dy, data("hook_z"), L, D, D, w[`${layer}.project_out.weight`], g[`${layer}.project_out.weight`], g[`${layer}.project_out.bias`]);
    const [q, k, v, pattern] = ["hook_q", "hook_k", "hook_v", "hook_pattern"].map(data), dMapped = new Float64Array(L * 3 * D), dPattern = new Float64Array(L);
    for (let h = 0; h < H; h++) for (let r = 0; r < L; r++) {
      const row = (h * L + r) * L;
      let total = 0;
      for (let l = 0; l < L; l++) {
        let d = 0;
        for (let e = 0; e < E; e++) {
          d += dz[r * D + h * E + e] * v[l * D + h * E + e];
          dMapped[l * 3 * D + 2 * D + h * E + e] += pattern[row + l] * dz[r * D + h * E + e];
        }
        dPattern[l] = d;
        total += d * pattern[row + l];
      }
      for (let l = 0; l < L; l++) {
        const dScore = (pattern[row + l] * (dPattern[l] - total)) / Math.sqrt(E);
        for (let e = 0; e < E; e++) {
          dMapped[r * 3 * D + h * E + e] += dScore * k[l * D + h * E + e];
          dMapped[l * 3 * D + D + h * E + e] += dScore * q[r * D + h * E + e];
        }
      }
    }
    return throughLinear(dMapped, data("hook_in"), L, D, 3 * D, w[`${layer}.project_in.weight`], g[`${layer}.project_in.weight`], g[`${layer}.project_in.bias`]);
  }

  // Adds the gradient of the summed cross-entropy of one prompt's right output; returns that sum and the number of tokens.
  function addGradient(forward, g, prompt, output) {
    const { shape, weights: w, vocabulary } = forward, { width: D, hidden, vocabulary: V, layers, input_length } = shape;
    const { activations: kept, logits } = forward.run(`${prompt}\n${output}`), ids = forward.encode(`${prompt}\n${output}`), L = ids.length;
    const targets = [...output, vocabulary[Forward.STOP]].map((token) => forward.ids.get(token)), dLogits = new Float64Array(L * V);
    let loss = 0;
    targets.forEach((target, n) => {
      const at = (input_length + n) * V, row = logits.subarray(at, at + V), most = Math.max(...row), total = row.reduce((sum, logit) => sum + Math.exp(logit - most), 0);
      for (let id = 0; id < V; id++) dLogits[at + id] = Math.exp(row[id] - most) / total - (id === target ? 1 : 0);
      loss += Math.log(total) + most - row[target];
    });
    const data = (name) => kept[name].data, add = (a, b) => a.map((value, j) => value + b[j]);
    let dx = throughLinear(dLogits, data("ln_final.hook_out"), L, D, V, w["head.weight"], g["head.weight"], null);
    dx = throughNorm(dx, data(`blocks.${layers - 1}.hook_resid_post`), L, D, w["final_norm.weight"], g["final_norm.weight"], g["final_norm.bias"]);
    for (let i = layers - 1; i >= 0; i--) {
      const layer = `layers.${i}`, block = `blocks.${i}`, part = (name) => [w[`${layer}.${name}.weight`], g[`${layer}.${name}.weight`], g[`${layer}.${name}.bias`]];
      let d = throughLinear(dx, data(`${block}.mlp.hook_post`), L, hidden, D, ...part("feed_forward.2"));
      const before = data(`${block}.mlp.hook_pre`);
      d = d.map((value, j) => value * gelled(before[j]));
      d = throughLinear(d, data(`${block}.mlp.hook_in`), L, D, hidden, ...part("feed_forward.0"));
      dx = add(dx, throughNorm(d, data(`${block}.hook_resid_mid`), L, D, ...part("feed_forward_norm")));
      d = throughAttention(dx, kept, L, shape, w, g, i);
      dx = add(dx, throughNorm(d, data(`${block}.hook_resid_pre`), L, D, ...part("attention_norm")));
    }
    ids.forEach((id, l) => {
      for (let d = 0; d < D; d++) {
        if (id !== Forward.PAD) g["token_embedding.weight"][id * D + d] += dx[l * D + d]; // padding stays zero
        g["position_embedding.weight"][l * D + d] += dx[l * D + d];
      }
    });
    return [loss, targets.length];
  }

  // --- the training ----------------------------------------------------------------------------------------------

  class Trainer {
    constructor(description, seed = 1, weights = firstWeights(description, seed)) {
      this.description = description;
      this.forward = new Forward(description, weights);
      this.drawn = random(seed + 1);
      this.done = 0;
      const zeros = () => Object.fromEntries(Object.entries(weights).map(([name, array]) => [name, new Float64Array(array.length)]));
      [this.gradients, this.first, this.second] = [zeros(), zeros(), zeros()];
    }

    // One step of Adam on some prompts; returns their mean loss.
    step(batch = this.batch()) {
      const { forward, gradients, description, first, second } = this, rate = 0.01 * Math.min(1, ++this.done / 50) * (this.done > 400 ? 0.4 : 1);
      let loss = 0, tokens = 0;
      for (const gradient of Object.values(gradients)) gradient.fill(0);
      for (const i of batch) {
        const [more, count] = addGradient(forward, gradients, description.prompts[i], description.outputs[i]);
        loss += more;
        tokens += count;
      }
      for (const [name, gradient] of Object.entries(gradients)) {
        const weights = forward.weights[name], [mean, square] = [first[name], second[name]], [fix1, fix2] = [1 - 0.8 ** this.done, 1 - 0.99 ** this.done];
        for (let i = 0; i < gradient.length; i++) {
          const d = gradient[i] / tokens;
          mean[i] += 0.2 * (d - mean[i]);
          square[i] += 0.01 * (d * d - square[i]);
          weights[i] -= (rate * (mean[i] / fix1)) / (Math.sqrt(square[i] / fix2) + 1e-8);
        }
      }
      return loss / tokens;
    }

    batch(most = 48) {
      const all = this.description.prompts.length;
      return all <= most ? Array.from({ length: all }, (_, i) => i) : Array.from({ length: most }, () => Math.floor(this.drawn.uniform() * all));
    }

    // What it writes for every prompt, how many are wrong, and the least lead.
    check() {
      const { prompts, outputs } = this.description, found = prompts.map((prompt) => this.forward.answer(prompt));
      const wrong = found.filter(({ text }, i) => text !== `${outputs[i]}S`).length;
      return { texts: found.map(({ text }) => text), wrong, least: Math.min(...found.map(({ margin }) => margin)) };
    }
  }

  // A report every ten steps; `done` once every prompt is right with the least lead that is asked for.
  function* course(description, seed, most = 4000) {
    const trainer = new Trainer(description, seed), losses = [];
    while (trainer.done < most) {
      losses.push(trainer.step());
      if (trainer.done % 10) continue;
      const loss = losses.splice(0).reduce((sum, each) => sum + each / 10, 0), found = trainer.check();
      const done = found.wrong === 0 && found.least >= MARGIN;
      yield { step: trainer.done, loss, ...found, done, weights: trainer.forward.weights };
      if (done) return;
    }
  }

  return Object.assign(Trainer, { tasks, shapeOf, addGradient, course, MARGIN });
})();
