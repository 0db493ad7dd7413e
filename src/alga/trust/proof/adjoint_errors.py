"""Rounding errors of single operations, for the second method: derived again, with constants of its own.

Nothing here comes from `rounding.py`. A chain of k roundings multiplies a number by at most (1 + u)^k <= exp(k u), so a
term that passes through k of them is off by at most expm1(k u) times its magnitude. `unit` is the format's unit
roundoff plus that of the float64 midpoint, `least` likewise the least normal number; both lie along the last axis.

Shapes: B batch, L positions, D width, A number formats (last).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from alga.trust.assumptions import ERF_UNITS, EXP_UNITS, GAP_UNITS
from alga.trust.proof.bounds import Array, NumberFormat

EPSILON: Final = 1e-5  # of LayerNorm
GROWN: Final = 1 + 1e-9  # covers the rounding of a bound itself: sums, products, quotients, roots of numbers >= 0
LARGEST: Final = 1e30  # magnitudes below it cannot overflow
DOUBLE: Final = 2.0**-53
MOST_TERMS: Final = 2000  # of a sum; more are not bounded
MOST_UNITS: Final = 0.01  # relative, of any chain of roundings


@dataclass(frozen=True)
class Units:
    """The roundoffs of several formats, those of the float64 midpoint included."""

    unit: Array
    least: Array

    @classmethod
    def of(cls, formats: tuple[NumberFormat, ...]) -> Units:
        """Return the roundoffs of formats."""
        return cls(np.array([a.unit for a in formats]) + DOUBLE, np.array([a.least for a in formats]) + 2.0**-1022)


def chain(roundings: float, units: Units) -> Array:
    """Return the relative error of a number after so many roundings; infinite if they are too many for a bound."""
    share = roundings * units.unit
    found: Array = np.where(share <= MOST_UNITS, np.expm1(np.minimum(share, 1)) * GROWN, np.inf)
    return found


def sum_error(terms: int, magnitudes: Array, units: Units, more: int = 1) -> Array:
    """Bound the error of sums of products in any order, given the sums of their magnitudes.

    A term is rounded once as a product and at most once for each other term; `more` counts further roundings. What
    underflows adds at most `least` at each of them.
    """
    if terms > MOST_TERMS:
        return np.full_like(magnitudes, np.inf)
    found = chain(terms + more, units) * magnitudes + 3 * (terms + more) * units.least
    return np.where(magnitudes < LARGEST, found, np.inf)


@dataclass(frozen=True, kw_only=True)
class Moments:
    """Upper bounds of what n numbers' moments depend on, and a lower bound of sqrt(variance + EPSILON)."""

    size: Array  # mean magnitude
    apart: Array  # mean distance from the mean
    spread: Array  # standard deviation
    square: Array  # root mean square
    root: Array


def moment_errors(x: Moments, n: int, units: Units) -> tuple[Array, Array]:
    """Bound the error of a mean of n numbers, and the relative error of 1 / sqrt(variance + EPSILON)."""
    u, logarithm = units.unit, math.log2(max(n, 2))
    grown = np.exp(5 * n * u)  # errors of parts, carried up a tree
    summed = chain(n + 1, units) * x.size
    merged = grown * u * ((n - 1) * x.size + 3.1 * logarithm * x.apart)
    off_mean = np.maximum(summed, merged) + 4 * n * units.least
    passes = off_mean**2 + chain(n + 4, units) * (x.spread**2 + off_mean**2)
    squares = chain(n + 4, units) * x.square**2 + (2 * x.square * off_mean + off_mean**2) * (1 + 4 * u)
    part = grown * u * n / math.sqrt(2) * (x.square + 1.7 * x.spread)
    trees = 3 * x.spread * part + 3 * part**2 + chain(n + 10, units) * (x.spread + 2 * part) ** 2
    most = np.maximum(np.maximum(passes, squares), trees) + 4 * n * units.least
    off = most / x.root**2 * GROWN + 3 * u
    sure = (off <= 0.25) & (x.square < 1e15) & (n * u <= MOST_UNITS)
    with np.errstate(invalid="ignore"):
        off_root = np.where(sure, ((1 - np.minimum(off, 0.5)) ** -0.5 * (1 + 4 * u) - 1) * GROWN + 1e-15, np.inf)
    return off_mean * GROWN, off_root


def scaling_error(magnitudes: Array, units: Units) -> Array:
    """Bound the error of scaling and shifting a normed vector: three terms, six roundings each."""
    return sum_error(3, magnitudes, units, more=3)


def weight_logs(gap: Array, positions: int, units: Units) -> Array:
    """Bound the logarithm of exp's relative error in a softmax, given each score's distance to the largest.

    The distance is rounded once, and what exp makes of it may be off in proportion to it.
    """
    return units.unit * ((1 + 1.01 * GAP_UNITS) * gap + 1.01 * EXP_UNITS * (positions + 1)) * GROWN


def mix_shares(logs: Array, weights: Array, positions: int, units: Units) -> Array:
    """Bound the relative error of each weighted value (axis -2) in a softmax's mix.

    Numerator and denominator err independently, each by exp's error and by the products and sums of an online softmax.
    """
    logs = logs + (2 * positions + 4) * units.unit
    own = np.expm1(np.minimum(logs, 1))
    below = (weights * own).sum(axis=-2, keepdims=True)
    shares = ((1 + own) / (1 - np.minimum(below, 0.5)) - 1) * GROWN
    return np.where((below < 0.5) & (logs < 1), shares, np.inf)


def gelu_error(magnitudes: Array, units: Units) -> Array:
    """Bound GELU's error, given the magnitudes of its arguments.

    1 + erf errs by ERF_UNITS, and by one more because its argument is rounded; half of that times the argument, and
    three roundings of a result that is no larger than the argument.
    """
    return ((ERF_UNITS + 1) / 2 + 3) * 1.001 * units.unit * magnitudes + 8 * units.least * (1 + magnitudes)
