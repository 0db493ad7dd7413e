"""Cho et al. 2024: position coupling. Digits of the same significance share one position."""

from __future__ import annotations

from typing import ClassVar

from alga.research.baselines.language import END, Language, Tokens
from alga.research.baselines.plain import added
from alga.tasks.numbers import DIGITS, without_zeros


class Coupling(Language):
    """Numbers are filled up with zeros to one length, the sum is written units first and one digit longer."""

    title: ClassVar = "position coupling"
    source: ClassVar = "Cho et al. 2024"
    given: ClassVar = "which digits belong to one column; places moved at random in training"
    published: ClassVar = "trained on 1 to 30 digits, tested on 200 (abstract); one layer of width 1024"
    vocabulary: ClassVar = (*DIGITS, "+", "=")
    rows: int = 256
    offsets: ClassVar = 100

    def question(self, first: str, second: str) -> Tokens:
        width = max(len(first), len(second))
        return [*first.zfill(width), "+", *second.zfill(width), "="]

    def reply(self, first: str, second: str) -> Tokens:
        return [*added(first, second).zfill(max(len(first), len(second)) + 1)[::-1]]

    def read(self, reply: Tokens) -> str | None:
        text = "".join(reversed(reply))
        return without_zeros(text) if text and set(text) <= set(DIGITS) else None

    def places(self, tokens: Tokens) -> list[int]:
        """Give `+` and `=` the position 1, units 2, tens 3 and so on; the end stands at 0.

        >>> from alga.research.baselines.contract import Scale
        >>> Coupling(Scale(), 1e-3, 0).places([*"21+43=460"])
        [3, 2, 1, 3, 2, 1, 2, 3, 4]
        """
        width = tokens.index("+")
        places = [*range(width + 1, 1, -1), 1] * 2 + list(range(2, len(tokens) - 2 * width))
        return [0 if token == END else place for token, place in zip(tokens, places, strict=True)]
