"""The published text formats: each class is a method, and says how it differs from the plain sum `12+34=46`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from alga.research.baselines.language import END, PLACES, Language, Tokens
from alga.research.baselines.problems import added
from alga.tasks.numbers import DIGITS, without_zeros

SUM = (*DIGITS, "+", "=")
MARK = "10e"
CARRY = "C:"
SET_DIGIT, SET_CARRY = "A->", "C->"
BEGIN, FINISH = "<scratch>", "</scratch>"
SEVEN_DIGITS = "trained on up to 7 digits, 0 % on 8 (`result_7digit.csv` in the repository)"
SAMPLES = "`sample_efficiency.csv` in the repository"


class Plain(Language):
    """The plain sum, most significant digit first."""

    title = "plain decoder"
    source = "Vaswani et al. 2017, as Nogueira et al. 2021 use it"
    given = "nothing"
    published = "no rule that is independent of the lengths in training (abstract)"


class Markers(Language):
    """Nogueira et al. 2021: every digit is followed by its place, `3 10e1 2 10e0` for 32."""

    title = "place markers"
    source = "Nogueira et al. 2021"
    given = "the place of every digit"
    published = "up to 60 digits; no rule that is independent of the lengths in training (abstract)"
    vocabulary = (*DIGITS, MARK, "+", "=")
    rows = PLACES
    version = 3  # learned positions: its texts are as long as a scratchpad's

    def question(self, first: str, second: str) -> Tokens:
        return [*marked(first), "+", *marked(second), "="]

    def reply(self, first: str, second: str) -> Tokens:
        return marked(added(first, second))

    def read(self, reply: Tokens) -> str | None:
        number = super().read([reply[i - 1] for i, token in enumerate(reply) if token == MARK and i > 0])
        return number if number and marked(number) == reply else None


def marked(number: str) -> Tokens:
    """Write a number with the place of each digit; the digits of the exponent are tokens too, so any length works.

    >>> " ".join(marked("32"))
    '3 10e 1 2 10e 0'
    """
    places = range(len(number) - 1, -1, -1)
    return [token for digit, place in zip(number, places, strict=True) for token in (digit, MARK, *str(place))]


class Scratchpad(Language):
    """Nye et al. 2021: the full working; each line repeats the rest of both numbers and the sum so far."""

    title = "scratchpad"
    source = "Nye et al. 2021"
    given = "the working, digit by digit"
    vocabulary = (*SUM, ",", CARRY, "\n", BEGIN, FINISH)
    rows = PLACES

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
        working, left, total, carry = [*first, "+", *second, ",", CARRY, "0", "\n"], [first, second], "", "0"
        for _, digit, following in _columns(first, second):
            left, total, carry = [number[:-1] for number in left], digit + total, following
            rest = [*left[0], "+", *left[1]] if any(left) else []
            working += [*rest, ",", *total, CARRY, carry, "\n"]
        return [BEGIN, *working, carry, *total, "\n", FINISH, *added(first, second)]

    def read(self, reply: Tokens) -> str | None:
        return super().read(reply[reply.index(FINISH) + 1 :]) if FINISH in reply else None


class Reversed(Language):
    """Lee et al. 2024: the sum is written units first."""

    title = "reversed sum"
    source = "Lee et al. 2024"
    given = "nothing but the order"
    published = f"{SEVEN_DIGITS}; 3 digits: 99.8 % after 5,000 samples ({SAMPLES})"
    rows = PLACES
    version = 3  # learned positions, as in the repository

    def reply(self, first: str, second: str) -> Tokens:
        return [*added(first, second)[::-1]]

    def read(self, reply: Tokens) -> str | None:
        return super().read(reply[::-1])


class Simplified(Scratchpad):
    """Lee et al. 2024: a line for each column with its digit and its carry, then the sum."""

    title = "simplified scratchpad"
    source = "Lee et al. 2024"
    given = "digit and carry of each column"
    published = f"3 digits: 99.7 % after 2,000 samples ({SAMPLES})"
    vocabulary = (*SUM, SET_DIGIT, SET_CARRY, ",", "\n", FINISH)

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


class Detailed(Simplified):
    """Lee et al. 2024: each line repeats the rest of both numbers and the sum so far, and spells out the addition.

    Commas within lists of digits and full stops are left out, to save tokens.
    """

    title = "detailed scratchpad"
    given = "the working in every detail"
    published = f"3 digits: 99.8 % after 1,000 samples ({SAMPLES})"
    vocabulary = (*SUM, SET_DIGIT, SET_CARRY, ",", "\n", BEGIN, FINISH, "[", "]", "A=", "C=", "has", "digits", "END")

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
        lines = [[BEGIN], *(["[", *number, "]", "has", *str(len(number)), "digits"] for number in (first, second))]
        left, total, carry = [first, second], "", "0"
        for spelled, digit, following in _columns(first, second):
            lines.append([*_state(left, total, carry), *spelled, ",", SET_DIGIT, digit, ",", SET_CARRY, following])
            left, total, carry = [number[:-1] for number in left], digit + total, following
        lines.append([*_state(left, total, carry), "END"])
        return [*(token for line in lines for token in (*line, "\n")), FINISH, *added(first, second)]


def _columns(first: str, second: str) -> list[tuple[str, str, str]]:
    """Return for each column, units first, its addition spelled out, its digit and its carry."""
    columns, carry = [], 0
    for place in range(1, max(len(first), len(second)) + 1):
        a, b = (int(number[-place]) if place <= len(number) else 0 for number in (first, second))
        total = a + b + carry
        spelled = f"{a}+{b}+{carry}={total}"
        carry = total // 10
        columns.append((spelled, str(total % 10), str(carry)))
    return columns


def _state(left: list[str], total: str, carry: str) -> Tokens:
    return ["[", *left[0], "]", "+", "[", *left[1], "]", ",", "A=", "[", *total, "]", ",", "C=", carry, ","]


class Abacus(Language):
    """McLeish et al. 2024: all numbers are written units first; a digit's position is its place in its own number."""

    title = "Abacus embeddings"
    source = "McLeish et al. 2024"
    given = "each digit's place in its number, moved at random in training"
    published = "trained on up to 20 digits, up to 99 % on 100 (abstract); 16 layers of width 1024"
    extrapolates = True
    offsets = 2.0  # published: up to the longest sum to be tested, 100 for 20 digits; here 30 digits
    gated = both_norms = True  # plain networks find no end of longer sums (docs/rivals.md)
    spread = 1.0
    shape: ClassVar[Mapping[str, int]] = {"width": 256, "hidden": 512}

    @property
    def longest(self) -> float:
        return self.scale.digits + self.most_offset

    def question(self, first: str, second: str) -> Tokens:
        return [*first[::-1], "+", *second[::-1], "="]

    def reply(self, first: str, second: str) -> Tokens:
        return [*added(first, second)[::-1]]

    def read(self, reply: Tokens) -> str | None:
        return super().read(reply[::-1])

    def places(self, tokens: Tokens) -> list[int]:
        """Count the digits of each number from 1; other tokens are at 0.

        >>> from alga.research.baselines.contract import Scale
        >>> Abacus(Scale(), 1e-3, 0).places([*"21+43=64"])
        [1, 2, 0, 1, 2, 0, 1, 2]
        """
        places, place = [], 0
        for token in tokens:
            place = place + 1 if token in DIGITS else 0
            places.append(place)
        return places


class LoopedAbacus(Abacus):
    """McLeish et al.'s best variant: one layer, applied again and again, that sees the embedded text each time."""

    title = "Abacus, looped"
    given = f"{Abacus.given}; the same layer is applied three times"
    published = "16 loops of one layer, trained on up to 20 digits, up to 99 % on 100 (abstract)"
    shape: ClassVar[Mapping[str, int]] = {**Abacus.shape, "layers": 1}
    loops = 3


class Coupling(Language):
    """Cho et al. 2024: digits of the same significance share a position.

    Numbers are padded with zeros to the same length; the sum is written units first and one digit longer. The text also
    begins with the end token, at position 0: there is always something to attend to where a number has no digit.
    """

    title = "position coupling"
    source = "Cho et al. 2024"
    given = "which digits belong to one column; places moved at random in training"
    published = "trained on 1 to 30 digits, tested on 200 (abstract); one layer of width 1024"
    extrapolates = True
    reaches = 3.4  # as in the repository: 17 places for 5 digits
    gated = both_norms = True  # its network too
    spread = 1.0
    shape: ClassVar[Mapping[str, int]] = {"layers": 1, "width": 256, "hidden": 512}

    @property
    def longest(self) -> float:
        return self.reach - 2  # the signs and the carry have places of their own

    def question(self, first: str, second: str) -> Tokens:
        width = max(len(first), len(second))
        return [END, *first.zfill(width), "+", *second.zfill(width), "="]

    def reply(self, first: str, second: str) -> Tokens:
        return [*added(first, second).zfill(max(len(first), len(second)) + 1)[::-1]]

    def read(self, reply: Tokens) -> str | None:
        text = super().read(reply[::-1])
        return without_zeros(text) if text else None

    def places(self, tokens: Tokens) -> list[int]:
        """Give `+` and `=` the position 1, units 2, tens 3 and so on; the end token is at 0.

        >>> from alga.research.baselines.contract import Scale
        >>> Coupling(Scale(), 1e-3, 0).places([END, *"21+43=460"])
        [0, 3, 2, 1, 3, 2, 1, 2, 3, 4]
        """
        width = tokens.index("+") - 1
        places = [0, *[*range(width + 1, 1, -1), 1] * 2, *range(2, len(tokens) - 2 * width - 1)]
        return [0 if token == END else place for token, place in zip(tokens, places, strict=True)]
