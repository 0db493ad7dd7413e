"""Attention for the second method: its linearisation, and what its roundings and bends add (docs/rounding.md).

Shapes as in adjoint_norm.py; J is a position that is attended to.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alga.trust.proof.adjoint_errors import GROWN, Units, mix_shares, sum_error, weight_logs
from alga.trust.proof.adjoint_norm import Norm, Reach, length, lost_share, size, unit_rows, weighed
from alga.trust.proof.bounds import Array
from alga.trust.proof.parameters import Affine


@dataclass(frozen=True)
class Stream:
    """The residual stream at all positions: midpoints, boxes for its error, and a bound for any rows of the error.

    Without a `reach`, the box is all that is known.
    """

    mid_BLD: Array
    box_BLDA: Array
    reach: Reach | None


@dataclass(frozen=True)
class Mapped:
    """Queries, keys or values by head: midpoints (BHLE), what their own roundings add, all of their error (BHLEA)."""

    mid: Array
    own: Array
    box: Array

    def after(self, skip: int) -> Mapped:
        """Return those without the first positions."""
        return Mapped(self.mid[:, :, skip:], self.own[:, :, skip:], self.box[:, :, skip:])


class Attention:
    """A stream plus the attention of its last positions over all of them, after a norm."""

    def __init__(
        self,
        x: Stream,
        norm: Norm,
        maps: tuple[Affine, Affine, Affine],
        out: Affine,
        hidden_QL: NDArray[np.bool_],
        heads: int,
        longest: int,
        units: Units,
    ) -> None:
        self.x, self.norm, self.heads, self.out = x, norm, heads, out.matrix
        self.skip = x.mid_BLD.shape[1] - len(hidden_QL)
        self.hidden = hidden_QL[..., None]
        q, k, v = (self._mapped(map_, more, units) for map_, more in zip(maps, (4, 4, 1), strict=True))
        q = q.after(self.skip)
        self.w_q, self.w_k, self.w_v = (map_.matrix.reshape(heads, -1, map_.matrix.shape[-1]) for map_ in maps)
        self.root = 1 / math.sqrt(q.mid.shape[-1])
        self.q, self.k = q.mid, k.mid
        scores = np.where(hidden_QL, -np.inf, (q.mid * self.root) @ k.mid.swapaxes(-1, -2))  # B H Q J
        gap = np.where(hidden_QL, 0, scores.max(axis=-1, keepdims=True) - scores)
        self.weights = np.where(hidden_QL, 0, np.exp(-gap))
        self.weights /= self.weights.sum(axis=-1, keepdims=True)
        mixed = self.weights @ v.mid
        self.values = v.mid[:, :, None] - mixed[:, :, :, None]  # B H Q J E
        self._set_lost(maps, v)
        self.scored, changes = self._score_errors(q, k, units)
        self.mixed_BQDA, most_BQDA = self._mix_errors(v, gap, changes, max(longest, len(hidden_QL[0])), units)
        mixed_BQD = _joined(mixed)
        x_BQD, box_BQDA = x.mid_BLD[:, self.skip :], x.box_BLDA[:, self.skip :]
        self.mid_BQD = x_BQD + mixed_BQD @ out.matrix.T + out.bias
        magnitudes = np.abs(x_BQD)[..., None] + box_BQDA + np.abs(out.matrix) @ most_BQDA + np.abs(out.bias)[:, None]
        self.own_BQDA = sum_error(len(out.matrix), magnitudes * GROWN, units, more=3) + self.lost_BA[:, None, None]
        if x.reach is None:
            self.own_BQDA = self.own_BQDA + box_BQDA
        else:
            self.slopes_BLQDD = self._slopes(unit_rows(x_BQD))
        self._set_sources()
        self.box_BQDA = self.reach(unit_rows(x_BQD), False)

    def reach(self, rows_BQND: Array, fine: bool) -> Array:
        """Bound rows of the error after attention (BQNA)."""
        found: Array = np.abs(rows_BQND) @ self.own_BQDA
        found += weighed(rows_BQND, self.sources_BQDS, self.errors_BQSA)
        if self.x.reach is not None:
            B, Q, N, D = rows_BQND.shape
            back = rows_BQND[:, None] @ self.slopes_BLQDD
            found += self.x.reach(back.reshape(B, -1, Q * N, D), fine).sum(axis=1).reshape(B, Q, N, -1)
        found *= GROWN
        return found

    def _set_sources(self) -> None:
        """Put errors of mixes and of scores together: their directions after the out map, and their sizes."""
        B, H, Q, J, E = self.values.shape
        out_HED = self.out.T.reshape(H, E, -1)
        moved = (self.values * self.weights[..., None]) @ out_HED[:, None]  # B H Q J D
        scores_BQDS = moved.transpose(0, 2, 4, 1, 3).reshape(B, Q, -1, H * J)
        mixes_BQDS = np.broadcast_to(self.out, (B, Q, *self.out.shape))
        self.sources_BQDS = np.concatenate([mixes_BQDS, scores_BQDS], axis=-1)
        scored_BQSA = self.scored.transpose(0, 2, 1, 3, 4).reshape(B, Q, H * J, -1)
        self.errors_BQSA = np.concatenate([self.mixed_BQDA, scored_BQSA], axis=-2)
        sizes_BQA = self.mixed_BQDA.sum(axis=-2) + self.tall_B[:, None, None] * scored_BQSA.sum(axis=-2)
        self.own_BQDA += (lost_share(self.mid_BQD) * size(self.out) * sizes_BQA)[:, :, None]

    def _slopes(self, rows_BQND: Array) -> Array:
        """Carry rows through the attention and its norm to the stream (BLQND)."""
        B, Q, N, D = rows_BQND.shape
        L = self.weights.shape[-1]
        passed = (rows_BQND @ self.out).reshape(B, Q, N, self.heads, -1).transpose(0, 3, 1, 2, 4)  # B H Q N E
        scores = (passed @ self.values.swapaxes(-1, -2)) * self.weights[:, :, :, None]  # B H Q N J
        along = (self.q * self.root) @ self.w_k  # B H Q D: a score's gradient by its key's input
        values = passed @ self.w_v[:, None]  # B H Q N D
        rows = np.zeros((B, L, Q, N, D))
        for head in range(self.heads):
            weights = self.weights[:, head].swapaxes(1, 2)[..., None, None]  # B L Q 1 1
            rows += weights * values[:, head, None]
            rows += scores[:, head].transpose(0, 3, 1, 2)[..., None] * along[:, head, None, :, None]
        queries = (scores @ (self.k * self.root @ self.w_q)[:, :, None]).sum(axis=1)  # B Q N D
        for i in range(Q):
            rows[:, self.skip + i, i] += queries[:, i]
        rows = self.norm.back(rows.reshape(B, L, Q * N, D)).reshape(rows.shape)
        for i in range(Q):
            rows[:, self.skip + i, i] += rows_BQND[:, i]
        return rows

    def _mapped(self, map_: Affine, more: int, units: Units) -> Mapped:
        norm, matrix = self.norm, np.abs(map_.matrix)
        mid = norm.mid_BLD @ map_.matrix.T + map_.bias
        magnitudes = matrix @ (np.abs(norm.mid_BLD)[..., None] + norm.box) + np.abs(map_.bias)[:, None]
        rows = np.broadcast_to(map_.matrix, (*norm.mid_BLD.shape[:2], *map_.matrix.shape))
        own = sum_error(matrix.shape[1], magnitudes * GROWN, units, more) + norm.own(rows)
        if self.x.reach is None:
            own = box = own + matrix @ norm.moved_BLDA
        else:
            lost = lost_share(norm.mid_BLD) * size(map_.matrix) * self._come()
            box = own + self.x.reach(norm.back(rows), False) + lost[:, :, None]
        return Mapped(*(_split(each, self.heads) for each in (mid, own * GROWN, box * GROWN)))

    def _score_errors(self, q: Mapped, k: Mapped, units: Units) -> tuple[Array, Array]:
        """Bound the errors of scores that arise here, bends included, and relative changes of weights (BHQJA)."""
        keys = k.mid[:, :, None] - (self.weights @ k.mid)[:, :, :, None]  # B H Q J E
        size_q, size_k = np.abs(q.mid), np.abs(k.mid)
        crossed = length(q.box)[:, :, :, None] * length(k.box)[:, :, None]
        pairs = np.einsum("bhqe,bhje->bhqj", size_q, size_k)[..., None] + crossed
        pairs = pairs + np.einsum("bhqe,bhjea->bhqja", size_q, k.box) + np.einsum("bhje,bhqea->bhqja", size_k, q.box)
        own = sum_error(q.mid.shape[-1], pairs * self.root * GROWN, units, more=4)
        inputs = np.abs(keys) @ q.own + np.einsum("bhqe,bhjea->bhqja", size_q, k.own) + crossed
        own = np.where(self.hidden, 0, own + inputs * self.root) * GROWN
        weights = self.weights[..., None]
        moves = own + (weights * own).sum(axis=-2, keepdims=True)
        if self.x.reach is not None:
            moves = moves + self._moved_scores(keys)
        moves = np.where(self.hidden, 0, moves) * GROWN
        moves = np.where(moves < 1, moves, np.inf)
        with np.errstate(invalid="ignore"):
            bends = np.expm1(moves) - moves + 1e-12 * moves
            bends = bends + (weights * bends).sum(axis=-2, keepdims=True) * (1 + moves)
        bends = np.where(self.hidden, 0, bends) * GROWN
        return own + bends, moves + bends

    def _moved_scores(self, keys: Array) -> Array:
        """Bound how far the incoming error moves each score against their weighted mean (BHQJA)."""
        B, H, Q, L, _ = keys.shape
        along = (self.q * self.root) @ self.w_k  # B H Q D
        apart = np.eye(L) - self.weights[:, :, :, None]  # B H Q J L
        rows = apart.transpose(0, 4, 1, 2, 3)[..., None] * along[:, None, :, :, None]  # B L H Q J D
        queries = (keys * self.root) @ self.w_q[:, None]  # B H Q J D
        for i in range(Q):
            rows[:, self.skip + i, :, i] += queries[:, :, i]
        assert self.x.reach is not None
        back = self.norm.back(rows.reshape(B, L, H * Q * L, -1))
        found: Array = self.x.reach(back, False).sum(axis=1).reshape(B, H, Q, L, -1)
        found += self.scores_lost_BA[:, None, None, None]
        return found

    def _mix_errors(self, v: Mapped, gap: Array, changes: Array, positions: int, units: Units) -> tuple[Array, Array]:
        """Bound the errors of mixes that arise here, and the magnitudes of mixes (BQDA)."""
        weights = self.weights[..., None]
        most = weights * (1 + changes) * GROWN
        farthest = gap[..., None] + 2 * changes.max(axis=-2, keepdims=True)
        shares = mix_shares(weight_logs(farthest, positions, units), most, positions, units)
        sizes = np.abs(v.mid)[..., None] + v.box
        mixed = np.einsum("bhqja,bhjea->bhqea", most, sizes)
        own = np.einsum("bhqja,bhjea->bhqea", most * shares, sizes)
        own = own + np.einsum("bhqj,bhjea->bhqea", self.weights, v.own)
        own = own + np.einsum("bhqja,bhjea->bhqea", weights * changes, v.box)
        own = (own + 16 * units.least * (1 + sizes.sum(axis=2, keepdims=True))) * GROWN
        return _joined(own), (_joined(mixed) + _joined(own)) * GROWN

    def _come(self) -> Array:
        """Return the size of the error that comes in, normed and not (BLA)."""
        return length(self.norm.box) + self.norm.slope[..., None] * length(self.x.box_BLDA)

    def _set_lost(self, maps: tuple[Affine, Affine, Affine], v: Mapped) -> None:
        """Bound what rounding hides of rows of scores, and of any rows relative to their length (BA)."""
        w_q, w_k, w_v = (size(map_.matrix) for map_ in maps)
        come_BA, x_BA = self._come().sum(axis=1), length(self.x.box_BLDA).sum(axis=1)
        q_B, k_B, v_B = (
            np.sqrt((each**2).sum(axis=-1)).max(axis=(1, 2)) * self.heads * GROWN for each in (self.q, self.k, v.mid)
        )
        scores_B = 4 * (q_B * w_k + k_B * w_q) * self.root
        share = lost_share(self.x.mid_BLD)
        self.scores_lost_BA = share * scores_B[:, None] * come_BA
        through_B = size(self.out) * (w_v + 2 * v_B * scores_B)
        self.lost_BA = share * (through_B[:, None] * come_BA + x_BA)
        self.tall_B = 2 * v_B


def _split(array: Array, heads: int) -> Array:
    """Split by head: BLD... -> BHLE..."""
    found: Array = np.moveaxis(array.reshape(*array.shape[:2], heads, -1, *array.shape[3:]), 2, 1)
    return found


def _joined(array: Array) -> Array:
    """Join heads: BHQE... -> BQD..."""
    turned = np.moveaxis(array, 1, 2)
    found: Array = turned.reshape(*turned.shape[:2], -1, *turned.shape[4:])
    return found
