"""Layouts: operands <-> columns. A layout makes the columns of a problem and refuses inadmissible ones.

So no network is ever asked a prompt outside its domain. Most layouts set operands one above the other (`Rows`): digits
of numbers (`Digits`), a number above one repeated digit (`DigitBelow`), or plain text (`Text`).
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence, Set
from functools import cache, cached_property
from itertools import zip_longest
from typing import Any, Final

from alga.base.errors import AlgaError
from alga.tasks.numbers import digits_of, number, single_digit

MESSAGE_CHARACTERS: Final = 40  # characters of an operand or a column in a message


class Layout(ABC):
    """How operands become columns, in the order in which they are walked."""

    arity: int = 1  # how many operands a problem has
    base: int = 10
    from_right: bool = True  # whether columns are walked from the last character to the first
    fill: str = ""  # pads a column where a row has ended
    by_rows: bool = False  # whether columns are the characters one above the other in rows
    repeats: bool = False  # whether the second operand is one digit, repeated below every digit of the first
    plain: bool = False  # whether rows are just the operands without leading zeros
    symbols: str = ""  # every character of a column

    def __init_subclass__(cls, **more: Any) -> None:
        """Refuse a subclass that checks columns in its own way."""
        super().__init_subclass__(**more)
        if own := [name for name in ("columns", "admits", "refusal") if name in vars(cls)]:
            raise TypeError(f"{cls.__name__} must not change {own[0]}")

    def settings(self) -> Sequence[str]:
        """Return what may stay constant through one problem, such as a multiplier; by default one empty setting."""
        return ("",)

    @abstractmethod
    def first(self, setting: str) -> Sequence[str]:
        """Return the columns a problem may begin with."""

    def following(self, setting: str) -> Sequence[str]:
        """Return the columns that may follow; by default the same."""
        return self.first(setting)

    @abstractmethod
    def split(self, *operands: str) -> list[str]:
        """Return the columns of a problem; refuse operands that have none. Admissibility is checked by `columns`."""

    @abstractmethod
    def operands(self, columns: Sequence[str]) -> tuple[str, ...] | None:
        """Return operands that have these columns (leading zeros allowed), or None if no problem has them."""

    def rows(self, *operands: str) -> tuple[str, ...] | None:
        """Return the operands as aligned rows, or None if columns are not made of rows."""
        return None

    def all_columns(self) -> list[str]:
        """Return every column of any setting, each once."""
        pairs = ((*self.first(setting), *self.following(setting)) for setting in self.settings())
        return list(dict.fromkeys(column for pair in pairs for column in pair))

    def columns(self, operands: Sequence[str], name: str) -> list[str]:
        """Return the columns of a problem of the task `name`.

        This is the one place that refuses inadmissible columns.
        """
        if len(operands) != self.arity:
            raise AlgaError(f"{name} takes {self.arity} operand{'s' * (self.arity > 1)}, got {len(operands)}")
        columns = self.split(*operands)
        if not columns:
            raise AlgaError(f"{name}: a problem needs at least one column, got none")
        if not self.admits(columns[0], set(columns[1:])):
            raise self.refusal(columns, name)
        return columns

    def admits(self, first: str, others: Set[str]) -> bool:
        """Return whether a problem may begin with one column and have these others after it, in any order."""
        return any(first in begin and others <= follow for begin, follow in self._admissible)

    @cached_property
    def _admissible(self) -> list[tuple[frozenset[str], frozenset[str]]]:
        """For each setting, the columns that may come first and those that may follow."""
        return [(frozenset(self.first(setting)), frozenset(self.following(setting))) for setting in self.settings()]

    def refusal(self, columns: Sequence[str], name: str) -> AlgaError:
        """Return the error that names the first inadmissible column."""
        left, place = self._admissible, 0
        for place, column in enumerate(columns):
            left = [(begin, follow) for begin, follow in left if column in (begin if place == 0 else follow)]
            if not left:
                break
        kind, side = ("the first" if place == 0 else "a later"), ("right" if self.from_right else "left")
        where = f"column {place + 1:,} of {len(columns):,}, from the {side}"
        return AlgaError(f"{name}: {short(columns[place])} cannot be {kind} column ({where})")


class Rows(Layout):
    """Columns are the characters one above the other in rows of text."""

    by_rows = True

    def __init_subclass__(cls, **more: Any) -> None:
        """Refuse a subclass that makes its columns in another way: engines read rows directly."""
        super().__init_subclass__(**more)
        if "split" in vars(cls):
            raise TypeError(f"{cls.__name__} makes columns of its own: it must be a Layout, not Rows")
        if "rows" in vars(cls) and "plain" not in vars(cls):
            cls.plain = False

    @abstractmethod
    def rows(self, *operands: str) -> tuple[str, ...]:
        """Return the operands as aligned rows; refuse those outside the layout's range."""

    def split(self, *operands: str) -> list[str]:
        """Return the columns of the rows."""
        rows = self.rows(*operands)
        ordered = [row[::-1] for row in rows] if self.from_right else rows
        joined = cache("".join)  # a long number's columns are a hundred texts, many times over
        return list(map(joined, zip_longest(*ordered, fillvalue=self.fill)))

    def operands(self, columns: Sequence[str]) -> tuple[str, ...] | None:
        """Read each row off the columns."""
        if any(len(later) > len(earlier) for earlier, later in itertools.pairwise(columns)):
            return None  # a row cannot continue after it has ended
        ordered = columns[::-1] if self.from_right else columns
        return tuple("".join(column[i : i + 1] for column in ordered) for i in range(self.arity))


class Digits(Rows):
    """Numbers, one digit above another.

    `fill` pads the shorter numbers; without it, later columns are shorter. `first` are the digits that the first column
    may have.

    >>> Digits(rows=2).split("907", "15"), Digits(rows=2, fill="0").split("907", "15")
    (['75', '01', '9'], ['75', '01', '90'])
    """

    plain = True

    def __init__(
        self, rows: int = 1, *, base: int = 10, from_right: bool = True, fill: str = "", first: str | None = None
    ) -> None:
        self.arity, self.base, self.from_right, self.fill = rows, base, from_right, fill
        self.symbols = digits_of(base)
        self._first = _products(self.symbols if first is None else first, [rows])
        self._following = _products(self.symbols, [rows] if fill else range(rows, 0, -1))

    def first(self, setting: str) -> Sequence[str]:
        return self._first

    def following(self, setting: str) -> Sequence[str]:
        return self._following

    def rows(self, *operands: str) -> tuple[str, ...]:
        return tuple(number(operand, self.symbols) for operand in operands)


class DigitBelow(Rows):
    """A number, and one digit below each of its digits; that digit is the problem's setting.

    >>> DigitBelow().split("907", "3")
    ['73', '03', '93']
    """

    arity = 2
    repeats = True

    def __init__(self, *, base: int = 10, from_right: bool = True, below: str | None = None) -> None:
        self.base, self.from_right = base, from_right
        self.symbols = digits_of(base)
        self._below = self.symbols if below is None else below

    def settings(self) -> Sequence[str]:
        return self._below

    def first(self, setting: str) -> Sequence[str]:
        return [digit + setting for digit in self.symbols]

    def rows(self, *operands: str) -> tuple[str, ...]:
        above, below = operands
        above, below = number(above, self.symbols), single_digit(below, self.symbols)
        return above, below * len(above)

    def operands(self, columns: Sequence[str]) -> tuple[str, ...] | None:
        ordered = columns[::-1] if self.from_right else columns
        return "".join(column[0] for column in ordered), columns[0][1]


class Text(Rows):
    """One text over given characters, one per column.

    >>> Text("ab").split("abba")
    ['a', 'b', 'b', 'a']
    """

    def __init__(self, symbols: str, *, from_right: bool = False) -> None:
        self.symbols, self.from_right = symbols, from_right

    def first(self, setting: str) -> Sequence[str]:
        return self.symbols

    def rows(self, *operands: str) -> tuple[str, ...]:
        return operands


def _products(symbols: str, sizes: Iterable[int]) -> list[str]:
    return ["".join(chars) for size in sizes for chars in itertools.product(symbols, repeat=size)]


def short(text: object) -> str:
    """Return a text for a message, truncated if it is long."""
    return repr(text) if len(repr(text)) <= MESSAGE_CHARACTERS else f"{repr(text)[:MESSAGE_CHARACTERS]}…"
