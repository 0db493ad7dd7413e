"""Medians and shares over seeds, with 95 % confidence intervals that assume no distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from statistics import median as middle
from typing import Final, NamedTuple

Z95 = 1.959964
RESAMPLED: Final = 1000


class Interval(NamedTuple):
    """An estimate and the interval that covers the true value in at least 95 of 100 repetitions."""

    value: float
    low: float
    high: float

    def __format__(self, spec: str) -> str:
        """Format as `325 (275 to 400)`; infinity is `never`."""
        value, low, high = ("never" if math.isinf(x) else format(x, spec) for x in self)
        return value if math.isnan(self.low) else f"{value} ({low} to {high})"


def median(values: Sequence[float | None]) -> Interval:
    """Return the median and its interval; None (never) counts as infinite.

    The ends are order statistics: the number of values below the median is binomial. With fewer than six values no
    such interval reaches 95 %, and the ends are the minimum and maximum; a single value has no interval.

    >>> median([3, 1, 2, 5, 4, None, 9, 8, 7, 6])
    Interval(value=5.5, low=2, high=9)
    >>> f"{median([2000]):,.0f}"
    '2,000'
    """
    if len(values) == 1:
        return Interval(math.inf if values[0] is None else values[0], math.nan, math.nan)
    ordered = sorted(math.inf if value is None else value for value in values)
    n, tail, rank = len(ordered), 0.0, 0
    while rank < n // 2 and (tail := tail + math.comb(n, rank) / 2**n) <= 0.025:
        rank += 1  # values that may be dropped at either end
    ends = ordered[max(rank - 1, 0)], ordered[n - max(rank, 1)]
    finite = math.isfinite(ordered[n // 2])
    return Interval(middle(ordered) if finite else math.inf, *ends)


def share(count: int, of: int) -> Interval:
    """Return a share with Wilson's interval.

    >>> f"{share(8, 10):.2f}"
    '0.80 (0.49 to 0.94)'
    """
    p, square = count / of, Z95**2
    centre = (p + square / (2 * of)) / (1 + square / of)
    half = Z95 * math.sqrt(p * (1 - p) / of + square / (4 * of**2)) / (1 + square / of)
    return Interval(p, min(p, max(0.0, centre - half)), max(p, min(1.0, centre + half)))  # rounding aside


def over_seeds(pairs: Sequence[tuple[int, int]]) -> Interval:
    """Return the mean of several seeds' shares (right, of) with an interval over seeds and problems.

    Seeds are resampled, and the problems of each (a bootstrap, the same at every call); where seeds agree this says
    little, so the interval is at least Wilson's for all problems together.

    >>> f"{over_seeds([(100, 100), (90, 100), (20, 100)]):.2f}"
    '0.70 (0.21 to 1.00)'
    """
    import numpy as np

    rng = np.random.default_rng(0)
    rights, ofs = (np.array(column) for column in zip(*pairs, strict=True))
    drawn = rng.integers(len(pairs), size=(RESAMPLED, len(pairs)))
    low, high = np.quantile((rng.binomial(ofs[drawn], (rights / ofs)[drawn]) / ofs[drawn]).mean(axis=1), (0.025, 0.975))
    value = fmean(right / of for right, of in pairs)
    pooled = share(sum(right for right, _ in pairs), sum(of for _, of in pairs))
    return Interval(value, min(float(low), pooled.low, value), max(float(high), pooled.high, value))
