"""Addition of two numbers, units first: the paper's task.

The output of a step is the column's whole total, so the next step sees the carry as a second digit: after `15` the
column `77` is the prompt `15C77` and gives `15`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from alga.tasks.contract import Family, Task
from alga.tasks.numbers import DIGITS, exact, number
from alga.tasks.sums import FAMILIES

PAIRS = tuple(a + b for a in DIGITS for b in DIGITS)


class Addition(Task):
    """Past the shorter number the paper's text writes one digit (`14C6`), the author's code pads (`14C06`)."""

    symbols = DIGITS
    sign = "+"
    lookahead = "addition-lookahead"
    verb = "add"
    folds = True
    plain = True

    def __init__(self, *, padded: bool = False) -> None:
        self.name = "addition-padded" if padded else "addition"
        self.summary = "the sum of two numbers" + (", the shorter one padded with zeros" if padded else "")
        self.fill = "0" if padded else ""
        self._next = PAIRS if padded else PAIRS + tuple(DIGITS)

    def first_columns(self, setting: str) -> Sequence[str]:
        return PAIRS

    def next_columns(self, setting: str) -> Sequence[str]:
        return self._next

    def output(self, context: str | None, column: str) -> str:
        """Return the column's total with the carry that the previous total left.

        >>> Addition().output("15", "77")
        '15'
        """
        carry = int(context) // 10 if context else 0
        return str(sum(map(int, column)) + carry)

    def rows(self, *operands: str) -> tuple[str, ...]:
        """Set one number above the other.

        >>> Addition().columns("907", "15"), Addition(padded=True).columns("907", "15")
        (['75', '01', '9'], ['75', '01', '90'])
        """
        a, b = map(number, operands)
        return a, b

    def operands(self, columns: Sequence[str]) -> tuple[str, ...] | None:
        tops = [column[0] for column in reversed(columns)]
        bottoms = [column[1:] for column in reversed(columns)]
        if "" in bottoms[bottoms.index(next(filter(None, bottoms))) :]:
            return None  # a lone digit below a pair: no two numbers are written so
        return "".join(tops), "".join(bottoms)

    def answer(self, *operands: str) -> str:
        a, b = map(number, operands)
        return str(exact(a, b).add(Decimal(a), Decimal(b)))

    def families(self) -> Mapping[str, Family]:
        return FAMILIES

    def reading(self, steps: int) -> str:
        """Say how the paper reads the answer.

        >>> Addition().read(["3", "14", "8", "18"])
        '18843'
        """
        return (
            "Read the last digits of each block of outputs from bottom to top\n"
            f"   including all digits of the {steps}ª line (the last generation)"
        )
