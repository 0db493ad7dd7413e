"""Tables that can be run for all columns at once, because they do as carrying does.

Three things must hold, and each is asked of the table: there are two classes of contexts; a column counts only by the
sum, or only by the difference, of its two digits; and it leads to one class whatever came before, or leaves the class
as it is. Then the classes before all columns follow from one addition of two long integers, in which a column that
leads to class 1 sends a carry, and one that leaves the class as it is passes a carry on. It fits right tables for
addition and subtraction in bases up to 10, and wrong ones that are wrong alike on all columns of one sum.

`Scan` does it with Python's integers, which needs no compiler; `vector.py` does the same 64 columns at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from alga.solve.engines.machine import Machine
    from alga.solve.engines.vector import Bytes

ZERO: Final = 64  # what a difference of 0 is counted as: a value is a byte
AFTER: Final = 128  # added to a value in class 1
KEPT: Final = 4096  # columns: integers of ones for longer numbers would take memory

_integer = int.from_bytes


@dataclass(frozen=True)
class Scan:
    """What a column does, by its value: the sum or the difference of its two characters."""

    digits: bytes  # consecutive characters; every pair of them is a column
    minus: bool  # whether the value is a difference
    fill: str  # stands for a digit where a number has ended
    start: int  # the class before the first column
    leads: tuple[str, ...]  # for each class, what the last step writes before its own digit if it leads there
    keeps: bytes  # for each value, 255 if class 1 leads to class 1
    sets: bytes  # for each value, 255 if class 0 leads to class 1
    written: bytes  # for each value, and for each value after class 1

    def text(self, upper: str, lower: str) -> str | None:
        """Return what all steps write, in reading order; None if a character is not a digit. The texts are ASCII."""
        width, digits = len(upper), self.digits
        if width != len(lower):
            width = max(width, len(lower))
            upper, lower = upper.rjust(width, self.fill), lower.rjust(width, self.fill)
        above, below = upper.encode(), lower.encode()
        if above.strip(digits) or below.strip(digits):
            return None
        values, ones = _integer(above, "big"), _kept_ones(width) if width <= KEPT else _ones(width)
        values += ZERO * ones - _integer(below, "big") if self.minus else _integer(below, "big")
        each = values.to_bytes(width, "big")
        keeps, sets = _integer(each.translate(self.keeps), "big"), _integer(each.translate(self.sets), "big")
        total = keeps + sets + self.start
        before = (total ^ keeps ^ sets) & ones  # for each column, the class before it
        written = (values | before << 7).to_bytes(width, "big").translate(self.written)
        return self.leads[total >> (8 * width)] + written.decode("ascii")

    @cached_property
    def plan(self) -> Bytes:
        """The same as numbers for compiled code; loads the compiler."""
        from alga.solve.engines.vector import plan_of

        return plan_of(self)


def _ones(width: int) -> int:
    return int.from_bytes(b"\1" * width, "big")


_kept_ones = lru_cache(maxsize=256)(_ones)


def scan_of(machine: Machine) -> Scan | None:
    """Return a machine as a scan; None if its table does not allow it."""
    classes, layout = machine.classes, machine.procedure.layout
    if classes is None or len(classes.like) != 2 or machine.ends is None or not machine.fits:
        return None
    if not (layout.from_right and layout.arity == 2 and machine.procedure.numeric):
        return None
    digits = sorted({char for column in classes.moves for char in column})
    pairs = [upper + lower for upper in digits for lower in digits]
    fill = layout.fill or digits[0]
    alone = [column for column in classes.moves if len(column) == 1]
    if (
        [ord(char) for char in digits] != [*range(ord(digits[0]), ord(digits[0]) + len(digits))]
        or 2 * ord(digits[-1]) >= AFTER
        or fill not in digits
        or not {*pairs} <= {*classes.moves} & {*layout.first(layout.settings()[0])}
        or any(
            not classes.moves[column] == classes.moves[column + fill] == classes.moves[fill + column]
            for column in alone
        )
        or any(not char for moves in classes.moves.values() for char, _ in moves)
    ):
        return None
    for minus in (False, True):
        values = {_value(column, minus): classes.moves[column] for column in pairs}
        if all(values[_value(column, minus)] == classes.moves[column] for column in pairs) and not any(
            moves[0][1] > moves[1][1] for moves in values.values()
        ):
            start, leads = machine.ends
            written = {value + AFTER * i: ord(moves[i][0]) for value, moves in values.items() for i in (0, 1)}
            return Scan(
                "".join(digits).encode(), minus, fill, start, leads,
                keeps=_by_value({value: 255 * moves[1][1] for value, moves in values.items()}),
                sets=_by_value({value: 255 * moves[0][1] for value, moves in values.items()}),
                written=_by_value(written),
            )  # fmt: skip
    return None


def _value(column: str, minus: bool) -> int:
    upper, lower = map(ord, column)
    return upper - lower + ZERO if minus else upper + lower


def _by_value(entries: Mapping[int, int]) -> bytes:
    return bytes(entries.get(value, 0) for value in range(256))
