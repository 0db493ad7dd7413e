"""A tighter bound, where lengths of errors prove nothing: errors as sums of vectors, each carried by exact slopes.

Around the exact values, an error is a sum of known vectors, each some share from -1 to 1 of it, plus a box. Slopes
are those at the exact values; what an operation does beyond them, its bend, is one more error of its own
(docs/rounding.md, "The second method"; the code is independent of `alga.trust.proof`). Products of slopes are
enlarged by LOST of the sizes of their factors, which is far more than float64 loses there.

Shapes: as in error_bounds.py, with S vectors, N rows of linear functionals, M another index of positions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from alga.trust.verify.balls import Array, Ids
from alga.trust.verify.error_bounds import EXP_BY_GAP, SLACK, ErrorBounds

MOST_LAYERS: Final = 2  # each layer more multiplies the vectors
FAR: Final = 800.0  # exp(-FAR), even if it errs by half, is below the least number of every format
LOST: Final = 1e-11  # of the sizes of factors, per product of matrices of at most some thousand rows


def _size(matrix: Array) -> float:
    return float(np.sqrt((matrix * matrix).sum())) * SLACK


@dataclass(frozen=True)
class Spread:
    """The errors of a stream at each position: vectors along the last axis, and a box."""

    vectors_BLDS: Array
    box_BLD: Array

    def reach(self, rows: Array) -> Array:
        """Bound linear functionals of the error at each position (BLN)."""
        along = rows @ self.vectors_BLDS
        found: Array = np.abs(along, out=along).sum(axis=-1) + (np.abs(rows) @ self.box_BLD[..., None])[..., 0]
        return found * SLACK

    def length(self) -> Array:
        """Bound the error's length at each position (BL)."""
        widths = np.abs(self.vectors_BLDS).sum(axis=-1) + self.box_BLD
        found: Array = np.sqrt((widths**2).sum(axis=-1)) * SLACK
        return found

    def all_vectors(self) -> Array:
        """Return the box's sides among the vectors."""
        sides = self.box_BLD[..., None] * np.eye(self.box_BLD.shape[-1])
        return np.concatenate([self.vectors_BLDS, sides], axis=-1)


@dataclass(frozen=True)
class Slopes:
    """A norm at the exact values: its slopes, and the errors that arise in it: a box, and times of two vectors."""

    exact_BLD: Array
    slopes_BLDD: Array
    own_BLD: Array
    drifts: tuple[tuple[Array, Array], ...]
    length_BL: Array  # of the error before it
    steep_BL: Array  # the slopes' size

    def own(self, rows: Array) -> Array:
        """Bound what the norm's own errors do to linear functionals (BLN)."""
        found = (np.abs(rows) @ self.own_BLD[..., None])[..., 0]
        for vector_BLD, times_BL in self.drifts:
            found = found + np.abs((rows @ vector_BLD[..., None])[..., 0]) * times_BL[..., None]
        return np.asarray(found) * SLACK

    def total(self, before: Spread) -> Array:
        """Bound all of the error after the norm (BLD)."""
        return self.own(np.eye(self.exact_BLD.shape[-1])) + self.moved(np.eye(self.exact_BLD.shape[-1]), before)

    def moved(self, rows: Array, before: Spread) -> Array:
        """Bound what the earlier error does to linear functionals after the norm (BLN)."""
        return before.reach(rows @ self.slopes_BLDD) + LOST * _size(rows) * (self.steep_BL * self.length_BL)[..., None]


class GradientBounds(ErrorBounds):
    """Propagates the errors of one number format as sums of vectors."""

    def margins(self, right_BQ: Ids) -> Array:
        """Bound how much the right token's logit may lose against each other's (BQV)."""
        x = self.values.kept["x"]
        error, stream = Spread(np.zeros((*x.shape, 0)), self._sum(1, np.abs(x) * SLACK)), "x"
        for i in range(self.shape.layers):
            error = self._fed(i, self._attended(i, stream, error))
            stream = f"{i}.y"
        y, head = self._slopes("final_norm", stream, error), self.network.head
        rows_BQVD = head[right_BQ][:, :, None] - head
        sizes = self._up((np.abs(y.exact_BLD) + y.total(error)) @ np.abs(head).T)
        own = self._sum(head.shape[1] + 2, sizes)
        lost = y.own(rows_BQVD) + y.moved(rows_BQVD, error) + own + np.take_along_axis(own, right_BQ[..., None], -1)
        return lost * SLACK + self.values.tiny

    def _slopes(self, name: str, stream: str, error: Spread) -> Slopes:
        x = self.values.kept[stream]
        n, length = x.shape[-1], error.length()
        if name not in self.network.norms:
            same = np.broadcast_to(np.eye(n), (*x.shape, n))
            return Slopes(x, same, np.zeros_like(x), (), length, np.ones_like(length))
        gain, shift = self.network.norms[name]
        y = self._norm(name, stream, length)  # its moments' errors; its `error` is not used
        root = np.sqrt(x.var(axis=-1) + 1e-5)
        unit = (x - x.mean(axis=-1, keepdims=True)) / root[..., None]
        # The root turns by a factor 1 + t, |t| at most tau; the bend is some times `unit` and some of the error itself.
        tau = length / (math.sqrt(n) * root) * SLACK + self.values.tiny
        turn = np.where(tau < 0.2, tau / (1 - tau), np.inf)
        bend = tau**2 / 2 + tau * turn
        widths = error.reach(np.eye(n) - 1 / n)
        slopes = (
            (np.eye(n) - 1 / n - unit[..., :, None] * unit[..., None, :] / n) * gain[:, None] / root[..., None, None]
        )
        moved = error.reach(slopes) + np.abs(gain) * (
            bend[..., None] * np.abs(unit) + widths * (turn / root)[..., None]
        )
        most = np.abs(x) + np.abs(x.mean(axis=-1, keepdims=True)) + (2 * length + y.shifted * root)[..., None]
        terms = np.abs(gain) * most * ((1 + y.scaled) / root * (1 + turn))[..., None] + np.abs(shift)
        own = self._sum(8, self._up(terms)) + np.abs(gain) * widths * (turn / root)[..., None]
        own = own + y.scaled[..., None] * self._up(moved)
        steep = np.sqrt(n) * np.abs(gain).max() / root * SLACK
        # Directions of drifts are known to `tiny`.
        own = own + LOST * (np.abs(gain).max() * (y.scaled + bend + y.shifted))[..., None]
        drifts = ((unit * gain, (y.scaled + bend) * SLACK), (np.broadcast_to(gain, x.shape), y.shifted * SLACK))
        return Slopes(self.values.kept[f"{name}.normed"], slopes, own * SLACK, drifts, length, steep)

    def _fed(self, i: int, error: Spread) -> Spread:
        """Return the error after a feed-forward network."""
        (w, b), (back, bias), kept = self.network.maps[f"{i}.in"], self.network.maps[f"{i}.back"], self.values.kept
        y = self._slopes(f"{i}.feed", f"{i}.x", error)
        h, phi, x = kept[f"{i}.h"], kept[f"{i}.phi"], kept[f"{i}.x"]
        total = y.total(error)
        own = self._sum(w.shape[1] + 2, self._up((np.abs(y.exact_BLD) + total) @ np.abs(w).T + np.abs(b)))
        off = (own + y.own(w) + y.moved(w, error)) * SLACK
        slope = phi + h * np.exp(-h * h / 2) / math.sqrt(2 * math.pi)
        rounded = 13 * self.unit * self._up(np.abs(h) + off) + 8 * self.least * (1 + np.abs(h) + off)
        hidden = rounded + self._up(np.abs(slope)) * own + 0.4 * off**2 + self.values.tiny * off
        normed = (back * slope[..., None, :]) @ w
        slopes = normed @ y.slopes_BLDD + np.eye(x.shape[-1])
        gelu = np.abs(kept[f"{i}.gelu"]) + 1.13 * off + rounded
        before = np.abs(x) + error.reach(np.eye(x.shape[-1]))
        box = self._sum(w.shape[0] + 4, self._up(before + gelu @ np.abs(back).T + np.abs(bias)))
        lost = (
            LOST * (1 + 1.13 * _size(back) * _size(w) * (1 + y.steep_BL)) * (y.length_BL + np.abs(total).sum(axis=-1))
        )
        box = box + hidden @ np.abs(back).T + y.own(normed) + lost[..., None]
        return Spread(slopes @ error.all_vectors(), box * SLACK)

    def _attended(self, i: int, stream: str, error: Spread) -> Spread:
        """Return the error after attention, at the positions that are computed."""
        maps, kept = self.network.maps, self.values.kept
        y = self._slopes(f"{i}.attention", stream, error)
        total = y.total(error)
        (_, Q, D), L = kept[f"{i}.mixed"].shape, total.shape[1]
        own, off = {}, {}
        for name, more in {"q": 6, "k": 6, "v": 2}.items():
            w, b = maps[f"{i}.{name}"]
            sizes = self._up((np.abs(y.exact_BLD) + total) @ np.abs(w).T + np.abs(b))
            own[name] = self._sum(w.shape[1] + more, sizes) + y.own(w)
            off[name] = own[name] + y.moved(w, error)
        out, bias = maps[f"{i}.out"]
        heads = [self._head(i, h, (y, error), own, off) for h in range(self.shape.heads)]
        mixed, magnitudes = (np.concatenate(part, axis=-1) for part in list(zip(*heads, strict=True))[:2])
        vectors = [*(head[2] for head in heads), out * mixed[..., None, :]]
        slopes_BQMDD, lost_B = sum(head[3] for head in heads) @ y.slopes_BLDD[:, None], sum(head[4] for head in heads)
        for place in range(Q):
            slopes_BQMDD[:, place, L - Q + place] += np.eye(D)
        terms = np.abs(kept[stream][:, L - Q :]) + error.reach(np.eye(D))[:, L - Q :]
        box = self._sum(D + 4, self._up(terms + magnitudes @ np.abs(out).T + np.abs(bias)))
        come_B = ((1 + y.steep_BL) * y.length_BL + total.sum(axis=-1)).sum(axis=1) + mixed.sum(axis=(1, 2))
        box = box + LOST * ((1 + lost_B) * come_B)[:, None, None]
        if error.vectors_BLDS.shape[-1]:
            vectors += [slopes_BQMDD[:, :, m] @ error.all_vectors()[:, None, m] for m in range(L)]
        else:  # only embeddings were rounded: their box stays one
            box = box + (np.abs(slopes_BQMDD) @ error.box_BLD[:, None, :, :, None])[..., 0].sum(axis=2)
        return Spread(np.concatenate(vectors, axis=-1) * SLACK, box * SLACK)

    def _head(
        self, i: int, h: int, before: tuple[Slopes, Spread], own: dict[str, Array], off: dict[str, Array]
    ) -> tuple[Array, Array, Array, Array, Array]:
        """Return a head's errors of its mix, the mix's magnitudes, errors of scores as vectors, slopes, and sizes."""
        maps, kept, (y, error) = self.network.maps, self.values.kept, before
        (B, Q, D), L = kept[f"{i}.mixed"].shape, y.exact_BLD.shape[1]
        weights, skip = kept[f"{i}.weights"].reshape(B, self.shape.heads, Q, L)[:, h], L - Q
        e, w = (slice(h * (n // self.shape.heads), (h + 1) * (n // self.shape.heads)) for n in (own["q"].shape[-1], D))
        w_q, w_k, w_v = (maps[f"{i}.{name}"][0][part] for name, part in (("q", e), ("k", e), ("v", w)))
        q, k, v = kept[f"{i}.q"][:, skip:, e], kept[f"{i}.k"][..., e], kept[f"{i}.v"][..., w]
        q_own, k_own, v_own = own["q"][:, skip:, e], own["k"][..., e], own["v"][..., w]
        q_off, k_off, v_off = off["q"][:, skip:, e], off["k"][..., e], off["v"][..., w]
        root, seen = 1 / math.sqrt(q.shape[-1]), ~self.values.hidden[skip:]
        keys = k[:, None] - (weights @ k)[:, :, None]  # B Q L E
        values = v[:, None] - (weights @ v)[:, :, None]
        by_key, by_query = q @ w_k * root, keys @ w_q * root  # B Q D, B Q L D
        steep_B = 2 * (_size(w_q) * _norms(k).max(axis=1) + _size(w_k) * _norms(q).max(axis=1))

        # What scores err by here, then how far each moves against their weighted mean.
        crossed = _norms(q_off)[..., None] * _norms(k_off)[:, None]
        sizes = (np.abs(q) + q_off) @ (np.abs(k) + k_off).swapaxes(1, 2)
        scored = self._sum(q.shape[-1] + 8, self._up(sizes * root))
        scored = scored + (np.einsum("bqle,bqe->bql", np.abs(keys), q_own) + crossed) * root
        scored = np.where(seen, scored + np.abs(q) @ k_own.swapaxes(1, 2) * root, 0) * SLACK
        rows = (np.eye(L) - weights[:, :, None]).transpose(0, 3, 1, 2)[..., None] * by_key[:, None, :, None]
        for place in range(Q):
            rows[:, skip + place, place] += by_query[:, place]
        moved = error.reach(rows.reshape(B, L, Q * L, D) @ y.slopes_BLDD).sum(axis=1).reshape(B, Q, L)
        moved = moved + LOST * (steep_B * (y.steep_BL * y.length_BL).sum(axis=1))[:, None, None]
        moves = np.where(seen, scored + (weights * scored).sum(axis=-1, keepdims=True) + moved, 0) * SLACK
        moves = np.where(moves < 1, moves, np.inf)
        bend = np.expm1(moves) - moves + 1e-9 * moves
        bend = np.where(seen, bend + (weights * bend).sum(axis=-1, keepdims=True) * (1 + moves), 0)
        changes, grown = moves + bend, weights * (1 + moves + bend) * SLACK

        # Rounding of weights and values.
        scores = np.where(seen, q @ k.swapaxes(1, 2) * root, -np.inf)
        gap = np.where(seen, self._up(scores.max(axis=-1, keepdims=True) - scores), 0)
        units = 8 * (L + 1) + 1.01 * (2 * L + 8)
        wrong = self.unit * (EXP_BY_GAP * gap + 2 * changes.max(axis=-1, keepdims=True) + units)
        wrong = wrong + (grown * wrong).sum(axis=-1, keepdims=True)
        # So far below the largest, a weight and its error are less than the least numbers that are added to each.
        wrong = np.where((gap > FAR) & (wrong < 0.5), 0, np.where(wrong < 0.01, 1.03 * wrong, np.inf))
        sizes = self._up(np.abs(v) + v_off)
        mixed = (weights @ v_own + (grown * wrong + 16 * self.least) @ sizes + (weights * changes) @ v_off) * SLACK

        # Slopes from the normed vectors, one position (M) at a time.
        out = maps[f"{i}.out"][0][:, w]
        after = (weights[..., None] * values) @ out.T  # B Q L D: a score's direction in the stream
        slopes = weights[..., None, None] * (out @ w_v) + after[..., None] * by_key[:, :, None, None]
        for place in range(Q):
            slopes[:, place, skip + place] += after[:, place].swapaxes(-1, -2) @ by_query[:, place]
        sizes_B = L * _size(out) * (_size(w_v) + 2 * _norms(v).max(axis=1) * (1 + steep_B))
        return mixed, grown @ sizes + mixed, (after * (scored + bend)[..., None]).swapaxes(-1, -2), slopes, sizes_B


def _norms(vectors: Array) -> Array:
    found: Array = np.sqrt((vectors * vectors).sum(axis=-1)) * SLACK
    return found
