"""Two numbers, one digit above the other, units first: subtraction, comparison, bitwise operations; in any base."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final

from alga.errors import AlgaError
from alga.tasks.contract import Task
from alga.tasks.numbers import digits_of, number, text_of, value_of

BORROW: Final = "-"
SIGNS: Final = {"and": "&", "or": "|", "xor": "^"}


class _Pairwise(Task):
    """The shorter number is filled up with zeros: the places are not interchangeable."""

    fill = "0"
    kind: str  # the name in base ten, where there is one

    def __init__(self, base: int = 10) -> None:
        self.base, self.digits = base, digits_of(base)
        self.symbols = self.digits
        self.name = self.kind if base == 10 else f"{self.kind}-base-{base}"
        self.summary = f"{type(self).summary}{'' if base == 10 else f' in base {base}'}"
        self._pairs = ["".join(pair) for pair in itertools.product(self.digits, repeat=2)]

    def first_columns(self, setting: str) -> Sequence[str]:
        return self._pairs

    def next_columns(self, setting: str) -> Sequence[str]:
        return self._pairs

    def rows(self, *operands: str) -> tuple[str, ...]:
        a, b = (number(operand, self.digits) for operand in operands)
        return a, b

    def operands(self, columns: Sequence[str]) -> tuple[str, ...] | None:
        return "".join(c[0] for c in reversed(columns)), "".join(c[1] for c in reversed(columns))

    def _values(self, operands: tuple[str, ...]) -> list[int]:
        return [value_of(number(operand, self.digits), self.base) for operand in operands]


class Subtraction(_Pairwise):
    """The output is a digit, with the mark `-` before it where the step had to borrow: 3-6 gives `-7`."""

    kind = "subtraction"
    summary = "a number minus one that is no larger"
    sign = "-"
    verb = "sub"

    def __init__(self, base: int = 10) -> None:
        super().__init__(base)
        self.symbols = self.digits + BORROW

    def output(self, context: str | None, column: str) -> str:
        """Return the digit, marked where it borrows from the next column.

        >>> Subtraction().output(None, "36"), Subtraction().output("-7", "52")
        ('-7', '2')
        """
        top, bottom = (int(digit, self.base) for digit in column)
        difference = top - bottom - (context is not None and context.startswith(BORROW))
        digit = self.digits[difference % self.base]
        return f"{BORROW}{digit}" if difference < 0 else digit

    def rows(self, *operands: str) -> tuple[str, ...]:
        """Set the smaller number below the larger.

        >>> Subtraction().columns("53", "6")
        ['36', '50']
        """
        a, b = super().rows(*operands)
        if (len(a), a) < (len(b), b):
            raise AlgaError("subtraction needs a first number that is at least the second, got a smaller one")
        return a, b

    def ending(self, output: str) -> str:
        return output[-1]

    def answer(self, *operands: str) -> str:
        a, b = self._values(operands)
        return text_of(a - b, self.base)


class Comparison(_Pairwise):
    """The output says how the digits so far compare; a later digit, being worth more, overrules all before it."""

    kind = "comparison"
    summary = "whether a number is smaller than, equal to or larger than another"
    sign = "?"
    verb = "cmp"

    def __init__(self, base: int = 10) -> None:
        super().__init__(base)
        self.symbols = self.digits + "<=>"

    def output(self, context: str | None, column: str) -> str:
        """Compare the two digits; let what came before decide where they are equal.

        >>> Comparison().output(None, "36"), Comparison().output("<", "55"), Comparison().output("<", "65")
        ('<', '<', '>')
        """
        top, bottom = map(self.digits.index, column)
        if top == bottom:
            return context or "="
        return "<" if top < bottom else ">"

    def written(self, output: str) -> str:
        return ""

    def answer(self, *operands: str) -> str:
        a, b = self._values(operands)
        return "=" if a == b else "<" if a < b else ">"


class Bitwise(_Pairwise):
    """And, or, exclusive or of the bits behind each digit; the base is a power of two, and no step needs another."""

    def __init__(self, operation: str, base: int) -> None:
        if base & (base - 1):
            raise AlgaError(f"bitwise operations need a base that is a power of two, got {base}")
        self.kind, self.sign = operation, SIGNS[operation]
        self.operation = operation
        super().__init__(base)
        self.summary = f"the bitwise {operation} of two numbers in base {base}"

    summary = ""

    def prompt(self, context: str | None, column: str) -> str:
        return column

    def output(self, context: str | None, column: str) -> str:
        """Work on the two digits' bits.

        >>> Bitwise("xor", 16).output(None, "f3"), Bitwise("and", 8).output("7", "63")
        ('c', '2')
        """
        top, bottom = (int(digit, self.base) for digit in column)
        return self.digits[self._on(top, bottom)]

    def answer(self, *operands: str) -> str:
        a, b = self._values(operands)
        return text_of(self._on(a, b), self.base)

    def _on(self, a: int, b: int) -> int:
        return {"and": a & b, "or": a | b, "xor": a ^ b}[self.operation]
