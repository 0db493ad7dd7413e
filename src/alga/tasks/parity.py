"""Parity of a binary number, from the left: the smallest procedure that needs its previous output."""

from __future__ import annotations

from collections.abc import Sequence

from alga.tasks.contract import Task
from alga.tasks.numbers import number


class Parity(Task):
    """The output is `1` while the ones seen so far are odd in number; one operand, one bit a column."""

    name = "parity"
    summary = "whether a binary number has an odd number of ones"
    symbols = "01"
    arity = 1
    sign = ""
    from_right = False

    def first_columns(self, setting: str) -> Sequence[str]:
        return self.symbols

    def next_columns(self, setting: str) -> Sequence[str]:
        return self.symbols

    def output(self, context: str | None, column: str) -> str:
        """Flip on a one.

        >>> Parity().output("1", "1")
        '0'
        """
        return "1" if (context == "1") != (column == "1") else "0"

    def rows(self, *operands: str) -> tuple[str, ...]:
        (bits,) = operands
        return (number(bits, self.symbols),)

    def operands(self, columns: Sequence[str]) -> tuple[str, ...] | None:
        return ("".join(columns),)

    def written(self, output: str) -> str:
        return ""

    def answer(self, *operands: str) -> str:
        return str(operands[0].count("1") % 2)

    def expression(self, *operands: str) -> str:
        return f"parity of {operands[0]}"
