"""Nye et al. 2021: a scratchpad with the full working, what is left of the numbers and the sum so far in every line."""

from __future__ import annotations

from typing import ClassVar

from alga.research.baselines.language import PLACES, Language, Tokens
from alga.research.baselines.plain import added, digits_only
from alga.tasks.numbers import DIGITS

CARRY = "C:"
BEGIN, FINISH = "<scratch>", "</scratch>"


class Scratchpad(Language):
    """The whole state of the working is copied from line to line."""

    title: ClassVar = "scratchpad"
    source: ClassVar = "Nye et al. 2021"
    given: ClassVar = "the working, digit by digit"
    vocabulary: ClassVar = (*DIGITS, "+", "=", ",", CARRY, "\n", BEGIN, FINISH)
    rows: int = PLACES

    def question(self, first: str, second: str) -> Tokens:
        return [*first, "+", *second, "="]

    def reply(self, first: str, second: str) -> Tokens:
        """Return the working and the sum.

        >>> from alga.research.baselines.contract import Scale
        >>> print("".join(Scratchpad(Scale(), 1e-3, 0).reply("29", "57")).replace("<scratch>", "").strip())
        29+57,C:0
        2+5,6C:1
        ,86C:0
        086
        </scratch>86
        """
        left, carry, total = [first, second], 0, ""
        lines = [_line(left, total, carry)]
        while any(left):
            column = sum(int(number[-1:] or "0") for number in left) + carry
            carry, total = column // 10, f"{column % 10}{total}"
            left = [number[:-1] for number in left]
            lines.append(_line(left, total, carry))
        working = [token for line in lines for token in (*line, "\n")]
        return [BEGIN, *working, str(carry), *total, "\n", FINISH, *added(first, second)]

    def read(self, reply: Tokens) -> str | None:
        return digits_only(reply[reply.index(FINISH) + 1 :]) if FINISH in reply else None


def _line(left: list[str], total: str, carry: int) -> Tokens:
    rest = [*left[0], "+", *left[1]] if any(left) else []
    return [*rest, ",", *total, CARRY, str(carry)]
