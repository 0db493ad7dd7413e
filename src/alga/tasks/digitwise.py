"""A number and one digit: multiplication units first, division from the left.

The digit is the problem's setting: it stands in every column beside the number's own digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from alga.errors import AlgaError
from alga.tasks.contract import Task
from alga.tasks.numbers import DIGITS, exact, number, single_digit


class _ByADigit(Task):
    symbols = DIGITS

    def first_columns(self, setting: str) -> Sequence[str]:
        return [digit + setting for digit in DIGITS]

    def next_columns(self, setting: str) -> Sequence[str]:
        return self.first_columns(setting)


class TimesADigit(_ByADigit):
    """The output is the whole partial product, so its tens are the carry: `63C97` is 9 × 7 + 6 and gives `69`."""

    name = "times-a-digit"
    summary = "a number times a single digit"
    sign = "×"

    def settings(self) -> Sequence[str]:
        return DIGITS

    def output(self, context: str | None, column: str) -> str:
        """Return the partial product with the carry that the previous one left.

        >>> TimesADigit().output("63", "97")
        '69'
        """
        digit, multiplier = map(int, column)
        return str(digit * multiplier + (int(context) // 10 if context else 0))

    def rows(self, *operands: str) -> tuple[str, ...]:
        """Set the multiplier below every digit.

        >>> TimesADigit().columns("99", "7")
        ['97', '97']
        """
        multiplicand, multiplier = number(operands[0]), single_digit(operands[1])
        return multiplicand, multiplier * len(multiplicand)

    def operands(self, columns: Sequence[str]) -> tuple[str, ...] | None:
        return "".join(column[0] for column in reversed(columns)), columns[0][1]

    def answer(self, *operands: str) -> str:
        a, b = number(operands[0]), single_digit(operands[1])
        return str(exact(a, b).multiply(Decimal(a), Decimal(b)))


class DivisionByADigit(_ByADigit):
    """The output is a quotient digit and the remainder that goes on: 17 by 5 is `32`."""

    name = "division-by-a-digit"
    summary = "a number divided by a single digit, with remainder"
    sign = "÷"
    from_right = False

    def settings(self) -> Sequence[str]:
        return DIGITS[1:]

    def output(self, context: str | None, column: str) -> str:
        """Bring the digit down to the previous remainder and divide.

        >>> DivisionByADigit().output("01", "75")
        '32'
        """
        digit, divisor = map(int, column)
        quotient, remainder = divmod((int(context[-1]) if context else 0) * 10 + digit, divisor)
        return f"{quotient}{remainder}"

    def rows(self, *operands: str) -> tuple[str, ...]:
        """Set the divisor below every digit.

        >>> DivisionByADigit().columns("17", "5")
        ['15', '75']
        """
        dividend, divisor = number(operands[0]), single_digit(operands[1])
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
        a, b = number(operands[0]), single_digit(operands[1])
        quotient, remainder = exact(a, b).divmod(Decimal(a), Decimal(b))
        return f"{quotient} r{remainder}"
