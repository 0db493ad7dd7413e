"""The network in numpy, in any precision, with random summation orders and randomly chosen algorithms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from alga.network.config import ModelConfig

Array = np.ndarray[Any, Any]


class Sloppy:
    """Evaluates a network as some machine might: summation orders, norm and softmax algorithms are random."""

    def __init__(self, shape: ModelConfig, weights: dict[str, Array], dtype: type, rng: np.random.Generator) -> None:
        self.shape, self.dtype, self.rng = shape, dtype, rng
        self.w = {name: tensor.astype(dtype) for name, tensor in weights.items()}

    def sum(self, terms: Array) -> Array:
        """Sum the last axis in a random order: sequentially, pairwise, or in blocks."""
        terms = terms[..., self.rng.permutation(terms.shape[-1])]
        way = self.rng.integers(3)
        if way == 0:
            return np.add.accumulate(terms, axis=-1)[..., -1]
        if way == 1:
            return terms.sum(axis=-1)
        cut = int(self.rng.integers(terms.shape[-1] + 1))
        return terms[..., :cut].sum(axis=-1) + np.add.accumulate(terms[..., cut:], axis=-1)[..., -1:].sum(axis=-1)

    def linear(self, x: Array, name: str, plus: Array | None = None) -> Array:
        """Return a linear map of `x`, possibly summed together with the term it is added to."""
        matrix = self.w[f"{name}.weight"]
        bias = self.w.get(f"{name}.bias", np.zeros(len(matrix), self.dtype))
        terms = [x[..., None, :] * matrix, np.broadcast_to(bias, (*x.shape[:-1], len(bias)))[..., None]]
        if plus is not None and self.rng.integers(2):
            return self.sum(np.concatenate([*terms, plus[..., None]], axis=-1))
        done = self.sum(np.concatenate(terms, axis=-1))
        return done if plus is None else plus + done

    def moments(self, x: Array) -> tuple[Array, Array]:
        """Return mean and variance by a random algorithm that the proof covers."""
        n, one = x.shape[-1], self.dtype(1)
        way = self.rng.integers(4)
        if way < 2:
            mean = self.sum(x) / self.dtype(n)
            if way == 0:
                return mean, self.sum((x - mean[..., None]) ** 2) / self.dtype(n)
            return mean, np.maximum(self.sum(x * x) / self.dtype(n) - mean * mean, self.dtype(0))
        x = x[..., self.rng.permutation(n)]
        lanes = 1 if way == 2 else int(self.rng.choice([w for w in (1, 2, 4, 8) if n % w == 0]))
        parts = []
        for lane in np.split(x, lanes, axis=-1):  # Welford's updates
            mean, total = lane[..., 0], np.zeros_like(lane[..., 0])
            for k in range(1, lane.shape[-1]):
                step = lane[..., k] - mean
                mean = mean + step * (one / self.dtype(k + 1))
                total = total + step * (lane[..., k] - mean)
            parts.append((self.dtype(n // lanes), mean, total))
        size, mean, total = parts[0]
        for more, other, square in parts[1:]:  # merged, the smaller into the larger
            step, share = other - mean, more / (size + more)
            mean, total = mean + share * step, total + (square + step * step * share * size)
            size = size + more
        return mean, total / self.dtype(n)

    def norm(self, x: Array, name: str, there: bool) -> Array:
        """Return a LayerNorm, scaled and shifted in one of two ways."""
        if not there:
            return x
        gain = self.w.get(f"{name}.weight", np.ones(x.shape[-1], self.dtype))
        shift = self.w.get(f"{name}.bias", np.zeros(x.shape[-1], self.dtype))
        mean, variance = self.moments(x)
        inverse = (self.dtype(1) / np.sqrt(variance + self.dtype(1e-5)))[..., None]
        if self.rng.integers(2):
            return (x - mean[..., None]) * inverse * gain + shift
        return (x * inverse + -mean[..., None] * inverse) * gain + shift

    def attention(self, x: Array, y: Array, name: str, hidden: Array, skip: int) -> Array:
        """Return `x` plus its attention; scores are scaled before or after, the softmax is plain or online."""
        shape, (B, L, D) = self.shape, y.shape
        width = shape.query_width or D // shape.heads
        whole = self.linear(y, f"{name}.project_in")
        q = whole[..., : shape.heads * width].reshape(B, L, shape.heads, width)[:, skip:]
        k = q if shape.shared_keys else whole[..., shape.heads * width : -D].reshape(B, L, shape.heads, width)
        v = whole[..., -D:].reshape(B, L, shape.heads, D // shape.heads)
        root = self.dtype(math.sqrt(width))
        if self.rng.integers(2):
            scores = self.sum((q / root)[:, :, None] * k[:, None])
        else:
            scores = self.sum(q[:, :, None] * k[:, None]) / root
        scores = np.where(hidden[None, :, :, None], self.dtype(-np.inf), scores)  # B Q L H
        if self.rng.integers(2):
            grown = np.exp(scores - scores.max(axis=2, keepdims=True))
            weights = grown / self.sum(grown.swapaxes(2, 3))[:, :, None]
            mixed = self.sum((weights[..., None] * v[:, None]).transpose(0, 1, 3, 4, 2))
        else:
            top = np.full(scores[:, :, 0].shape, -np.inf, self.dtype)
            total, mixed = np.zeros_like(top), np.zeros((*top.shape, v.shape[-1]), self.dtype)
            for j in self.rng.permutation(L):
                with np.errstate(invalid="ignore"):  # nothing seen yet: infinity minus itself
                    higher = np.maximum(top, scores[:, :, j])
                    shrink = np.where(top == -np.inf, self.dtype(0), np.exp(top - higher))
                    grow = np.where(scores[:, :, j] == -np.inf, self.dtype(0), np.exp(scores[:, :, j] - higher))
                top, total = higher, total * shrink + grow
                mixed = mixed * shrink[..., None] + grow[..., None] * v[:, None, j]
            mixed = mixed / total[..., None]
        mixed = mixed.reshape(B, -1, D)
        return self.linear(mixed, f"{name}.project_out", x) if shape.out else x + mixed

    def gelu(self, h: Array) -> Array:
        """Return GELU with erf rounded to the current precision."""
        import torch

        erf = torch.erf(torch.from_numpy((h * self.dtype(math.sqrt(0.5))).astype(np.float64))).numpy()
        return self.dtype(0.5) * h * (self.dtype(1) + erf.astype(self.dtype))

    def logits(self, ids: Array) -> Array:
        """Return the logits from the start token on."""
        shape, L = self.shape, ids.shape[1]
        hidden = np.triu(np.ones((L, L), dtype=bool), 1)
        hidden[:, : shape.input_length + 1] = False
        rows = self.w["position_embedding.weight"]
        places = [*shape.positions] or [str(i) for i in range(L)]
        positions = np.array([np.zeros(shape.width) if p == "." else rows[int(p)] for p in places[:L]], self.dtype)
        x = self.w["token_embedding.weight"][ids] + positions
        for i in range(shape.layers):
            layer, skip = f"layers.{i}", shape.input_length if i == shape.layers - 1 else 0
            y = self.norm(x, f"{layer}.attention_norm", shape.norms == "all")
            x = self.attention(x[:, skip:], y, f"{layer}.attention", hidden[skip:], skip)
            y = self.norm(x, f"{layer}.feed_forward_norm", shape.norms != "none")
            x = self.linear(self.gelu(self.linear(y, f"{layer}.feed_forward.0")), f"{layer}.feed_forward.2", x)
        y = self.norm(x, "final_norm", shape.norms == "all")
        if shape.tied:
            self.w["head.weight"] = self.w["token_embedding.weight"]
        return self.linear(y, "head")
