"""McLeish et al. 2024: Abacus embeddings. A digit's place is counted from the units of its own number."""

from __future__ import annotations

from typing import ClassVar

from alga.research.baselines.language import Language, Tokens
from alga.research.baselines.plain import added, digits_only
from alga.tasks.numbers import DIGITS


class Abacus(Language):
    """Both numbers and the sum are written units first; equal places have equal embeddings, moved at random."""

    title: ClassVar = "Abacus embeddings"
    source: ClassVar = "McLeish et al. 2024"
    given: ClassVar = "each digit's place in its number, moved at random in training"
    published: ClassVar = "trained on up to 20 digits, up to 99 % on 100 (abstract); 16 layers of width 1024"
    vocabulary: ClassVar = (*DIGITS, "+", "=")
    rows: int = 256
    offsets: ClassVar = 100

    def question(self, first: str, second: str) -> Tokens:
        return [*first[::-1], "+", *second[::-1], "="]

    def reply(self, first: str, second: str) -> Tokens:
        return [*added(first, second)[::-1]]

    def read(self, reply: Tokens) -> str | None:
        return digits_only(reply[::-1])

    def places(self, tokens: Tokens) -> list[int]:
        """Count the digits of each number from 1; what is no digit stands at 0.

        >>> from alga.research.baselines.contract import Scale
        >>> Abacus(Scale(), 1e-3, 0).places([*"21+43=64"])
        [1, 2, 0, 1, 2, 0, 1, 2]
        """
        places, place = [], 0
        for token in tokens:
            place = place + 1 if token in DIGITS else 0
            places.append(place)
        return places
