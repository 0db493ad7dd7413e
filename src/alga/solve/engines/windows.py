"""Many sums, differences and comparisons in windows of one long row of digits, in compiled code.

A product adds one multiple of the upper number for each digit of the lower one; a quotient takes, digit by digit, the
largest multiple that fits. Sums and differences come from a table as a scan (`vector.py`) or as words (`loop.py`),
comparisons from what each column decides. The window moves along the row, so no digit is moved. Importing this loads
numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from alga.network.compiled import call, compiled
from alga.solve.engines import loop, vector
from alga.solve.engines.rows import NoColumnError

if TYPE_CHECKING:
    from alga.solve.engines.machine import Machine

LANES: Final = vector.LANES
BLOCK: Final = vector.BLOCK
UNDECIDED: Final = 255  # a column that leaves the order of two numbers as it is
NOTHING: Final = np.zeros((1, 1, 1), np.uint8)
NO_WORDS: Final = np.zeros(1, np.uint64)

Bytes = NDArray[np.uint8]


class Rows:
    """Addition or subtraction of equally long rows of digits, by a table."""

    def __init__(self, machine: Machine) -> None:
        if machine.words is None or machine.ends is None:
            raise NoColumnError
        self.start = machine.ends[0]
        self.plan = NOTHING if machine.scan is None else machine.scan.plan
        self.words = machine.words if machine.scan is None else NO_WORDS

    def into(self, out: Bytes, upper: Bytes, lower: Bytes) -> None:
        """Write the sum or difference, which must fit."""
        work = np.empty(min(len(out), vector.BLOCK), np.uint8)
        if call(_combine, self.plan, self.words, self.start, upper, lower, out, work) != self.start:
            raise NoColumnError


class Order:
    """Comparison of equally long rows, by a table in which the first column that decides anything decides all."""

    def __init__(self, machine: Machine) -> None:
        if machine.ends is None or machine.classes is None or not machine.silent or not machine.fits:
            raise NoColumnError
        zero = machine.procedure.layout.symbols[0]
        self.decides = np.full(2**16, UNDECIDED, np.uint8)
        for column, moves in machine.moves.items():
            classes = [after for _, after in moves]
            if len(column) != 2 or not (len({*classes}) == 1 or classes == [*range(len(classes))]):
                raise NoColumnError
            if len({*classes}) == 1:
                self.decides[ord(column[0]) << 8 | ord(column[1])] = classes[0]
        if self.decides[ord(zero) << 8 | ord(zero)] != UNDECIDED:
            raise NoColumnError
        self.start, leads = machine.ends
        self.less = np.array([lead == "<" for lead in leads])


@compiled
def _combine(
    plan: Bytes, words: NDArray[np.uint64], start: int, upper: Bytes, lower: Bytes, out: Bytes, work: Bytes
) -> int:
    """Write what all columns write; return the class after them, or -1 if a byte is not a digit."""
    if len(words) == 1:
        if len(out) == len(work):
            return vector.run_block(plan, upper, lower, out, start, work, upper[:0], lower[:0])
        return vector.run(plan, upper, lower, out, start, work)
    after = loop.run(words, upper, lower, out, 8 * start, True)
    return after // 8 if after >= 0 else -1  # type: ignore[return-value]


@compiled
def add_multiples(
    plan: Bytes, words: NDArray[np.uint64], start: int, multiples: Bytes, lengths: NDArray[np.int64], digits: Bytes,
    first: int, last: int, row: Bytes, step: int, zero: int, least: int, work: Bytes,
) -> int:  # fmt: skip
    """Add to a row, for the digits from `first` to `last` of the lower number, units first, the multiple of each.

    A digit moves the window by `step`. No sum begins before `least` in its window. Returns how many columns were added,
    or -1 if a sum did not fit.
    """
    width, steps = multiples.shape[1], 0
    for i in range(first, last):
        end = len(row) - step * i
        window, multiple = row[end - width : end], multiples[digits[i]]
        if i == 0:
            window[:] = multiple
            continue
        begin = least
        while begin < width - 1 and window[begin] == zero:
            begin += 1
        steps += max(width - begin, lengths[digits[i]])
        if _combine(plan, words, start, window, multiple, window, work) != start:
            return -1
    return steps


@compiled
def add_pairs(
    plan: Bytes, words: NDArray[np.uint64], start: int, multiples: Bytes, out: Bytes, zero: int, work: Bytes
) -> bool:
    """Write the multiples by two digits: that of the first, moved by one place, and that of the second, added."""
    base, width = multiples.shape
    moved = np.full(width, np.uint8(zero))
    for i in range(base):
        moved[:-1] = multiples[i, 1:]
        for j in range(base):
            if _combine(plan, words, start, moved, multiples[j], out[i * base + j], work) != start:
                return False
    return True


@compiled
def take_multiples(
    plan: Bytes, words: NDArray[np.uint64], start: int, decides: Bytes, undecided: int, less: NDArray[np.bool_],
    multiples: Bytes, lengths: NDArray[np.int64], used: NDArray[np.bool_], first: int, last: int, row: Bytes,
    quotient: Bytes, zero: int, least: int, work: Bytes,
) -> tuple[int, int]:  # fmt: skip
    """Take from each window of a row the largest multiple that fits; write which. Return columns compared and taken.

    Windows end at the positions from `first` to `last`, and no number begins before `least` in its window. Both are -1
    if a difference did not fit.
    """
    count, width = multiples.shape
    compared = taken = 0
    for end in range(first, last):
        window = row[end + 1 - width : end + 1]
        begin = least
        while begin < width - 1 and window[begin] == zero:
            begin += 1
        low, high = 0, count  # the multiple of low fits, that of high does not
        while high - low > 1:
            middle = (low + high) // 2
            used[middle] = True
            columns = max(width - begin, lengths[middle])
            compared += columns
            order = undecided
            for j in range(width - columns, width):
                decided = decides[(np.uint32(window[j]) << np.uint32(8)) | np.uint32(multiples[middle, j])]
                if decided != UNDECIDED:
                    order = decided
                    break
            if less[order]:
                high = middle
            else:
                low = middle
        if low:
            taken += max(width - begin, lengths[low])
            if _combine(plan, words, start, window, multiples[low], window, work) != start:
                return -1, -1
        quotient[end] = low
    return compared, taken
