"""The feed-forward network for the second method: its linearisation, and what its roundings and bends add.

Shapes as in adjoint_norm.py.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from alga.network.forward import erf
from alga.trust.proof.adjoint_errors import GROWN, Units, gelu_error, sum_error
from alga.trust.proof.adjoint_norm import LOST, Norm, Reach, length, lost_share, size, unit_rows, weighed
from alga.trust.proof.bounds import Array
from alga.trust.proof.parameters import Affine

GELU_SLOPE: Final = 1.13  # the largest |gelu'|
GELU_BEND: Final = 0.399  # half of the largest |gelu''|, which is sqrt(2 / pi)


class FeedForward:
    """A stream plus its feed-forward network, after a norm; `before` bounds rows of the incoming error.

    Rows for bends are weighed coarsely: hidden units' errors by the box that they make after the out map.
    """

    def __init__(
        self,
        x_BQD: Array,
        box_BQDA: Array,
        before: Reach,
        norm: Norm,
        hidden: Affine,
        out: Affine,
        units: Units,
    ) -> None:
        self.norm, self.out, self._before = norm, out.matrix, before
        h_BQF = norm.mid_BLD @ hidden.matrix.T + hidden.bias
        total_BQDA = norm.box
        sizes = np.abs(hidden.matrix) @ (np.abs(norm.mid_BLD)[..., None] + total_BQDA) + np.abs(hidden.bias)[:, None]
        own_BQFA = sum_error(hidden.matrix.shape[1], sizes * GROWN, units)
        off_BQFA = (own_BQFA + self._moved(hidden.matrix, total_BQDA, box_BQDA)) * GROWN
        phi_BQF = (1 + erf(h_BQF * math.sqrt(0.5))) / 2
        slope_BQF = phi_BQF + h_BQF * np.exp(-(h_BQF**2) / 2) / math.sqrt(2 * math.pi)
        rounded_BQFA = gelu_error(np.abs(h_BQF)[..., None] + off_BQFA, units)
        self.hidden_BQFA = rounded_BQFA + np.abs(slope_BQF)[..., None] * own_BQFA + LOST * off_BQFA
        self.hidden_BQFA = (self.hidden_BQFA + GELU_BEND * off_BQFA**2) * GROWN
        most_BQFA = np.abs(h_BQF * phi_BQF)[..., None] + GELU_SLOPE * off_BQFA + rounded_BQFA
        self.mid_BQD = x_BQD + (h_BQF * phi_BQF) @ out.matrix.T + out.bias
        magnitudes = np.abs(x_BQD)[..., None] + box_BQDA + np.abs(out.matrix) @ most_BQFA + np.abs(out.bias)[:, None]

        # Slopes from the normed stream, and from the stream itself.
        self.normed_BQDD = (out.matrix * slope_BQF[..., None, :]) @ hidden.matrix
        self.slope_BQDD = norm.back(self.normed_BQDD) + np.eye(x_BQD.shape[-1])
        steep = size(out.matrix) * size(hidden.matrix) * GELU_SLOPE
        come_BQA = length(total_BQDA) + norm.slope[..., None] * length(box_BQDA)
        lost_BQA = steep * come_BQA + length(box_BQDA) + size(out.matrix) * length(self.hidden_BQFA)
        own_BQDA = sum_error(out.matrix.shape[1], magnitudes * GROWN, units, more=2)
        self.own_BQDA = (own_BQDA + lost_share(x_BQD) * lost_BQA[..., None, :]) * GROWN
        coarse_BQDA = self.own_BQDA + np.abs(out.matrix) @ self.hidden_BQFA + norm.own(self.normed_BQDD)
        self.coarse_BQDA = coarse_BQDA * GROWN
        self.box_BQDA = self.reach(unit_rows(x_BQD), False)

    def reach(self, rows_BQND: Array, fine: bool) -> Array:
        """Bound rows of the error after the feed-forward network (BQNA)."""
        if fine:
            found = np.abs(rows_BQND) @ self.own_BQDA + weighed(rows_BQND, self.out, self.hidden_BQFA)
            found += self.norm.own(rows_BQND @ self.normed_BQDD)
        else:
            found = np.abs(rows_BQND) @ self.coarse_BQDA
        return (found + self._before(rows_BQND @ self.slope_BQDD, fine)) * GROWN

    def _moved(self, matrix: Array, total_BQDA: Array, box_BQDA: Array) -> Array:
        """Bound the error that comes to each hidden unit."""
        rows = np.broadcast_to(matrix, (*self.norm.mid_BLD.shape[:2], *matrix.shape))
        come_BQA = length(total_BQDA) + self.norm.slope[..., None] * length(box_BQDA)
        lost_BQA = lost_share(self.norm.mid_BLD) * size(matrix) * come_BQA
        return self.norm.own(rows) + self._before(self.norm.back(rows), False) + lost_BQA[:, :, None]
