"""The plain sum: `12+34=46`, most significant digit first."""

from __future__ import annotations

from typing import ClassVar

from alga.research.baselines.language import Language, Tokens
from alga.tasks.numbers import DIGITS


def added(first: str, second: str) -> str:
    """Return the exact sum, to teach and to check."""
    return str(int(first) + int(second))


def digits_only(reply: Tokens) -> str | None:
    """Return a reply of digits as a number, None where it is anything else; leading zeros count as wrong."""
    text = "".join(reply)
    return text if text and set(text) <= set(DIGITS) else None


class Plain(Language):
    """Nothing but the sum."""

    title: ClassVar = "plain decoder"
    source: ClassVar = "Vaswani et al. 2017, as Nogueira et al. 2021 use it"
    given: ClassVar = "nothing"
    published: ClassVar = "no rule that is independent of the lengths in training (abstract)"
    vocabulary: ClassVar = (*DIGITS, "+", "=")

    def question(self, first: str, second: str) -> Tokens:
        return [*first, "+", *second, "="]

    def reply(self, first: str, second: str) -> Tokens:
        return [*added(first, second)]

    def read(self, reply: Tokens) -> str | None:
        return digits_only(reply)
