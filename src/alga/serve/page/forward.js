"use strict";
// A network's forward pass, as in network/model.py: in doubles, of float32 weights. Any weight may be changed.
//
// `run("15C77\n1")` returns every activation at every position, by the names of network/hook_points.py;
// `answer("15C77")` generates greedily, { text: "15S", margin }. tests/serve/test_forward.py holds both equal to torch.

const Forward = (() => {
  const PAD = 0, STOP = 1, START = "\n";

  // erf by a table of itself and its density, and a Taylor polynomial from the nearest entry: exact to 1e-12.
  const STEP = 1 / 256, LAST = 6, ENTRIES = LAST / STEP;
  const density = (x) => (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x);
  const series = (x) => { // sum of 2^n x^(2n+1) / (2n+1)!!: every term is positive
    let term = x, sum = x;
    for (let n = 1; term > 1e-18 * sum; n++) sum += term *= (2 * x * x) / (2 * n + 1);
    return density(x) * sum;
  };
  const values = Float64Array.from({ length: ENTRIES + 1 }, (_, i) => series(i * STEP));
  const slopes = Float64Array.from({ length: ENTRIES + 1 }, (_, i) => density(i * STEP));

  function erf(x) {
    if (x < 0) return -erf(-x);
    if (!(x < LAST)) return x >= LAST ? 1 : NaN;
    const i = Math.round(x / STEP), at = i * STEP, h = x - at, square = at * at;
    return values[i] + slopes[i] * h * (1 + h * (-at + h * ((2 * square - 1) / 3 + h * at * (1 - (2 / 3) * square) / 2)));
  }

  const gelu = (x) => (x * (1 + erf(x * Math.SQRT1_2))) / 2;

  // rows × inputs by the transposed matrix of a linear layer, plus its bias if it has one; four outputs at a time.
  function linear(x, rows, inputs, weight, bias, outputs) {
    const y = new Float64Array(rows * outputs);
    for (let r = 0; r < rows; r++) {
      const from = r * inputs, to = r * outputs;
      let o = 0;
      for (; o + 3 < outputs; o += 4) {
        const a = o * inputs, b = a + inputs, c = b + inputs, d = c + inputs;
        let sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
        for (let i = 0; i < inputs; i++) {
          const value = x[from + i];
          sum0 += weight[a + i] * value; sum1 += weight[b + i] * value; sum2 += weight[c + i] * value; sum3 += weight[d + i] * value;
        }
        y[to + o] = sum0; y[to + o + 1] = sum1; y[to + o + 2] = sum2; y[to + o + 3] = sum3;
      }
      for (; o < outputs; o++) for (let i = 0; i < inputs; i++) y[to + o] += weight[o * inputs + i] * x[from + i];
      if (bias) for (o = 0; o < outputs; o++) y[to + o] += bias[o];
    }
    return y;
  }

  function norm(x, rows, width, weight, bias) {
    const y = new Float64Array(x.length);
    for (let from = 0; from < rows * width; from += width) {
      let mean = 0, variance = 0;
      for (let d = 0; d < width; d++) mean += x[from + d] / width;
      for (let d = 0; d < width; d++) variance += (x[from + d] - mean) ** 2 / width;
      const scale = 1 / Math.sqrt(variance + 1e-5);
      for (let d = 0; d < width; d++) y[from + d] = (x[from + d] - mean) * scale * (weight ? weight[d] : 1) + (bias ? bias[d] : 0);
    }
    return y;
  }

  const sum = (a, b) => a.map((value, i) => value + b[i]);

  class Forward {
    // `description` is what /v1/network returns; `weights` are Float32Arrays by name, else those of the description.
    constructor(description, weights = Forward.weightsOf(description)) {
      this.description = description;
      this.weights = weights;
      this.shape = description.shape;
      this.vocabulary = description.vocabulary;
      this.ids = new Map(this.vocabulary.map((token, id) => [token, id]));
      const { positions, heads, width, query_width } = this.shape;
      this.rows = positions ? [...positions].map((row) => (row === "." ? -1 : Number(row))) : null;
      this.queryWidth = query_width || width / heads;
    }

    static weightsOf({ tensors, weights }) {
      const bytes = Uint8Array.from(atob(weights), (char) => char.charCodeAt(0)), view = new DataView(bytes.buffer);
      let at = 0;
      return Object.fromEntries(Object.entries(tensors).map(([name, shape]) => {
        const array = new Float32Array(shape.reduce((a, b) => a * b, 1));
        for (let i = 0; i < array.length; i++, at += 4) array[i] = view.getFloat32(at, true);
        return [name, array];
      }));
    }

    // The ids of a padded prompt, `\n`, and the output so far.
    encode(text) {
      const cut = text.includes(START) ? text.indexOf(START) : text.length, { input_length, output_length } = this.shape;
      const prompt = text.slice(0, cut), written = text.slice(cut + 1);
      const tokens = [...prompt], ids = [...tokens, ...written].map((token) => this.ids.get(token));
      if (!tokens.length || tokens.length > input_length || [...written].length >= output_length || ids.includes(undefined)) {
        throw new RangeError(`expected a question of 1 to ${input_length} of the tokens ${this.vocabulary.slice(2).join("").replace(START, "")}, got ${prompt}`);
      }
      const padded = [...ids.slice(0, tokens.length), ...Array(input_length - tokens.length).fill(PAD)];
      return [...padded, this.ids.get(START), ...ids.slice(tokens.length)];
    }

    // Read ids after those that the cache has read; return the logits of the last position, or of all with `kept`.
    read(ids, cache, kept = null) {
      const { width: D, layers, hidden, vocabulary: V, norms, tied, input_length } = this.shape;
      const w = this.weights, past = cache.length, L = ids.length;
      const keep = (name, data, ...shape) => { if (kept) kept[name] = { shape, data }; };
      const part = (name) => w[name] ?? null;
      const tokens = new Float64Array(L * D), places = new Float64Array(L * D);
      for (let l = 0; l < L; l++) {
        const row = this.rows ? this.rows[past + l] : past + l;
        for (let d = 0; d < D; d++) {
          tokens[l * D + d] = w["token_embedding.weight"][ids[l] * D + d];
          places[l * D + d] = row < 0 ? 0 : w["position_embedding.weight"][row * D + d];
        }
      }
      keep("embed.hook_out", tokens, L, D);
      keep("pos_embed.hook_out", places, L, D);
      let x = sum(tokens, places), Q = L;
      for (let i = 0; i < layers; i++) {
        const layer = `layers.${i}`, block = `blocks.${i}`;
        keep(`${block}.hook_resid_pre`, x, Q, D);
        const y = norms === "all" ? norm(x, L, D, w[`${layer}.attention_norm.weight`], w[`${layer}.attention_norm.bias`]) : x;
        keep(`${block}.attn.hook_in`, y, L, D);
        if (i === layers - 1 && !kept) { Q = 1; x = x.slice((L - 1) * D); } // nothing else is read from the last layer
        const added = this.attend(y, L, Q, past, cache, i, keep);
        keep(`${block}.attn.hook_out`, added, Q, D);
        x = sum(x, added);
        keep(`${block}.hook_resid_mid`, x, Q, D);
        const z = norms === "none" ? x : norm(x, Q, D, part(`${layer}.feed_forward_norm.weight`), part(`${layer}.feed_forward_norm.bias`));
        keep(`${block}.mlp.hook_in`, z, Q, D);
        const before = linear(z, Q, D, w[`${layer}.feed_forward.0.weight`], w[`${layer}.feed_forward.0.bias`], hidden);
        keep(`${block}.mlp.hook_pre`, before, Q, hidden);
        const after = before.map(gelu);
        keep(`${block}.mlp.hook_post`, after, Q, hidden);
        const pushed = linear(after, Q, hidden, w[`${layer}.feed_forward.2.weight`], part(`${layer}.feed_forward.2.bias`), D);
        keep(`${block}.mlp.hook_out`, pushed, Q, D);
        x = sum(x, pushed);
        keep(`${block}.hook_resid_post`, x, Q, D);
      }
      cache.length += L;
      const end = norms === "all" ? norm(x, Q, D, w["final_norm.weight"], w["final_norm.bias"]) : x;
      keep("ln_final.hook_out", end, Q, D);
      const logits = linear(end, Q, D, w[tied ? "token_embedding.weight" : "head.weight"], null, V);
      keep("unembed.hook_out", logits, Q, V);
      return logits;
    }

    // What attention adds at the last Q of L new positions; keys and values of all of them go into the cache.
    attend(y, L, Q, past, cache, i, keep) {
      const { width: D, heads: H, shared_keys, out, input_length } = this.shape, w = this.weights, E = this.queryWidth, F = D / H;
      const layer = `layers.${i}.attention`, block = `blocks.${i}.attn`, all = past + L;
      const queries = H * E, each = queries * (shared_keys ? 1 : 2) + D, keysAt = shared_keys ? 0 : queries;
      const mapped = linear(y, L, D, w[`${layer}.project_in.weight`], w[`${layer}.project_in.bias`] ?? null, each);
      const cut = (at, size) => { // a part of each row
        const found = new Float64Array(L * size);
        for (let l = 0; l < L; l++) found.set(mapped.subarray(l * each + at, l * each + at + size), l * size);
        return found;
      };
      keep(`${block}.hook_q`, cut(0, queries), L, H, E);
      const joined = (before, now) => { if (!before) return now; const both = new Float64Array(before.length + now.length); both.set(before); both.set(now, before.length); return both; };
      const kept = cache.layers[i] ?? {};
      const keys = joined(kept.keys, cut(keysAt, queries)), values = joined(kept.values, cut(each - D, D));
      cache.layers[i] = { keys, values };
      keep(`${block}.hook_k`, keys, L, H, E);
      keep(`${block}.hook_v`, values, L, H, F);
      const scores = new Float64Array(H * Q * all).fill(-Infinity), pattern = new Float64Array(H * Q * all), mixed = new Float64Array(Q * D);
      for (let h = 0; h < H; h++) for (let q = 0; q < Q; q++) {
        const row = L - Q + q, sees = Math.max(input_length + 1, past + row + 1), at = (h * Q + q) * all;
        let most = -Infinity, total = 0;
        for (let l = 0; l < Math.min(sees, all); l++) {
          let score = 0;
          for (let e = 0; e < E; e++) score += mapped[row * each + h * E + e] * keys[l * queries + h * E + e];
          scores[at + l] = score /= Math.sqrt(E);
          if (score > most || score !== score) most = score;
        }
        for (let l = 0; l < all; l++) total += pattern[at + l] = Math.exp(scores[at + l] - most);
        for (let l = 0; l < all; l++) {
          pattern[at + l] /= total;
          for (let f = 0; f < F; f++) mixed[q * D + h * F + f] += pattern[at + l] * values[l * D + h * F + f];
        }
      }
      keep(`${block}.hook_attn_scores`, scores, H, Q, all);
      keep(`${block}.hook_pattern`, pattern, H, Q, all);
      keep(`${block}.hook_z`, mixed, Q, H, F);
      return out ? linear(mixed, Q, D, w[`${layer}.project_out.weight`], w[`${layer}.project_out.bias`] ?? null, D) : mixed;
    }

    run(text) {
      const activations = {}, ids = this.encode(text);
      const logits = this.read(ids, { length: 0, layers: [] }, activations);
      return { logits, activations, tokens: ids.map((id) => this.vocabulary[id]) };
    }

    // The margin is the least lead of a written token over the runner-up; NaN if a logit is not finite.
    answer(prompt) {
      const cache = { length: 0, layers: [] };
      let ids = this.encode(prompt), text = "", margin = Infinity;
      for (let i = 0; i < this.shape.output_length; i++) {
        const logits = this.read(ids, cache);
        let best = 0;
        for (let id = 1; id < logits.length; id++) if (logits[id] > logits[best]) best = id;
        let second = -Infinity;
        logits.forEach((logit, id) => {
          if (id !== best) second = Math.max(second, logit);
          if (!Number.isFinite(logit)) margin = NaN;
        });
        margin = Math.min(margin, logits[best] - second);
        text += this.vocabulary[best];
        if (best === STOP) break;
        ids = [best];
      }
      return { text, margin };
    }
  }

  return Object.assign(Forward, { erf, gelu, START, STOP, PAD });
})();
