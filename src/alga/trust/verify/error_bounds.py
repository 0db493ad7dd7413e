"""Bounds on the rounding errors of a number format around the exact values, one length per vector.

The lemmas are those of docs/rounding.md, the code is independent of `alga.trust.proof`. It runs in float64: each number
that enters a bound is first enlarged by a millionth, and by `tiny`, which covers cancellation.

Shapes: B prompts, L positions, Q positions computed, D width, E width of a head's queries, W of its values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from alga.trust.verify.balls import Array, BallNetwork, ExactValues, Ids

UNITS: Final = {"float64": (2.0**-53, 2.0**-1022), "float32": (2.0**-24, 2.0**-126)}  # roundoff, least normal number
SLACK: Final = 1 + 1e-6
EXP_BY_GAP: Final = 4  # units of exp's error for each unit below the largest score: one of the difference, three of exp

Part = tuple[Array, Array, Array, Array]  # exact values, rounding errors, total errors, the map times the gain


def _lengths(v: Array) -> Array:
    found: Array = np.sqrt((v * v).sum(axis=-1)) * SLACK
    return found


def stretch(m: Array) -> Array:
    """Bound the spectral norms of matrices by the 16th root of the trace of (M'M)^8.

    >>> float(stretch(np.array([[3.0, 0.0], [0.0, 4.0]])).round(2))
    4.0
    """
    size = np.sqrt((m * m).sum(axis=(-2, -1), keepdims=True)) + 1e-30
    power = m / size
    power = power.swapaxes(-1, -2) @ power if m.shape[-1] <= m.shape[-2] else power @ power.swapaxes(-1, -2)
    for _ in range(3):
        power = power @ power
    # With Frobenius norm one, the largest eigenvalue is at least 1/side, far above what the powers lose.
    found: Array = size[..., 0, 0] * np.trace(power, axis1=-2, axis2=-1) ** (1 / 16) * SLACK
    return found


@dataclass(frozen=True)
class Normed:
    """Vectors after a norm, and their possible errors."""

    exact: Array
    error: Array  # length in any direction, before the gain
    gain: Array
    centred: Array  # the vectors without the norm's shift
    scaled: Array  # relative error along `centred`
    shifted: Array  # error as a multiple of the gain


@dataclass(frozen=True)
class Seen:
    """What a head sees: exact weights and scores (minus infinity where hidden), what is added to scores, as sizes."""

    weights: Array
    scores: Array
    added: Array
    units: float  # of relative error in a weight, besides those of its score

    @property
    def hidden(self) -> NDArray[np.bool_]:
        """What is not seen."""
        return np.isneginf(self.scores)


class ErrorBounds:
    """Propagates the errors of one number format through a network whose exact values are known."""

    def __init__(self, network: BallNetwork, values: ExactValues, number_format: str) -> None:
        self.network, self.values, self.shape = network, values, network.shape
        self.unit, self.least = UNITS[number_format]

    def margins(self, right_BQ: Ids) -> Array:
        """Bound how much the right token's logit may lose against each other's (BQV)."""
        off = _lengths(self._sum(1, np.abs(self.values.kept["x"])))
        stream = "x"
        for i in range(self.shape.layers):
            off = self._attention(i, stream, off)
            off = self._feed_forward(i, off)
            stream = f"{i}.y"
        return self._lost(stream, off, right_BQ)

    def _lost(self, stream: str, off: Array, right_BQ: Ids) -> Array:
        """Bound the same, given the error of the last stream."""
        head = self.network.head
        y = self._norm("final_norm", stream, off)
        own, _ = self._linear(y, head, np.zeros(len(head)))
        apart_VV = _lengths((head[:, None] - head) * y.gain)
        lost: Array = y.error[..., None] * apart_VV[right_BQ] + own + np.take_along_axis(own, right_BQ[..., None], -1)
        return lost * SLACK + self.values.tiny

    def _sum(self, terms: int, magnitudes: Array) -> Array:
        """Bound the rounding error of sums of products: in any order, each term passes at most `terms` roundings."""
        error = 1.01 * terms * self.unit * magnitudes + 4 * terms * self.least
        return np.where((magnitudes < 1e30) & (terms * self.unit < 0.005), error, np.inf)

    def _up(self, sizes: Array) -> Array:
        return sizes * SLACK + self.values.tiny

    def _norm(self, name: str, stream: str, off: Array) -> Normed:
        """Return the exact normed vectors and their possible errors."""
        x = self.values.kept[stream]
        n = x.shape[-1]
        if name not in self.network.norms:
            return Normed(x, off, np.ones(n), np.zeros_like(x), np.zeros_like(off), np.zeros_like(off))
        gain, shift = self.network.norms[name]
        step = off / math.sqrt(n)
        mean = self._up(np.abs(x.mean(axis=-1))) + step
        exact = x.std(axis=-1)
        spread = self._up(exact) + step
        root = np.sqrt(np.maximum(exact / SLACK - self.values.tiny - step, 0) ** 2 + 1e-5) / SLACK
        # Moments by sums of squares, in two passes, by updates or by merging: the worst of them.
        share = max(n + 1, 0.67 * (n + 2) + 3.7 * math.sqrt(n))
        off_mean = 1.1 * self.unit * ((n + 1) * mean + share * spread) + 4 * n * self.least
        squares = self._sum(n + 8, mean**2 + spread**2) + 2 * mean * off_mean + off_mean**2
        part = 0.55 * math.sqrt(math.log2(max(n, 2))) * (2 * off_mean + 2 * self.unit * math.sqrt(n) * spread)
        merged = 2 * spread * part + part**2 + self._sum(n + 10, (spread + part) ** 2)
        wrong = np.maximum(squares, merged) / root**2
        factor = np.where(wrong < 0.5, wrong / 2 * (1 + 1.5 * wrong), np.inf) + 8 * self.unit
        most = (np.abs(x) + (off + mean + off_mean)[..., None]) * ((1 + factor) / root)[..., None]
        own = _lengths(self._sum(8, self._up(most + np.abs(shift / gain))))  # a gain of nought proves nothing
        y = self.values.kept[f"{name}.normed"]
        return Normed(
            y, (off / root * (1 + factor) + own) * SLACK, gain, y - shift, factor, off_mean / root * (1 + factor)
        )

    def _linear(self, y: Normed, w: Array, bias: Array, more: int = 2) -> tuple[Array, Array]:
        """Return the rounding errors of a linear map's outputs, and their total errors.

        The first include errors of the norm's two moments, which move all components together.
        """
        moved = y.error[..., None] * _lengths(w * y.gain)
        scaled, shifted = y.scaled[..., None], y.shifted[..., None]
        drift = scaled * self._up(np.abs(y.centred @ w.T)) + shifted * self._up(np.abs(w @ y.gain))
        size = np.abs(w).T
        reach = scaled * (np.abs(y.centred) @ size) + shifted * (np.abs(y.gain) @ size)
        own = self._sum(w.shape[1] + more, self._up(np.abs(y.exact) @ size + np.abs(bias) + moved + reach)) + drift
        return own, own + moved

    def _out(self, map_: str, before: Array, off: Array, inner: tuple[Array, Array, Array]) -> Array:
        """Bound the error of a stream after a linear map of `inner` is added, except for how the input moves `inner`.

        `inner` holds exact values, their rounding errors, and their total errors.
        """
        w, bias = self.network.maps[map_]
        exact, own, moved = inner
        through = np.minimum(_lengths(own @ np.abs(w).T), stretch(w) * _lengths(own))
        magnitudes = np.abs(before) + off[..., None] + (np.abs(exact) + moved) @ np.abs(w).T + np.abs(bias)
        return off + through + _lengths(self._sum(w.shape[1] + 4, self._up(magnitudes)))

    def _feed_forward(self, i: int, off: Array) -> Array:
        (w, b), (back, _) = self.network.maps[f"{i}.in"], self.network.maps[f"{i}.back"]
        y = self._norm(f"{i}.feed", f"{i}.x", off)
        r, gain = y.error, y.gain
        own, moved = self._linear(y, w, b)
        h, phi = self.values.kept[f"{i}.h"], self.values.kept[f"{i}.phi"]
        slope = phi + h * np.exp(-h * h / 2) / math.sqrt(2 * math.pi)
        steep = self._up(stretch((back * slope[..., None, :]) @ (w * gain)))
        bend = 0.4 * moved.max(axis=-1) * (stretch(w * gain) * r + _lengths(own)) * stretch(back)
        rounded = 13 * self.unit * (np.abs(h) + moved) + 8 * self.least * (1 + np.abs(h) + moved)
        rounded = rounded + self._up(np.abs(slope)) * own
        inner = self.values.kept[f"{i}.gelu"], rounded, 1.13 * moved + rounded
        found: Array = (self._out(f"{i}.back", self.values.kept[f"{i}.x"], off, inner) + steep * r + bend) * SLACK
        return found

    def _attention(self, i: int, stream: str, off: Array) -> Array:
        maps, kept, heads = self.network.maps, self.values.kept, self.shape.heads
        y = self._norm(f"{i}.attention", stream, off)
        r, gain = y.error, y.gain
        own, moved = {}, {}
        for name, more in {"q": 6, "k": 6, "v": 2}.items():
            own[name], moved[name] = self._linear(y, *maps[f"{i}.{name}"], more)
        exact = kept[f"{i}.mixed"]
        B, Q, L = *exact.shape[:2], r.shape[1]
        skip = L - Q
        total, own_out, moved_out = np.zeros((B, Q)), np.zeros_like(exact), np.zeros_like(exact)
        for head, weights_BQL in enumerate(kept[f"{i}.weights"].reshape(B, heads, Q, L).swapaxes(0, 1)):
            e, w = (
                slice(head * (n // heads), (head + 1) * (n // heads)) for n in (own["q"].shape[-1], exact.shape[-1])
            )
            parts = {"q": slice(skip, None), "k": slice(None)}
            q, k = (
                (kept[f"{i}.{n}"][:, s, e], own[n][:, s, e], moved[n][:, s, e], maps[f"{i}.{n}"][0][e] * gain)
                for n, s in parts.items()
            )
            hidden_QL = self.values.hidden[skip:]
            scores_BQL = (q[0] / math.sqrt(q[0].shape[-1])) @ k[0].swapaxes(1, 2)
            seen = Seen(
                weights_BQL, np.where(hidden_QL, -np.inf, scores_BQL), np.zeros(L), 8 * (L + 1) + 1.01 * (2 * L + 8)
            )
            v = kept[f"{i}.v"][..., w], own["v"][..., w], moved["v"][..., w], maps[f"{i}.v"][0][w] * gain
            further, own_out[..., w], moved_out[..., w] = self._mixed(
                q, k, v, maps[f"{i}.out"][0][:, w], seen, r, exact[..., w]
            )
            total += further
        before = kept[stream][:, skip:]
        return (self._out(f"{i}.out", before, off[:, skip:], (exact, own_out, moved_out)) + total) * SLACK

    def _mixed(
        self, query: Part, key: Part, value: Part, out: Array, seen: Seen, r_BL: Array, exact_BQE: Array
    ) -> tuple[Array, Array, Array]:
        """Return how far one head's mix moves after the out map, its rounding errors, and its total errors."""
        r_BQ, weights_BQL, (v, v_own, v_moved, w_v) = r_BL[:, -query[0].shape[1] :], seen.weights, value
        B, Q = weights_BQL.shape[:2]
        moves_BQL, along_BQLD, tied_BQL = self._moves(query, key, r_BL, r_BQ, seen)
        # Weights move with the scores; a common factor of all weights cancels.
        sure = weights_BQL * SLACK + 1e-290
        shrunk = np.exp((sure * moves_BQL).sum(axis=-1, keepdims=True)) * SLACK
        value_BLD = v @ out.T
        value_BQLD = value_BLD[:, None] - (weights_BQL @ value_BLD)[:, :, None]
        value_BQL = self._up(_lengths(value_BQLD))
        slope = ((weights_BQL[..., None] * value_BQLD).swapaxes(-1, -2) @ along_BQLD).reshape(B, Q, -1)
        bent = (np.expm1(moves_BQL) - tied_BQL + 1e-9 * moves_BQL) * SLACK
        total = shrunk[..., 0] * (self._up(_lengths(slope)) * r_BQ + (sure * bent * value_BQL).sum(axis=-1))
        # Values move, and everything is rounded.
        grown = sure * np.exp(moves_BQL) * shrunk * SLACK
        total += (grown * (self._up(stretch(out @ w_v)) * r_BL)[:, None]).sum(axis=-1)
        gap = np.where(seen.hidden, 0, self._up(seen.scores.max(axis=-1, keepdims=True) - seen.scores))
        wrong = self.unit * (EXP_BY_GAP * gap + 2 * moves_BQL.max(axis=-1, keepdims=True) + seen.units)
        wrong = wrong + (grown * wrong).sum(axis=-1, keepdims=True)
        wrong = np.where(wrong < 0.01, 1.03 * wrong, np.inf)
        own = (grown @ v_own + (grown * wrong + 16 * self.least) @ (np.abs(v) + v_moved)) * SLACK
        apart = np.abs(v[:, None] - exact_BQE[:, :, None]) + self.values.tiny
        shifted = np.einsum("bql,bqle->bqe", sure * np.expm1(moves_BQL) * shrunk, apart)
        return total, own, (own + grown @ v_moved + shifted) * SLACK

    def _moves(self, query: Part, key: Part, r_BL: Array, r_BQ: Array, seen: Seen) -> tuple[Array, Array, Array]:
        """Return how far scores move relative to each other, the gradients along the query, and the query's part."""
        (q, q_own, q_moved, w_q), (k, k_own, k_moved, w_k) = query, key
        width = q.shape[-1]
        root = 1 / math.sqrt(width)
        key_BQLE = k[:, None] - (seen.weights @ k)[:, :, None]
        along_BQLD = key_BQLE @ (w_q * root)
        by_query = r_BQ[..., None] * self._up(_lengths(along_BQLD))
        rest = r_BL[:, None] * self._up(_lengths(q @ (w_k * root)))[..., None]
        rest = rest + np.einsum("bqe,bqle->bql", q_own, np.abs(key_BQLE) + self.values.tiny) * root
        rest = rest + np.abs(q * root) @ k_own.swapaxes(1, 2)
        rest = rest + _lengths(q_moved)[..., None] * _lengths(k_moved)[:, None] * root
        sizes = (np.abs(q) + q_moved) @ (np.abs(k) + k_moved).swapaxes(1, 2) * root
        rest = rest + self._sum(width + 8, self._up(sizes + seen.added))
        moves = np.where(seen.hidden, 0, (by_query + rest) * SLACK)
        return moves, along_BQLD, np.where(seen.hidden, 0, by_query)
