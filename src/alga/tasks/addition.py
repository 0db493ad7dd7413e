"""Addition, units first: the paper's task, in any base, of two numbers or three.

The output of a step is the column's whole total, so the next step sees the carry as a second digit: after `15` the
column `77` is the prompt `15C77` and gives `15`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from decimal import Decimal
from random import Random

from alga.tasks.contract import Family, Task
from alga.tasks.numbers import digits_of, exact, number, text_of, value_of
from alga.tasks.sums import FAMILIES


class Addition(Task):
    """Past the shorter number the paper's text writes one digit (`14C6`), the author's code pads (`14C06`)."""

    sign = "+"
    plain = True

    def __init__(self, base: int = 10, *, padded: bool = False, operands: int = 2) -> None:
        self.base, self.arity = base, operands
        self.folds = operands == 2  # the answer so far and the next number are two
        self.symbols = digits_of(base)
        several = {2: "", 3: "-of-three"}[operands]
        in_base = "" if base == 10 else f"-base-{base}"
        self.name = f"addition{several}{in_base}{'-padded' if padded else ''}"
        padded = padded or operands > 2  # a lone digit or two may stand for any of the numbers: zeros say which
        self.summary = f"the sum of {'two' if operands == 2 else 'three'} numbers"
        self.summary += (f" in base {base}" if in_base else "") + (", filled up with zeros" if padded else "")
        self.fill = "0" if padded else ""
        self.verb = "add" if operands == 2 else "add three"
        self.lookahead = "addition-lookahead" if (base, operands) == (10, 2) else None
        self._columns = [["".join(c) for c in itertools.product(self.symbols, repeat=n + 1)] for n in range(operands)]

    def first_columns(self, setting: str) -> Sequence[str]:
        return self._columns[-1]

    def next_columns(self, setting: str) -> Sequence[str]:
        return self._columns[-1] if self.fill else [*itertools.chain(*reversed(self._columns))]

    def output(self, context: str | None, column: str) -> str:
        """Return the column's total with the carry that the previous total left.

        >>> Addition().output("15", "77"), Addition(16).output("1e", "ff"), Addition(operands=3).output("20", "999")
        ('15', '1f', '29')
        """
        carry = int(context[:-1] or "0", self.base) if context else 0
        return text_of(sum(int(digit, self.base) for digit in column) + carry, self.base)

    def rows(self, *operands: str) -> tuple[str, ...]:
        """Set one number above the other.

        >>> Addition().columns("907", "15"), Addition(padded=True).columns("907", "15")
        (['75', '01', '9'], ['75', '01', '90'])
        """
        return tuple(number(operand, self.symbols) for operand in operands)

    def operands(self, columns: Sequence[str]) -> tuple[str, ...] | None:
        if any(len(later) > len(earlier) for earlier, later in itertools.pairwise(columns)):
            return None  # a number has no digits left of its first
        lines = [[column[i : i + 1] for column in reversed(columns)] for i in range(self.arity)]
        return tuple("".join(line) for line in lines)

    def answer(self, *operands: str) -> str:
        numbers = [number(operand, self.symbols) for operand in operands]
        if self.base != 10:
            return text_of(sum(value_of(operand, self.base) for operand in numbers), self.base)
        context = exact(*numbers)
        total = Decimal(0)
        for operand in numbers:
            total = context.add(total, Decimal(operand))
        return str(total)

    def families(self) -> Mapping[str, Family]:
        return FAMILIES if (self.base, self.arity) == (10, 2) else {"uniform": self._numbers}

    def _numbers(self, rng: Random, digits: int) -> tuple[str, ...]:
        """Draw numbers of random digits, the first of the given length."""
        lengths = [digits] + [rng.randint(1, digits) for _ in range(self.arity - 1)]
        return tuple("".join(rng.choices(self.symbols, k=length)) for length in lengths)

    def reading(self, steps: int) -> str:
        """Say how the paper reads the answer.

        >>> Addition().read(["3", "14", "8", "18"])
        '18843'
        """
        return (
            "Read the last digits of each block of outputs from bottom to top\n"
            f"   including all digits of the {steps}ª line (the last generation)"
        )
