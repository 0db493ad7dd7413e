"""Whole sums: one text that holds both numbers and their sum, and what each of its tokens depends on.

    text    6 5 7 8 5 + 8 7 6 5 = 0 5 5 4 7 S
    place   5 4 3 2 1 0 4 3 2 1 0 1 2 3 4 5 6

The numbers stand as people write them, then the sum, units first. *Coupled places*: the digits of one column share a
place, in the numbers and in the sum, so the token that writes a digit stands one place below it. A *situation* is what
a token can see at its own place and the next: two columns and, unless it is `=`, itself. Two columns decide which token
comes next, and there are finitely many: they are the domain.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from random import Random
from typing import Final

from alga.base.errors import AlgaError
from alga.tasks.addition import Addition
from alga.tasks.domain import Domain, Instance
from alga.tasks.numbers import in_base, number, without_zeros
from alga.tasks.procedure import Procedure, Task

PLUS: Final = "+"
EQUALS: Final = "="
END: Final = "S"  # after the last digit of the sum
QUESTION: Final = 0  # the two parts of a text; `=` begins the answer
ANSWER: Final = 1
OWN: Final = 0  # the two distances of a situation: a token's own place, and the next
NEXT: Final = 1


class Whole(Task):
    """Addition of two or three numbers as one text; a network that has learned its situations continues the text.

    A network cannot tell which number a digit belongs to. Where ordered situations would be too many, digits of one
    place are therefore sorted: `listed` says so.
    """

    engine = "whole"

    def __init__(self, base: int = 10, *, operands: int = 2) -> None:
        self.serves = Addition(base, operands=operands)
        self.listed = "ordered" if (base, operands) == (10, 2) else "sorted"
        self.name = in_base("addition-whole", base) + ("-of-three" if operands == 3 else "")
        self.summary = f"{Addition.summary_of(base, operands)}, read as one text"

    @property
    def procedure(self) -> Procedure:
        return self.serves

    @property
    def digits(self) -> str:
        """The digits of its numbers."""
        return self.serves.layout.symbols

    # --- texts --------------------------------------------------------------------------------------------------------

    def question(self, *operands: str) -> str:
        """Return what a network is given: the numbers without leading zeros.

        >>> Whole().question("065785", "8765")
        '65785+8765='
        """
        if len(operands) != self.serves.layout.arity:
            raise AlgaError(f"{self.name} takes {self.serves.layout.arity} numbers, got {len(operands)}")
        return PLUS.join(number(operand, self.digits) for operand in operands) + EQUALS

    def answer(self, *operands: str) -> str:
        """Return the exact continuation of a question, by arithmetic on whole numbers.

        It has at least as many digits as the longest number, which matters if that has leading zeros.

        >>> Whole().answer("65785", "8765"), Whole().answer("007", "5")
        ('05547S', '210S')
        """
        return self.serves.oracle(*operands)[::-1].ljust(max(map(len, operands)), "0") + END

    def longest_answer(self, question: str) -> int:
        """Return the most tokens that a right continuation can have: a carry and the stop token after the digits.

        >>> Whole().longest_answer("99+1=")
        4
        """
        return max(map(len, question[:-1].split(PLUS))) + self.serves.layout.arity

    def read(self, written: str) -> str | None:
        """Return the number that a continuation spells; None if it is not digits and `S`.

        >>> Whole().read("05547S"), Whole().read("055"), Whole().read("5=S")
        ('74550', None, None)
        """
        digits = written[:-1]
        if not digits or not written.endswith(END) or not set(digits) <= set(self.digits):
            return None
        return without_zeros(digits[::-1])

    def places(self, text: str) -> list[int]:
        """Return the place of each token.

        >>> Whole().places("12+3=51")
        [2, 1, 0, 1, 0, 1, 2]
        """
        question, _, answer = text.partition(EQUALS)
        found: list[int] = []
        for operand in question.split(PLUS):
            found += [*range(len(operand), 0, -1), 0]  # and that of the sign after it
        return [*found, *range(1, len(answer) + 1)]

    # --- situations ---------------------------------------------------------------------------------------------------

    def situation(self, text: str, at: int) -> str:
        """Return what the token at an index of the answer part can see at its own place and the next, as a short text.

        >>> Whole().situation("65785+8765=05", 12), Whole().situation("65785+8765=", 10)
        ('78+76=5', '5+5=')
        """
        equals = text.index(EQUALS)
        return self._cut(text[:equals].split(PLUS), at - equals, text[at])

    def situations(self, question: str, written: str) -> Iterator[str]:
        """Yield the situation in which each token of `written` was written after `question`."""
        operands = question[:-1].split(PLUS)
        for place, token in enumerate(f"{EQUALS}{written[:-1]}"):
            yield self._cut(operands, place, token)

    def _cut(self, operands: Sequence[str], place: int, token: str) -> str:
        if place == 0:
            units = [operand[-1] for operand in operands]
            return PLUS.join(units if self.listed == "ordered" else sorted(units)) + EQUALS
        kept = tuple([_two_digits(operand, place) for operand in operands])
        return f"{PLUS.join(kept) if self.listed == 'ordered' else _sorted(kept)}{EQUALS}{token}"

    def seen(self, situation: str) -> list[tuple[str, int, int]]:
        """Return the tokens of a situation, each with its part and distance; the last is the one that writes.

        >>> Whole().seen("78+6=5")
        [('7', 0, 1), ('8', 0, 0), ('6', 0, 0), ('5', 1, 0)]
        """
        question, _, token = situation.partition(EQUALS)
        operands = question.split(PLUS)
        if not token:
            units = [(digit, QUESTION, NEXT) for digit in operands]
            return [*units, *[(PLUS, QUESTION, OWN)] * (len(operands) - 1), (EQUALS, ANSWER, OWN)]
        digits = [
            (digit, QUESTION, NEXT if i < len(operand) else OWN)
            for operand in operands
            for i, digit in enumerate(operand, start=1)
        ]
        return [*digits, (token, ANSWER, OWN)]

    @cached_property
    def domain(self) -> Domain:
        """Every situation of texts of any length with the token that follows it, read off texts of up to three digits.

        Each number may have ended before the own place, end there, or go on; a digit below decides the carry. Numbers
        with leading zeros are included: more than there are, which does no harm.
        """
        instances: dict[str, Instance] = {}
        for operands in self._short_numbers():
            answer = self.answer(*operands)
            for place, (token, output) in enumerate(zip(EQUALS + answer[:-1], answer, strict=True)):
                prompt = self._cut(operands, place, token)
                known = instances.get(prompt)
                if known is None:
                    instances[prompt] = Instance(None, prompt, prompt, output)
                elif known.output != output:
                    raise AlgaError(f"task {self.name}: {prompt!r} is followed by {known.output!r} and by {output!r}")
        return Domain(self.name, self.digits, instances, self.summary)

    def _short_numbers(self) -> Iterator[tuple[str, ...]]:
        """Yield numbers whose texts hold every situation: one digit each, then two columns above one that may carry."""
        arity = self.serves.layout.arity
        yield from itertools.product(self.digits, repeat=arity)
        carries = {self.answer(*[digit] * arity)[1:]: digit for digit in reversed(self.digits)}  # a digit for each
        for lowest, tops in itertools.product(carries.values(), self._tops(arity)):
            yield tuple(top + lowest for top in tops)

    def _tops(self, arity: int) -> Iterator[Sequence[str]]:
        """Yield what each number may have at a place and the next: both, one or nothing."""
        if self.listed == "ordered":
            each = ["", *self.digits, *map("".join, itertools.product(self.digits, repeat=2))]
            yield from itertools.product(each, repeat=arity)
            return
        of_place = [list(itertools.combinations_with_replacement(self.digits, n)) for n in range(arity + 1)]
        for n in range(arity + 1):
            for own, above in itertools.product(of_place[n], itertools.chain(*of_place[: n + 1])):
                yield [up + digit for up, digit in itertools.zip_longest(above, own, fillvalue="")] + [""] * (arity - n)

    def example(self, rng: Random, answer: Callable[[str], str | None]) -> str:
        """Return a text of numbers of four digits, continued as the given outputs say.

        >>> said = {"0+6=": "6", "80+46=6": "2", "58+44=2": "0", "35+24=0": "6", "3+2=6": "S"}
        >>> Whole().example(Random(1), said.get)
        '3580+2446=6206S'
        """
        question = self.question(*self.serves.families()["uniform"](rng, 4))
        written = ""
        while not written.endswith(END) and len(written) < self.longest_answer(question):
            written += answer(self.situation(question + written, len(question + written) - 1)) or END
        return question + written


@lru_cache(maxsize=2**13)  # listing situations asks the same again and again, here and below
def _two_digits(operand: str, place: int) -> str:
    """Return the digits of a number at a place and the next, as far as it has them.

    >>> _two_digits("785", 1), _two_digits("785", 3), _two_digits("785", 4)
    ('85', '7', '')
    """
    end = len(operand) - place + 1
    return operand[max(0, end - 2) : end] if end > 0 else ""


@lru_cache(maxsize=2**13)
def _sorted(cuts: tuple[str, ...]) -> str:
    """Return the same digits at both places in order, whichever number they belong to.

    >>> _sorted(("75", "", "8"))
    '75+8+'
    """
    own, above = sorted([cut[-1] for cut in cuts if cut]), sorted([cut[0] for cut in cuts if len(cut) == 2])
    filled = [up + digit for up, digit in itertools.zip_longest(above, own, fillvalue="")]
    return PLUS.join(filled + [""] * (len(cuts) - len(filled)))
