"""Attention outside a situation's two columns: a bound for every text of any length, by a convergent series.

A token at place p sees its situation, at the distances 0 and 1, and everything else: at each place below, a digit of
each number and of the answer (or the two signs); at each place above the next, a digit of each number. Scores fall by a
slope per place beyond the reach, so what all of them can weigh together is a geometric series, whatever the length.

Shapes: A number formats, K kinds of tokens, H heads, B situations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from alga.tasks.whole import NEXT, OWN
from alga.trust.assumptions import ZERO_FROM
from alga.trust.proof.bounds import FORMATS, SLACK, Array, Ids

CUTS: Final = {"real": math.inf, **ZERO_FROM}  # exp of less than minus this is exactly zero
MOST_OUTSIDE: Final = 0.01  # of all attention; more is not bounded further
ROUNDED: Final = 0.001  # more than a logarithm here is off by
MOST_LOG: Final = 50.0  # of the weight outside to that inside
MOST_PLACES: Final = 10**12
FAR: Final = 1.001  # more than the relative rounding of a far score, in any format


@dataclass(frozen=True)
class Distances:
    """What one head adds to a score: a number for each distance up to the reach, a slope below and above, a sink."""

    near: Array  # from -reach to reach
    slopes: Array
    sink: float

    @property
    def reach(self) -> int:
        """The largest distance that has a number of its own."""
        return len(self.near) // 2

    def added(self, distance: int) -> float:
        """Return what is added at any distance."""
        end = min(max(distance, -self.reach), self.reach)
        beyond = abs(distance - end)
        return float(self.near[end + self.reach] - (self.slopes[int(distance > 0)] * beyond if beyond else 0.0))

    def inside(self, distances: Ids) -> Array:
        """Return what is added at the distances of a situation."""
        found: Array = self.near[distances + self.reach]
        return found

    def series(self) -> tuple[float, float]:
        """Bound the logarithms of the sums of exp(what is added), over all places below and over all above the next.

        Infinite if a slope is not positive. Nothing is raised before its logarithm is taken: scores have no zero point,
        and a sum that underflows would seem to be nothing.
        """
        below, above = range(-self.reach, OWN), range(NEXT + 1, self.reach + 1)
        ends, sums = (float(self.near[0]), float(self.near[-1])), []
        for places, end, slope in zip((below, above), ends, self.slopes.tolist(), strict=True):
            tail = end - slope - math.log(-math.expm1(-slope)) if slope > 0 else math.inf
            sums.append(float(np.logaddexp.reduce([tail, *(self.added(distance) for distance in places)])) + ROUNDED)
        return sums[0], sums[1]

    def places(self, rise: float, cut: float) -> int:
        """Return how many places on either side can have a weight that is not zero.

        `rise` is the most by which a far token's content may raise its score above the largest score.
        """
        if math.isinf(cut) or not (self.slopes > 0).all():
            return 0  # in the latter case nothing is proven anyway
        falls = [max(0.0, rise + float(end) + cut) * FAR for end in (self.near[0], self.near[-1])]
        steps = (math.ceil(fall / slope) for fall, slope in zip(falls, self.slopes.tolist(), strict=True))
        return int(min(self.reach + 1 + max(steps), MOST_PLACES))


@dataclass(frozen=True)
class Kinds:
    """The scores by content that one head can give: queries of the answer part (rows) against all kinds (columns)."""

    scores: Array  # query kinds x kinds
    off: Array  # their largest error in each format
    question: Ids  # the kinds that a question's place can hold
    answer: Ids  # those of an answer's place


def outside_shares(kinds: Kinds, distances: Distances, query_B: Ids, inside_B: Array, arity: int) -> Array:
    """Bound the share of attention that lies outside, in each format and situation (AB).

    `inside_B` is the logarithm of what a situation and the sink weigh.
    """
    below, above = distances.series()
    question, answer = (kinds.scores[:, part].max(axis=1) for part in (kinds.question, kinds.answer))
    log_Q = np.logaddexp(math.log(arity) + question + np.logaddexp(below, above), answer + below)
    # Scores may be off by `off` on either side, far ones by a little more.
    logs_AB = log_Q[query_B] - inside_B + 2 * kinds.off[:, None] + ROUNDED
    weight_AB = np.exp(np.minimum(logs_AB, MOST_LOG))
    shares: Array = np.nan_to_num(weight_AB / (1 + weight_AB) * SLACK + 1e-300, nan=1.0)
    return shares


def terms(kinds: Kinds, distances: Distances, top_Q: Array, arity: int) -> NDArray[np.int64]:
    """Return how many tokens can have a weight that is not zero, in each format; `top_Q` bounds each largest score."""
    rises = [float((kinds.scores.max(axis=1) - top_Q).max() + 2 * off) for off in kinds.off]
    inside = 2 * arity + 2
    places = [distances.places(rise, CUTS[each.name]) for rise, each in zip(rises, FORMATS, strict=True)]
    return inside + (2 * arity + 1) * np.array(places)
