"""Subtraction with borrow, units first: the larger number minus the smaller."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from alga.errors import AlgaError
from alga.tasks.addition import PAIRS
from alga.tasks.contract import Task
from alga.tasks.numbers import DIGITS, exact, number

BORROW = "-"


class Subtraction(Task):
    """The output is a digit, with the mark `-` before it where the step had to borrow: 3-6 gives `-7`."""

    name = "subtraction"
    summary = "a number minus one that is no larger"
    symbols = DIGITS + BORROW
    sign = "-"
    verb = "sub"
    fill = "0"  # not the paper's lone digit: the places are not interchangeable

    def first_columns(self, setting: str) -> Sequence[str]:
        return PAIRS

    def next_columns(self, setting: str) -> Sequence[str]:
        return PAIRS

    def output(self, context: str | None, column: str) -> str:
        """Return the digit, marked where it borrows from the next column.

        >>> Subtraction().output(None, "36"), Subtraction().output("-7", "52")
        ('-7', '2')
        """
        top, bottom = map(int, column)
        difference = top - bottom - (context is not None and context.startswith(BORROW))
        return f"{BORROW}{difference + 10}" if difference < 0 else str(difference)

    def rows(self, *operands: str) -> tuple[str, ...]:
        """Set the smaller number below the larger.

        >>> Subtraction().columns("53", "6")
        ['36', '50']
        """
        a, b = map(number, operands)
        if (len(a), a) < (len(b), b):
            raise AlgaError("subtraction needs a first number that is at least the second, got a smaller one")
        return a, b

    def operands(self, columns: Sequence[str]) -> tuple[str, ...] | None:
        return "".join(c[0] for c in reversed(columns)), "".join(c[1] for c in reversed(columns))

    def ending(self, output: str) -> str:
        return output[-1]

    def answer(self, *operands: str) -> str:
        a, b = map(number, operands)
        return str(exact(a, b).subtract(Decimal(a), Decimal(b)))
