"""Two numbers, one digit above the other, units first: subtraction, comparison, bitwise operations; in any base."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from alga.base.errors import AlgaError
from alga.tasks.layouts import Digits
from alga.tasks.numbers import text_of
from alga.tasks.procedure import InBase

BORROW: Final = "-"
SIGNS: Final = {"and": "&", "or": "|", "xor": "^"}


class _Pairwise(InBase):
    """The shorter number is padded with zeros, because the operands are not interchangeable."""

    def __init__(self, base: int = 10) -> None:
        super().__init__(base)
        self.layout = Digits(2, base=base, fill="0")


class _LargerFirst(Digits):
    """Two numbers, the second no larger than the first."""

    def rows(self, *operands: str) -> tuple[str, ...]:
        a, b = super().rows(*operands)
        if (len(a), a) < (len(b), b):
            raise AlgaError("subtraction needs a first number that is at least the second, got a smaller one")
        return a, b


class Subtraction(_Pairwise):
    """The output is a digit, with a `-` before it if the step had to borrow: 3-6 gives `-7`."""

    kind = "subtraction"
    summary = "a number minus one that is no larger"
    sign = "-"

    def __init__(self, base: int = 10) -> None:
        super().__init__(base)
        self.symbols += BORROW
        self.layout = _LargerFirst(2, base=base, fill="0")

    def step(self, before: str | None, column: str) -> str:
        """Return the digit, marked if it borrows from the next column.

        >>> Subtraction().step(None, "36"), Subtraction().step("-7", "52")
        ('-7', '2')
        """
        top, bottom = (int(digit, self.layout.base) for digit in column)
        difference = top - bottom - (before is not None and before.startswith(BORROW))
        digit = self.layout.symbols[difference % self.layout.base]
        return f"{BORROW}{digit}" if difference < 0 else digit

    def ending(self, output: str) -> str:
        return output[-1]

    def ends(self, output: str) -> bool:
        return not output.startswith(BORROW)

    def oracle(self, *operands: str) -> str:
        a, b = self.values(operands)
        return text_of(a - b, self.layout.base)


class Comparison(_Pairwise):
    """The output says how the digits so far compare; a later digit, being worth more, overrules all before it."""

    kind = "comparison"
    summary = "whether a number is smaller than, equal to or larger than another"
    sign = "?"

    def __init__(self, base: int = 10) -> None:
        super().__init__(base)
        self.symbols += "<=>"

    def step(self, before: str | None, column: str) -> str:
        """Compare the two digits; if they are equal, the previous output decides.

        >>> Comparison().step(None, "36"), Comparison().step("<", "55"), Comparison().step("<", "65")
        ('<', '<', '>')
        """
        top, bottom = map(self.layout.symbols.index, column)
        if top == bottom:
            return before or "="
        return "<" if top < bottom else ">"

    def equation(self, operands: Sequence[str], answer: str) -> str:
        """Return a comparison as people write it: `3 < 5`."""
        return f" {answer} ".join(operands)

    def written(self, output: str) -> str:
        return ""

    def oracle(self, *operands: str) -> str:
        a, b = self.values(operands)
        return "=" if a == b else "<" if a < b else ">"


class Bitwise(_Pairwise):
    """And, or, exclusive or of each digit's bits; the base is a power of two, and no step needs a context."""

    def __init__(self, operation: str, base: int) -> None:
        if base & (base - 1):
            raise AlgaError(f"bitwise operations need a base that is a power of two, got {base}")
        self.kind, self.sign, self.summary = operation, SIGNS[operation], f"the bitwise {operation} of two numbers"
        super().__init__(base)

    def prompt(self, before: str | None, column: str) -> str:
        return column

    def step(self, before: str | None, column: str) -> str:
        """Return the operation on the two digits' bits.

        >>> Bitwise("xor", 16).step(None, "f3"), Bitwise("and", 8).step("7", "63")
        ('c', '2')
        """
        top, bottom = (int(digit, self.layout.base) for digit in column)
        return self.layout.symbols[self._on(top, bottom)]

    def oracle(self, *operands: str) -> str:
        a, b = self.values(operands)
        return text_of(self._on(a, b), self.layout.base)

    def _on(self, a: int, b: int) -> int:
        return {"and": a & b, "or": a | b, "xor": a ^ b}[self.kind]
