"""Nogueira et al. 2021: every digit is followed by its place, `3 10e1 2 10e0` for 32."""

from __future__ import annotations

from typing import ClassVar

from alga.research.baselines.language import PLACES, Language, Tokens
from alga.research.baselines.plain import added
from alga.tasks.numbers import DIGITS

MARK = "10e"


def marked(number: str) -> Tokens:
    """Write a number with the place of each digit; the exponent's digits are tokens too, so any length has one.

    >>> " ".join(marked("32"))
    '3 10e 1 2 10e 0'
    """
    places = range(len(number) - 1, -1, -1)
    return [token for digit, place in zip(number, places, strict=True) for token in (digit, MARK, *str(place))]


class Markers(Language):
    """Explicit place markers, in the question and in the reply."""

    title: ClassVar = "place markers"
    source: ClassVar = "Nogueira et al. 2021"
    given: ClassVar = "the place of every digit"
    published: ClassVar = "up to 60 digits; no rule that is independent of the lengths in training (abstract)"
    vocabulary: ClassVar = (*DIGITS, MARK, "+", "=")
    rows: int = PLACES
    version: ClassVar = 2  # with learned places: its texts are as long as a scratchpad's

    def question(self, first: str, second: str) -> Tokens:
        return [*marked(first), "+", *marked(second), "="]

    def reply(self, first: str, second: str) -> Tokens:
        return marked(added(first, second))

    def read(self, reply: Tokens) -> str | None:
        number = "".join(reply[i - 1] for i, token in enumerate(reply) if token == MARK and i > 0)
        return number if number and set(number) <= set(DIGITS) and marked(number) == reply else None
