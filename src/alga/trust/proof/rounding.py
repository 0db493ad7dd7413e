"""Error bounds of single operations: their own rounding, and how they propagate earlier errors.

Shapes: A number formats, B batch, L positions, Q positions computed, D width, F hidden width, M outputs of a map.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from alga.trust.assumptions import ERF_UNITS, GAP_UNITS
from alga.trust.proof.bounds import FLOAT64, MAX_MAGNITUDE, SLACK, Array, NumberFormat, applied, gamma, lengths

EPSILON: Final = 1e-5  # of LayerNorm


class Rounding:
    """The roundoffs of several formats, plus that of the float64 midpoint, as arrays that broadcast over balls."""

    def __init__(self, formats: tuple[NumberFormat, ...]) -> None:
        self.unit = np.array([a.unit + FLOAT64.unit for a in formats])[:, None, None]
        self.least = np.array([a.least + FLOAT64.least for a in formats])[:, None, None]


@dataclass(frozen=True)
class SoftmaxRounding:
    """What rounds a softmax: the relative error of exp in units, and how many terms are not zero, in each format."""

    exp_units: int
    terms: NDArray[np.int64]  # one number, or one for each format, to broadcast over weights (ABQL)


# --- rounding errors of one operation ---------------------------------------------------------------------------------


def embedding_error(sums_BLD: Array, rounding: Rounding) -> Array:
    """Bound the length of the rounding error of a sum of two vectors: one rounding per component."""
    found: Array = lengths(sums_BLD) * rounding.unit * SLACK + sums_BLD.shape[-1] * rounding.least
    return found


def sum_error(terms: int, magnitudes_ABLM: Array, rounding: Rounding) -> Array:
    """Bound the rounding error of sums of products, given the sums of their magnitudes; infinite if it may overflow."""
    unit, least = rounding.unit[..., None], rounding.least[..., None]
    error = gamma(terms, unit) * magnitudes_ABLM + 4 * terms * least
    return np.where(magnitudes_ABLM < MAX_MAGNITUDE, error, np.inf)


def moment_errors(n: int, mean: Array, spread: Array, root: Array, rounding: Rounding) -> tuple[Array, Array]:
    """Bound the absolute error of a mean of n numbers and the relative error of 1 / sqrt(variance + EPSILON).

    `mean` and `spread` (standard deviation) are upper bounds, `root` is a lower bound of that square root.
    """
    unit = rounding.unit
    share = max(n + 1, 0.67 * (n + 2) + 3.7 * math.sqrt(n))
    off_mean = 1.1 * unit * ((n + 1) * mean + share * spread) + 4 * n * rounding.least
    squares = gamma(n + 8, unit) * (mean**2 + spread**2) + 2 * mean * off_mean + off_mean**2
    part = math.sqrt(math.log2(max(n, 2))) / 2 * 1.1 * (2 * off_mean + 2 * unit * math.sqrt(n) * spread)
    merged = 2 * spread * part + part**2 + gamma(n + 10, unit) * (spread + part) ** 2
    off = (np.maximum(squares, merged) + 4 * n * rounding.least) / root**2
    sure = (off <= 0.5) & (mean**2 + spread**2 < MAX_MAGNITUDE)  # squares must not overflow either
    off_root = np.where(sure, off / 2 * (1 + 1.5 * off), np.inf)
    return off_mean * SLACK, (off_root + 8 * unit) * SLACK


def weight_errors(gap_ABQL: Array, weights_ABQL: Array, softmax: SoftmaxRounding, rounding: Rounding) -> Array:
    """Bound the relative error of attention weights, given each score's distance to the largest."""
    unit = rounding.unit[..., None]
    own = (1 + GAP_UNITS) * unit * gap_ABQL + softmax.exp_units * unit + gamma(2 * softmax.terms + 8, unit)
    whole = own + (weights_ABQL * own).sum(axis=-1, keepdims=True)
    return np.where(whole < 0.01, 1.03 * whole, np.inf)


def gelu_error(magnitudes_ABLF: Array, rounding: Rounding) -> Array:
    """Bound the rounding error of GELU, given the magnitudes of its arguments."""
    unit, least = rounding.unit[..., None], rounding.least[..., None]
    return (ERF_UNITS / 2 + 5) * unit * magnitudes_ABLF + 8 * least * (1 + magnitudes_ABLF)


# --- propagation of earlier errors ------------------------------------------------------------------------------------


def norm_slope(root_ABL: Array) -> Array:
    """Bound a LayerNorm's Lipschitz constant, given lower bounds of its square root."""
    return SLACK / root_ABL


def score_slopes(vectors: Array, matrix: Array) -> tuple[Array, Array, Array]:
    """Return the gradients of scores, upper bounds of their lengths, and what rounding may hide of them."""
    along, lost = applied(vectors, matrix)
    return along, lengths(along) + lost, lost


def weight_changes(moves_ABQL: Array, linear_ABQL: Array) -> Array:
    """Bound the relative change of attention weights when scores move, beyond the linear part bounded elsewhere."""
    return np.maximum(np.expm1(moves_ABQL) - linear_ABQL / SLACK, 0) + 1e-15 * moves_ABQL


def gelu_bend(off_ABLF: Array) -> Array:
    """Bound GELU's distance from its tangent: half of its largest second derivative is 1 / sqrt(2 pi)."""
    return 0.4 * off_ABLF**2
