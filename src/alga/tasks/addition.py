"""Addition, units first: the paper's task, in any base, of two numbers or three.

The output of a step is the column's whole total, so the next step sees the carry as a second digit: after `15` the
column `77` is the prompt `15C77` and gives `15`.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from random import Random

from alga.tasks.hard_sums import FAMILIES
from alga.tasks.layouts import Digits
from alga.tasks.numbers import exact, number, text_of
from alga.tasks.procedure import Family, InBase


class Addition(InBase):
    """Past the shorter number's end the paper's text writes one digit (`14C6`), the author's code pads (`14C06`)."""

    kind = "addition"
    sign = "+"

    def __init__(self, base: int = 10, *, padded: bool = False, operands: int = 2) -> None:
        self.summary = self.summary_of(10, operands)
        super().__init__(base)
        self.name += {2: "", 3: "-of-three"}[operands] + ("-padded" if padded else "")
        padded = padded or operands > 2  # in a column of one or two digits, zeros say which numbers have ended
        self.summary += ", filled up with zeros" if padded else ""
        self.layout = Digits(operands, base=base, fill="0" if padded else "")

    @staticmethod
    def summary_of(base: int, operands: int) -> str:
        """Return what it computes, in words.

        >>> Addition.summary_of(16, 3)
        'the sum of three numbers in base 16'
        """
        return f"the sum of {'two' if operands == 2 else 'three'} numbers" + (f" in base {base}" if base != 10 else "")

    def step(self, before: str | None, column: str) -> str:
        """Return the column's total with the carry that the previous total left.

        >>> Addition().step("15", "77"), Addition(16).step("1e", "ff"), Addition(operands=3).step("20", "999")
        ('15', '1f', '29')
        """
        base = self.layout.base
        carry = int(before[:-1] or "0", base) if before else 0
        return text_of(sum(int(digit, base) for digit in column) + carry, base)

    def oracle(self, *operands: str) -> str:
        base = self.layout.base
        if base != 10:
            return text_of(sum(self.values(operands)), base)
        numbers = [number(operand) for operand in operands]
        context, total = exact(*numbers), Decimal(0)
        for operand in numbers:
            total = context.add(total, Decimal(operand))
        return str(total)

    def families(self) -> Mapping[str, Family]:
        return FAMILIES if (self.layout.base, self.layout.arity) == (10, 2) else {"uniform": self._numbers}

    def _numbers(self, rng: Random, digits: int) -> tuple[str, ...]:
        """Draw numbers of random digits, the first of the given length."""
        lengths = [digits] + [rng.randint(1, digits) for _ in range(self.layout.arity - 1)]
        return tuple("".join(rng.choices(self.layout.symbols, k=length)) for length in lengths)

    def reading(self, steps: int) -> str:
        """Say how the paper reads the answer.

        >>> Addition().read(["3", "14", "8", "18"])
        '18843'
        """
        return (
            "Read the last digits of each block of outputs from bottom to top\n"
            f"   including all digits of the {steps}ª line (the last generation)"
        )
