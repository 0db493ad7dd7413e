"""Rows, and LayerNorm, for the second method.

Around the float64 midpoint, every computation is the linearised network plus *sources*: at each operation, its rounding
and its bend, the distance of the exact operation from its tangent. A row is a linear functional of an error. `back`
carries rows to a norm's input; `own` bounds what its sources do to them. What numpy's rounding hides of a row is at
most LOST of its length and of the sizes of maps that it passed, times the size of what comes in.

Shapes: B batch, L positions, Q positions computed, N rows, D width, E width of a head, F hidden width, H heads,
A number formats (last).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from alga.trust.proof.adjoint_errors import EPSILON, GROWN, Moments, Units, moment_errors, scaling_error
from alga.trust.proof.bounds import Array
from alga.trust.proof.parameters import Affine

LOST: Final = 1e-12  # 4 n 2^-53 for sums of n <= 2000 terms
MOST_TURN: Final = 0.25  # of a norm's root, relative; more is not bounded

Reach = Callable[[Array, bool], Array]  # rows of a stream's error (BLND), whether finely -> their bounds (BLNA)


def length(vectors: Array) -> Array:
    """Return upper bounds of lengths along the last axis but one (the last holds formats)."""
    found: Array = np.sqrt((vectors**2).sum(axis=-2)) * GROWN
    return found


def weighed(rows: Array, sources: Array, errors: Array) -> Array:
    """Bound what errors along sources (columns) do to rows."""
    along = rows @ sources
    found: Array = np.abs(along, out=along) @ errors
    return found


def lost_share(like_BQD: Array) -> float:
    """Return what rounding may hide of a product of rows and slopes, relative to their sizes."""
    return 4 * LOST * (1 + math.sqrt(like_BQD.shape[-1]))


def unit_rows(like_BQD: Array) -> Array:
    """Return a row for each component."""
    return np.broadcast_to(np.eye(like_BQD.shape[-1]), (*like_BQD.shape, like_BQD.shape[-1]))


def size(matrix: Array) -> float:
    """Return an upper bound of a matrix's Frobenius norm."""
    return float(np.sqrt((matrix**2).sum())) * GROWN


@dataclass(frozen=True)
class Norm:
    """A LayerNorm, or the identity if `root_BL` is None.

    Its sources: some times the normed vector (scale), some times the gain (shift), and a box.
    """

    mid_BLD: Array
    gain_D: Array
    unit_BLD: Array
    root_BL: Array | None
    scale_BLA: Array
    shift_BLA: Array
    own_BLDA: Array
    moved_BLDA: Array  # what the incoming error becomes

    @classmethod
    def none(cls, x_BLD: Array, box_BLDA: Array) -> Norm:
        """Return the identity."""
        nothing = np.zeros_like(box_BLDA)
        return cls(x_BLD, np.ones(x_BLD.shape[-1]), x_BLD, None, nothing[:, :, 0], nothing[:, :, 0], nothing, box_BLDA)

    @classmethod
    def of(cls, x_BLD: Array, box_BLDA: Array, gain: Affine, units: Units) -> Norm:
        """Return the norm of a stream whose error lies in a box; `gain` holds scale and shift."""
        n, formats = x_BLD.shape[-1], box_BLDA.shape[-1]
        box_BLDA = box_BLDA + LOST * np.abs(x_BLD).max(axis=-1)[..., None, None]
        mean_BL = x_BLD.mean(axis=-1)
        centred_BLD = x_BLD - mean_BL[..., None]
        root_BL = np.sqrt((centred_BLD**2).mean(axis=-1) + EPSILON)
        unit_BLD = centred_BLD / root_BL[..., None]
        size_BLD, root_BLA = np.abs(unit_BLD), np.repeat(root_BL[..., None], formats, axis=-1)

        # The root turns by a factor 1 + t; `first` bounds t's linear part, `turn` all of it.
        tau_BLA = length(box_BLDA) / (math.sqrt(n) * root_BLA) * GROWN
        along = (size_BLD[..., None] * box_BLDA).sum(axis=-2)
        first_BLA = np.minimum(tau_BLA, along / (n * root_BLA) * GROWN)
        turn_BLA = np.minimum(tau_BLA, first_BLA + tau_BLA**2 / 2)
        turn_BLA = np.where(turn_BLA <= MOST_TURN, turn_BLA, np.inf)
        with np.errstate(invalid="ignore"):
            share_BLA = np.where(np.isinf(turn_BLA), np.inf, turn_BLA / (1 - np.minimum(turn_BLA, 0.5)))
        bend_BLA = tau_BLA**2 / 2 + turn_BLA * share_BLA
        apart_BLDA = (box_BLDA + box_BLDA.mean(axis=-2, keepdims=True)) / root_BLA[..., None, :] * GROWN
        gain_DA = np.abs(gain.matrix)[:, None]
        straight = apart_BLDA * (1 + share_BLA)[..., None, :]
        moved_BLDA = gain_DA * (straight + size_BLD[..., None] * (first_BLA + bend_BLA)[..., None, :]) * GROWN

        stray_BLA = length(box_BLDA) / math.sqrt(n)
        least_BLA = root_BLA * np.maximum(1 - turn_BLA, 1e-9) / GROWN
        moments = Moments(
            size=(np.abs(x_BLD).mean(axis=-1)[..., None] + stray_BLA) * GROWN,
            apart=(np.abs(centred_BLD).mean(axis=-1)[..., None] + 2 * stray_BLA) * GROWN,
            spread=(np.sqrt((centred_BLD**2).mean(axis=-1))[..., None] + stray_BLA) * GROWN,
            square=(np.sqrt((x_BLD**2).mean(axis=-1))[..., None] + stray_BLA) * GROWN,
            root=least_BLA,
        )
        off_mean, off_root = moment_errors(moments, n, units)
        inverse_BLA = (1 + off_root) / least_BLA
        off_BLA = off_mean * inverse_BLA
        most = np.abs(x_BLD)[..., None] + box_BLDA + (np.abs(mean_BL)[..., None] + stray_BLA + off_mean)[..., None, :]
        terms = gain_DA * most * inverse_BLA[..., None, :] + np.abs(gain.bias)[:, None]
        own_BLDA = scaling_error(terms * GROWN, units) + off_root[..., None, :] * moved_BLDA
        own_BLDA = own_BLDA + gain_DA * apart_BLDA * share_BLA[..., None, :]
        lost_BLA = LOST * size(gain.matrix) * (math.sqrt(n) * (off_root + bend_BLA) + off_BLA)  # of rows along drifts
        own_BLDA = own_BLDA + lost_BLA[..., None, :]
        mid_BLD = unit_BLD * gain.matrix + gain.bias
        return cls(mid_BLD, gain.matrix, unit_BLD, root_BL, off_root + bend_BLA, off_BLA, own_BLDA * GROWN, moved_BLDA)

    @property
    def box(self) -> Array:
        """All of the error, component by component (BLDA)."""
        if self.root_BL is None:
            return self.moved_BLDA
        size_BLD = np.abs(self.unit_BLD * self.gain_D)
        drift = size_BLD[..., None] * self.scale_BLA[..., None, :]
        drift = drift + np.abs(self.gain_D)[:, None] * self.shift_BLA[..., None, :]
        return (self.moved_BLDA + self.own_BLDA + drift) * GROWN

    @property
    def slope(self) -> Array:
        """A bound of the Jacobian's norm (BL)."""
        if self.root_BL is None:
            return np.ones(self.mid_BLD.shape[:2])
        found: Array = np.abs(self.gain_D).max() / self.root_BL * GROWN
        return found

    def own(self, rows_BLND: Array) -> Array:
        """Bound what the norm's own errors do to rows (BLNA)."""
        if self.root_BL is None:
            return np.zeros((*rows_BLND.shape[:-1], self.scale_BLA.shape[-1]))
        vectors = (self.unit_BLD * self.gain_D, np.broadcast_to(self.gain_D, self.unit_BLD.shape))
        drifts_BLD2 = np.stack(vectors, axis=-1)
        times_BL2A = np.stack([self.scale_BLA, self.shift_BLA], axis=-2)
        return np.abs(rows_BLND) @ self.own_BLDA + weighed(rows_BLND, drifts_BLD2, times_BL2A)

    def back(self, rows_BLND: Array) -> Array:
        """Carry rows from the normed vectors to the stream."""
        if self.root_BL is None:
            return rows_BLND
        n = rows_BLND.shape[-1]
        rows = rows_BLND * (self.gain_D / self.root_BL[..., None])[:, :, None]
        along_BLN = rows @ (self.unit_BLD / n)[..., None]
        rows -= rows.mean(axis=-1, keepdims=True)
        rows -= along_BLN * self.unit_BLD[:, :, None]
        return rows
