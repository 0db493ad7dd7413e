"""An adversary: the network in float64, each operation's result moved as far as covered roundings can move it.

Every move is what some computation that keeps the assumptions does: each elementary result is off by one unit, sums are
taken in the order that lets this add up most, exp and erf err by all they may. Its sign is that of the margin's
gradient, so that all of them lower the margin together. Nothing here comes from the proof.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from alga.network.config import ModelConfig
from alga.trust.assumptions import ERF_UNITS, EXP_UNITS, GAP_UNITS

UNIT = 2.0**-24


def sum_reach(terms: Tensor) -> Tensor:
    """Return how far a sum over the last axis can be off: one unit of each product, and of each partial sum."""
    found = []
    for descending in (True, False):  # positive terms first, or negative ones: partial sums grow before they shrink
        partial = terms.sort(dim=-1, descending=descending).values.cumsum(dim=-1)
        found.append(partial[..., 1:].abs().sum(dim=-1))
    return UNIT * (terms.abs().sum(dim=-1) + torch.maximum(*found))


class Adversary:
    """Evaluates a network, recording for each operation its admissible error and the margin's gradient."""

    def __init__(self, shape: ModelConfig, weights: dict[str, Any]) -> None:
        self.shape = shape
        self.w = {name: torch.as_tensor(np.asarray(each, np.float64)) for name, each in weights.items()}
        self.moves: list[Tensor] = []
        self.reaches: list[Tensor] = []
        self.replay = False

    def lowered(self, ids: Any, right: Any, at: Any, other: Any) -> tuple[Any, Any]:
        """Return margins over the tokens `other` at outputs `at`, exact and as low as errors can make them."""
        self.moves, self.reaches, self.replay = [], [], False
        rows = torch.arange(len(ids))

        def margins() -> Tensor:
            logits = self.logits(torch.as_tensor(ids))[rows, at]
            return logits[rows, torch.as_tensor(right)[rows, at]] - logits[rows, torch.as_tensor(other)]

        exact = margins()
        gradients = torch.autograd.grad(exact.sum(), self.moves, allow_unused=True)
        signs = [
            torch.zeros_like(move) if g is None else g.sign() for g, move in zip(gradients, self.moves, strict=True)
        ]
        self.moves = [-sign * reach for sign, reach in zip(signs, self.reaches, strict=True)]
        self.replay = True
        self.moves.reverse()
        with torch.no_grad():
            return exact.detach().numpy(), margins().numpy()

    def moved(self, value: Tensor, reach: Tensor) -> Tensor:
        """Return a value, moved by its error."""
        if self.replay:
            return value + self.moves.pop()
        move = torch.zeros_like(value, requires_grad=True)
        self.moves.append(move)
        self.reaches.append(reach.detach())
        return value + move

    def linear(self, x: Tensor, name: str, plus: Tensor | None = None) -> Tensor:
        """Return a linear map of `x`, plus a term."""
        matrix = self.w[f"{name}.weight"]
        parts = [x[..., None, :] * matrix]
        if f"{name}.bias" in self.w:
            parts.append(self.w[f"{name}.bias"].expand(*x.shape[:-1], -1)[..., None])
        if plus is not None:
            parts.append(plus[..., None])
        terms = torch.cat(parts, dim=-1)
        return self.moved(terms.sum(dim=-1), sum_reach(terms.detach()))

    def norm(self, x: Tensor, name: str, there: bool) -> Tensor:
        """Return a LayerNorm with its moments in two passes."""
        if not there:
            return x
        one, n = torch.ones(x.shape[-1], dtype=x.dtype), x.shape[-1]
        gain, shift = self.w.get(f"{name}.weight", one), self.w.get(f"{name}.bias", 0 * one)
        mean = x.mean(dim=-1, keepdim=True)
        mean = self.moved(mean, sum_reach(x.detach())[..., None] / n)
        squares = (x - mean) ** 2
        variance = self.moved(squares.mean(-1, True), sum_reach(squares.detach())[..., None] / n)
        inverse = (variance + 1e-5).rsqrt()
        inverse = self.moved(inverse, 4 * UNIT * inverse.detach())
        scaled = (x - mean) * inverse * gain
        return self.moved(scaled + shift, UNIT * (3 * scaled.detach().abs() + (scaled + shift).detach().abs()))

    def attention(self, x: Tensor, y: Tensor, name: str, hidden: Tensor, skip: int) -> Tensor:
        """Return `x` plus its attention."""
        shape, (B, L, D) = self.shape, y.shape
        width, heads = shape.query_width or D // shape.heads, shape.heads
        whole = self.linear(y, f"{name}.project_in")
        q = whole[..., : heads * width].reshape(B, L, heads, width).transpose(1, 2)
        k = q if shape.shared_keys else whole[..., heads * width : -D].reshape(B, L, heads, width).transpose(1, 2)
        v = whole[..., -D:].reshape(B, L, heads, D // heads).transpose(1, 2)
        products = q[:, :, skip:, None] * k[:, :, None] / math.sqrt(width)
        scores = products.sum(dim=-1).masked_fill(hidden, -math.inf)
        gap = (scores.amax(dim=-1, keepdim=True) - scores).masked_fill(hidden, 0).detach()
        most = shape.input_length + shape.output_length  # positions that a softmax may have, masked ones included
        reach = sum_reach(products.detach()) + (1 + GAP_UNITS) * UNIT * gap + EXP_UNITS * (most + 1) * UNIT
        weights = self.moved(scores, reach.masked_fill(hidden, 0)).softmax(dim=-1)
        terms = (weights[..., None] * v[:, :, None]).transpose(-1, -2)  # B H Q E L
        mixed = self.moved(terms.sum(dim=-1), sum_reach(terms.detach())).transpose(1, 2).reshape(B, L - skip, D)
        if shape.out:
            return self.linear(mixed, f"{name}.project_out", x)
        return self.moved(x + mixed, UNIT * (x + mixed).detach().abs())

    def logits(self, ids: Tensor) -> Tensor:
        """Return the logits from the start token on."""
        shape, L = self.shape, ids.shape[1]
        hidden = torch.ones(L, L, dtype=torch.bool).triu(1)
        hidden[:, : shape.input_length + 1] = False
        rows = self.w["position_embedding.weight"]
        places = [*shape.positions] or [str(i) for i in range(L)]
        positions = torch.stack([0 * rows[0] if place == "." else rows[int(place)] for place in places[:L]])
        x = self.w["token_embedding.weight"][ids] + positions
        x = self.moved(x, UNIT * x.abs())
        for i in range(shape.layers):
            layer, skip = f"layers.{i}", shape.input_length if i == shape.layers - 1 else 0
            y = self.norm(x, f"{layer}.attention_norm", shape.norms == "all")
            x = self.attention(x[:, skip:], y, f"{layer}.attention", hidden[skip:], skip)
            y = self.norm(x, f"{layer}.feed_forward_norm", shape.norms != "none")
            h = self.linear(y, f"{layer}.feed_forward.0")
            grown = self.moved(torch.nn.functional.gelu(h), ERF_UNITS / 2 * UNIT * h.detach().abs())
            x = self.linear(grown, f"{layer}.feed_forward.2", x)
        y = self.norm(x, "final_norm", shape.norms == "all")
        self.w.setdefault("head.weight", self.w["token_embedding.weight"])
        return self.linear(y, "head")
