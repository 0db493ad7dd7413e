"""A number and one digit: multiplication units first, division from the left.

The digit is the problem's setting: every column has it beside the number's own digit.
"""

from __future__ import annotations

from alga.base.errors import AlgaError
from alga.tasks.layouts import DigitBelow
from alga.tasks.numbers import text_of
from alga.tasks.procedure import InBase


class TimesADigit(InBase):
    """The output is the whole partial product, so its tens are the carry: `63C97` is 9 × 7 + 6 and gives `69`."""

    kind = "times-a-digit"
    summary = "a number times a single digit"
    sign = "×"

    def __init__(self, base: int = 10) -> None:
        super().__init__(base)
        self.layout = DigitBelow(base=base)

    def step(self, before: str | None, column: str) -> str:
        """Return the partial product with the carry that the previous one left.

        >>> TimesADigit().step("63", "97"), TimesADigit(16).step("e1", "ff")
        ('69', 'ef')
        """
        base = self.layout.base
        digit, multiplier = (int(char, base) for char in column)
        carry = int(before[:-1] or "0", base) if before else 0
        return text_of(digit * multiplier + carry, base)

    def oracle(self, *operands: str) -> str:
        a, b = self.values(operands)
        return text_of(a * b, self.layout.base)


class DivisionByADigit(InBase):
    """The output is a quotient digit and the remainder for the next column: 17 by 5 is `32`."""

    kind = "division-by-a-digit"
    summary = "a number divided by a single digit, with remainder"
    sign = "÷"

    def __init__(self, base: int = 10) -> None:
        super().__init__(base)
        self.layout = _Divisor(base=base, from_right=False, below=self.symbols[1:])

    def step(self, before: str | None, column: str) -> str:
        """Bring the digit down to the previous remainder and divide.

        >>> DivisionByADigit().step("01", "75")
        '32'
        """
        base = self.layout.base
        digit, divisor = (int(char, base) for char in column)
        brought_down = (int(before[-1], base) if before else 0) * base + digit
        quotient, remainder = divmod(brought_down, divisor)
        return self.symbols[quotient] + self.symbols[remainder]

    def written(self, output: str) -> str:
        return output[0]

    def ending(self, output: str) -> str:
        """Return the last quotient digit and the remainder.

        >>> DivisionByADigit().read(["01", "32"])
        '3 r2'
        """
        return f"{output[0]} r{output[-1]}"

    def oracle(self, *operands: str) -> str:
        a, b = self.values(operands)
        quotient, remainder = divmod(a, b)
        return f"{text_of(quotient, self.layout.base)} r{text_of(remainder, self.layout.base)}"


class _Divisor(DigitBelow):
    """The digit below must not be zero."""

    def rows(self, *operands: str) -> tuple[str, ...]:
        above, below = super().rows(*operands)
        if below.startswith("0"):
            raise AlgaError("a number cannot be divided by zero")
        return above, below
