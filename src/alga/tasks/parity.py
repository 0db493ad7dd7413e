"""Parity of a binary number, from the left: the smallest procedure that needs its previous output."""

from __future__ import annotations

from alga.tasks.layouts import Digits
from alga.tasks.procedure import Procedure


class Parity(Procedure):
    """The output is `1` while the ones seen so far are odd in number; one operand, one bit a column."""

    name = "parity"
    summary = "whether a binary number has an odd number of ones"
    layout = Digits(base=2, from_right=False)

    def step(self, before: str | None, column: str) -> str:
        """Flip on a one.

        >>> Parity().step("1", "1")
        '0'
        """
        return "1" if (before == "1") != (column == "1") else "0"

    def written(self, output: str) -> str:
        return ""

    def oracle(self, *operands: str) -> str:
        return str(operands[0].count("1") % 2)
