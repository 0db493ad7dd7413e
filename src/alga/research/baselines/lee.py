"""Lee et al. 2024: the reversed sum, and two scratchpads, a short one and a detailed one."""

from __future__ import annotations

from typing import ClassVar

from alga.research.baselines.language import PLACES, Language, Tokens
from alga.research.baselines.plain import added, digits_only
from alga.research.baselines.scratchpad import BEGIN, FINISH
from alga.tasks.numbers import DIGITS

SET_DIGIT, SET_CARRY = "A->", "C->"
BEYOND = "trained on up to 7 digits, 0 % on 8 (`result_7digit.csv` in the repository)"
SAMPLES = "`sample_efficiency.csv` in the repository"


class Reversed(Language):
    """The sum is written units first."""

    title: ClassVar = "reversed sum"
    source: ClassVar = "Lee et al. 2024"
    given: ClassVar = "nothing but the order"
    published: ClassVar = f"{BEYOND}; 3 digits: 99.8 % after 5,000 samples ({SAMPLES})"
    vocabulary: ClassVar = (*DIGITS, "+", "=")
    rows: int = PLACES
    version: ClassVar = 2  # with learned places, as in the repository

    def question(self, first: str, second: str) -> Tokens:
        return [*first, "+", *second, "="]

    def reply(self, first: str, second: str) -> Tokens:
        return [*added(first, second)[::-1]]

    def read(self, reply: Tokens) -> str | None:
        return digits_only(reply[::-1])


class Simplified(Reversed):
    """A line for each column: its digit and its carry; then the sum."""

    title: ClassVar = "simplified scratchpad"
    given: ClassVar = "digit and carry of each column"
    published: ClassVar = f"3 digits: 99.7 % after 2,000 samples ({SAMPLES})"
    vocabulary: ClassVar = (*DIGITS, "+", "=", SET_DIGIT, SET_CARRY, ",", "\n", FINISH)
    version: ClassVar = 1  # it had learned places from the first

    def reply(self, first: str, second: str) -> Tokens:
        """Return the lines and the sum.

        >>> from alga.research.baselines.contract import Scale
        >>> print("".join(Simplified(Scale(), 1e-3, 0).reply("128", "367")))
        A->5,C->1
        A->9,C->0
        A->4,C->0
        </scratch>495
        """
        lines = [[SET_DIGIT, digit, ",", SET_CARRY, carry, "\n"] for _, digit, carry in _columns(first, second)]
        return [*(token for line in lines for token in line), FINISH, *added(first, second)]

    def read(self, reply: Tokens) -> str | None:
        return digits_only(reply[reply.index(FINISH) + 1 :]) if FINISH in reply else None


class Detailed(Simplified):
    """Each line repeats what is left of both numbers and the sum so far, and spells the column's addition out.

    Commas within the lists of digits and full stops are left out: the same said in fewer tokens.
    """

    title: ClassVar = "detailed scratchpad"
    given: ClassVar = "the working in every detail"
    published: ClassVar = f"3 digits: 99.8 % after 1,000 samples ({SAMPLES})"
    vocabulary: ClassVar = (
        *DIGITS, "+", "=", SET_DIGIT, SET_CARRY, ",", "\n", BEGIN, FINISH, "[", "]", "A=", "C=", "has", "digits", "END"
    )  # fmt: skip

    def reply(self, first: str, second: str) -> Tokens:
        """Return the working and the sum.

        >>> from alga.research.baselines.contract import Scale
        >>> print("".join(Detailed(Scale(), 1e-3, 0).reply("28", "67")))
        <scratch>
        [28]has2digits
        [67]has2digits
        [28]+[67],A=[],C=0,8+7+0=15,A->5,C->1
        [2]+[6],A=[5],C=1,2+6+1=9,A->9,C->0
        []+[],A=[95],C=0,END
        </scratch>95
        """
        lines = [[BEGIN], *([*_list(number), "has", *str(len(number)), "digits"] for number in (first, second))]
        left, total, carry = [first, second], "", "0"
        for spelled, digit, following in _columns(first, second):
            lines.append([*_state(left, total, carry), *spelled, ",", SET_DIGIT, digit, ",", SET_CARRY, following])
            left, total, carry = [number[:-1] for number in left], digit + total, following
        lines.append([*_state(left, total, carry), "END"])
        return [*(token for line in lines for token in (*line, "\n")), FINISH, *added(first, second)]


def _columns(first: str, second: str) -> list[tuple[str, str, str]]:
    """Return for each column, units first, how it is added, its digit and its carry."""
    columns, carry = [], 0
    for place in range(1, max(len(first), len(second)) + 1):
        a, b = (int(number[-place]) if place <= len(number) else 0 for number in (first, second))
        total = a + b + carry
        spelled = f"{a}+{b}+{carry}={total}"
        carry = total // 10
        columns.append((spelled, str(total % 10), str(carry)))
    return columns


def _list(number: str) -> Tokens:
    return ["[", *number, "]"]


def _state(left: list[str], total: str, carry: str) -> Tokens:
    return [*_list(left[0]), "+", *_list(left[1]), ",", "A=", *_list(total), ",", "C=", carry, ","]
