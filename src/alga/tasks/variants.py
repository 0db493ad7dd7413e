"""Variants of addition, for the questions that the paper leaves open.

How little may a context say, is the separator needed, and how much can one step do?
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Final

from alga.tasks.addition import Addition
from alga.tasks.layouts import Layout
from alga.tasks.numbers import digits_of, number, text_of
from alga.tasks.procedure import SEPARATOR, Procedure

VIEWS: Final[dict[str, Callable[[str], str]]] = {
    "last-digit": lambda total: total[-1:],
    "first-digit": lambda total: total[:1],
    "carry": lambda total: "1" if len(total) > 1 else "0",
    "nothing": lambda total: total[:0],
}


class LessContext(Addition):
    """Addition whose prompts show only part of the previous total."""

    def __init__(self, shown: str) -> None:
        super().__init__()
        self.name, self._shown = f"addition-context-{shown}", VIEWS[shown]
        self.summary += f", contexts reduced to the {shown}" if shown != "nothing" else ", without contexts"

    def view(self, before: str) -> str:
        return self._shown(before)


class NoSeparator(Addition):
    """Addition whose prompts leave out the `C`: `1577` for `15C77`."""

    def __init__(self, *, padded: bool) -> None:
        super().__init__(padded=padded)
        self.name = f"{self.name}-no-separator"
        self.summary += ", without the separator"

    def prompt(self, before: str | None, column: str) -> str:
        return super().prompt(before, column).replace(SEPARATOR, "")


class OneToken(Addition):
    """Addition whose steps write digit and carry as one token: the totals 0 to 19 are the digits of base 20."""

    def __init__(self) -> None:
        super().__init__()
        self.name = "addition-one-token"
        self.summary += ", digit and carry in one token"
        self.symbols = digits_of(20)

    def step(self, before: str | None, column: str) -> str:
        return text_of(int(super().step(_in_ten(before), column)), 20)

    def written(self, output: str) -> str:
        return (_in_ten(output) or "")[-1:]

    def ending(self, output: str) -> str:
        return _in_ten(output) or ""


class Blocks(Procedure):
    """Addition of several digits a step: `34` and `78` after a carry are the prompt `1C3478` and give `311`.

    An output is the total backwards, padded with zeros: its last digit is the carry. Prompts show only the carry, or
    the whole output; the first prompt shows a carry of zero.
    """

    sign = "+"
    symbols = digits_of(10)

    def __init__(self, size: int, *, whole: bool = False) -> None:
        self.size, self._whole = size, whole
        self.layout = _BlocksOfDigits(size)
        self.name = f"addition-blocks-of-{size}{'-whole' if whole else ''}"
        self.summary = f"the sum of two numbers, {size} digits a step"

    def step(self, before: str | None, column: str) -> str:
        """Return the block's total backwards.

        >>> Blocks(2).step("001", "3478"), Blocks(2).prompt("001", "3478")
        ('311', '1C3478')
        """
        carry = int(before[-1]) if before else 0
        return str(int(column[: self.size]) + int(column[self.size :]) + carry).zfill(self.size + 1)[::-1]

    def carried(self, output: str) -> str:
        return output if self._whole else output[-1:]

    def view(self, before: str) -> str:
        return self.carried(before)

    def prompt(self, before: str | None, column: str) -> str:
        return super().prompt("0" * (self.size + 1) if before is None else before, column)

    def written(self, output: str) -> str:
        return output[: self.size][::-1]

    def ending(self, output: str) -> str:
        return output[::-1]

    def oracle(self, *operands: str) -> str:
        return Addition().oracle(*operands)


class _BlocksOfDigits(Layout):
    """Blocks of one number's digits beside those of the other, from the right.

    >>> _BlocksOfDigits(2).split("12345", "678")
    ['4578', '2306', '0100']
    """

    arity = 2
    symbols = digits_of(10)

    def __init__(self, size: int) -> None:
        self.size = size

    def first(self, setting: str) -> Sequence[str]:
        return ["".join(digits) for digits in itertools.product(self.symbols, repeat=2 * self.size)]

    def split(self, *operands: str) -> list[str]:
        numbers = [number(operand, self.symbols) for operand in operands]
        longest = -(-max(map(len, numbers)) // self.size) * self.size
        filled = [text.zfill(longest) for text in numbers]
        starts = range(longest - self.size, -1, -self.size)
        return ["".join(text[start : start + self.size] for text in filled) for start in starts]

    def operands(self, columns: Sequence[str]) -> tuple[str, ...] | None:
        halves = [(column[: self.size], column[self.size :]) for column in reversed(columns)]
        return tuple("".join(blocks) for blocks in zip(*halves, strict=True))


def _in_ten(output: str | None) -> str | None:
    """Return a total in base ten; any text of symbols that a network may write has one."""
    return None if output is None else str(int(output, 20)) if output else ""
