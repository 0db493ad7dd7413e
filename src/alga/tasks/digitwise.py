"""A number and one digit: multiplication units first, division from the left.

The digit is the problem's setting: it stands in every column beside the number's own digit.
"""

from __future__ import annotations

from collections.abc import Sequence

from alga.errors import AlgaError
from alga.tasks.contract import Task
from alga.tasks.numbers import digits_of, number, single_digit, text_of, value_of


class _ByADigit(Task):
    kind: str  # the name in base ten
    repeats = True

    def __init__(self, base: int = 10) -> None:
        self.base = base
        self.symbols = digits_of(base)
        self.name = self.kind if base == 10 else f"{self.kind}-base-{base}"
        self.summary = f"{type(self).summary}{'' if base == 10 else f' in base {base}'}"

    def first_columns(self, setting: str) -> Sequence[str]:
        return [digit + setting for digit in self.symbols]

    def next_columns(self, setting: str) -> Sequence[str]:
        return self.first_columns(setting)

    def _read(self, operands: tuple[str, ...]) -> tuple[str, str]:
        a, b = operands
        return number(a, self.symbols), single_digit(b, self.symbols)


class TimesADigit(_ByADigit):
    """The output is the whole partial product, so its tens are the carry: `63C97` is 9 × 7 + 6 and gives `69`."""

    kind = "times-a-digit"
    summary = "a number times a single digit"
    verb = "times"
    sign = "×"

    def settings(self) -> Sequence[str]:
        return self.symbols

    def output(self, context: str | None, column: str) -> str:
        """Return the partial product with the carry that the previous one left.

        >>> TimesADigit().output("63", "97"), TimesADigit(16).output("e1", "ff")
        ('69', 'ef')
        """
        digit, multiplier = (int(char, self.base) for char in column)
        carry = int(context[:-1] or "0", self.base) if context else 0
        return text_of(digit * multiplier + carry, self.base)

    def rows(self, *operands: str) -> tuple[str, ...]:
        """Set the multiplier below every digit.

        >>> TimesADigit().columns("99", "7")
        ['97', '97']
        """
        multiplicand, multiplier = self._read(operands)
        return multiplicand, multiplier * len(multiplicand)

    def operands(self, columns: Sequence[str]) -> tuple[str, ...] | None:
        return "".join(column[0] for column in reversed(columns)), columns[0][1]

    def answer(self, *operands: str) -> str:
        a, b = (value_of(text, self.base) for text in self._read(operands))
        return text_of(a * b, self.base)


class DivisionByADigit(_ByADigit):
    """The output is a quotient digit and the remainder that goes on: 17 by 5 is `32`."""

    kind = "division-by-a-digit"
    summary = "a number divided by a single digit, with remainder"
    verb = "divide"
    sign = "÷"
    from_right = False

    def settings(self) -> Sequence[str]:
        return self.symbols[1:]

    def output(self, context: str | None, column: str) -> str:
        """Bring the digit down to the previous remainder and divide.

        >>> DivisionByADigit().output("01", "75")
        '32'
        """
        digit, divisor = (int(char, self.base) for char in column)
        brought_down = (int(context[-1], self.base) if context else 0) * self.base + digit
        quotient, remainder = divmod(brought_down, divisor)
        return self.symbols[quotient] + self.symbols[remainder]

    def rows(self, *operands: str) -> tuple[str, ...]:
        """Set the divisor below every digit.

        >>> DivisionByADigit().columns("17", "5")
        ['15', '75']
        """
        dividend, divisor = self._read(operands)
        if divisor == "0":
            raise AlgaError("a number cannot be divided by zero")
        return dividend, divisor * len(dividend)

    def operands(self, columns: Sequence[str]) -> tuple[str, ...] | None:
        return "".join(column[0] for column in columns), columns[0][1]

    def written(self, output: str) -> str:
        return output[0]

    def ending(self, output: str) -> str:
        """Return the last quotient digit and the remainder.

        >>> DivisionByADigit().read(["01", "32"])
        '3 r2'
        """
        return f"{output[0]} r{output[-1]}"

    def answer(self, *operands: str) -> str:
        a, b = (value_of(text, self.base) for text in self._read(operands))
        quotient, remainder = divmod(a, b)
        return f"{text_of(quotient, self.base)} r{text_of(remainder, self.base)}"
