"""Many short problems of two numbers in one call of compiled code: lines of text in, lines of answers out.

Columns are looked up as in `loop.py`; a line that is not two plain numbers ends the call, for others to look at.
Importing this loads numba.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from alga.base.cancellation import Cancellation
from alga.base.progress import Watch
from alga.network.compiled import call, compiled
from alga.solve.engines.machine import CLASSES, Machine

LONGEST_LEAD: Final = 16  # characters that a last step may write before its digit
PROBLEMS_PER_CALL: Final = 2**14
LINE_END: Final = np.uint8(10)
ZERO: Final = np.uint8(48)
SPACES: Final = (np.uint8(32), np.uint8(9))
RETURN: Final = np.uint8(13)  # before a line end

Bytes = NDArray[np.uint8]


class Bulk:
    """A table for lines of problems."""

    def __init__(self, machine: Machine) -> None:
        assert machine.words is not None
        assert machine.ends is not None
        start, leads = machine.ends
        self._words, self._start = machine.words, start
        self._fill = ord(machine.procedure.layout.fill or "\0")
        self._numeric, self._silent = machine.procedure.numeric, machine.silent
        self._leads = np.zeros((CLASSES, 1 + LONGEST_LEAD), np.uint8)
        for i, lead in enumerate(leads):
            self._leads[i, : 1 + len(lead)] = [len(lead), *lead.encode()]

    @staticmethod
    def fits(machine: Machine) -> bool:
        """Return whether lines of two numbers are problems of a table, and its steps are alike from first to last."""
        layout = machine.procedure.layout
        plain = layout.plain and layout.from_right and layout.arity == 2 and not machine.procedure.source
        return plain and machine.fits and machine.ends is not None and max(map(len, machine.ends[1])) <= LONGEST_LEAD

    def lines(self, data: bytes, start: int, sign: str, *, spaces: bool = True) -> tuple[bytes, int, int]:
        """Answer lines from a position on: return the answers, the position after them, and how many they are.

        A line is two numbers with a sign or, with `spaces`, spaces between them.
        """
        given = np.frombuffer(data, np.uint8)
        out = np.empty(len(data) - start + 2 * LONGEST_LEAD, np.uint8)
        stop, size, count = call(
            _answer_lines, self._words, self._leads, given, start, out, ord(sign), spaces, self._start, self._fill,
            self._silent, self._numeric,
        )  # fmt: skip
        return out[:size].tobytes(), stop, count

    def answers(
        self, problems: Sequence[Sequence[str]], watch: Watch, cancel: Cancellation | None = None
    ) -> list[str] | None:
        """Return the answers to problems; None if any is not two plain numbers."""
        found: list[str] = []
        for start in range(0, len(problems), PROBLEMS_PER_CALL):
            some = problems[start : start + PROBLEMS_PER_CALL]
            if cancel is not None:
                cancel.check()
            try:
                text = "\n".join(chain.from_iterable(some)) + "\n"
            except TypeError:  # not all are texts
                return None
            if not text.isascii() or {*map(len, some)} != {2}:
                return None
            data, answered = text.encode(), 0
            stop, parts = 0, list[bytes]()
            while stop < len(data):
                part, after, count = self.lines(data, stop, "\n", spaces=False)
                if not count:
                    return None
                parts.append(part)
                stop, answered = after, answered + count
            if answered != len(some):  # a line end within a number
                return None
            found += b"".join(parts).decode("ascii").split("\n")[:-1]
            watch(len(found), len(problems))
        return found


@compiled
def _answer_lines(
    words: NDArray[np.uint64], leads: Bytes, data: Bytes, at: int, out: Bytes, sign: int, spaces: bool, state: int,
    fill: int, silent: bool, numeric: bool,
) -> tuple[int, int, int]:  # fmt: skip
    """Return the position after the last line answered, the size of the answers, and how many there are."""
    size = count = 0
    while at < len(data):
        a, a_end, b, b_end, after = _numbers(data, at, sign, spaces)
        width, room = max(a_end - a, b_end - b), size + LONGEST_LEAD  # for what the last step writes first
        if after < 0 or room + width + 1 > len(out):
            break
        written = out[room : room + width]
        ended = _write_columns(words, data[a:a_end], data[b:b_end], np.uint32(fill), np.uint64(8 * state), written)
        if ended < 0:
            break
        lead = leads[ended]
        answer = out[size : room + width]
        length = lead[0]
        answer[:length] = lead[1 : 1 + length]
        if not silent:
            for i in range(width):  # to the left, so what is not yet moved is not overwritten
                answer[length + i] = written[i]
            length += width
        if numeric:
            length = _tidy(answer[:length])
        out[size + length] = LINE_END
        size, count, at = size + length + 1, count + 1, after
    return at, size, count


@compiled
def _numbers(data: Bytes, at: int, sign: int, spaces: bool) -> tuple[int, int, int, int, int]:
    """Return where the two numbers of a line begin and end, and the next line; -1 if there is anything else."""
    a = _skip(data, at, spaces)
    a_end = _number_end(data, a, sign, spaces)
    between = _skip(data, a_end, spaces)
    signed = between < len(data) and data[between] == sign
    b = _skip(data, between + 1, spaces) if signed else between
    b_end = _number_end(data, b, sign, spaces)
    line_end = _skip(data, b_end, spaces)
    line_end += spaces and line_end < len(data) and data[line_end] == RETURN
    parted = signed or between > a_end
    whole = a < a_end and b < b_end and line_end < len(data) and data[line_end] == LINE_END
    while a < a_end - 1 and data[a] == ZERO:
        a += 1
    while b < b_end - 1 and data[b] == ZERO:
        b += 1
    return a, a_end, b, b_end, line_end + 1 if parted and whole else -1


@compiled
def _write_columns(
    words: NDArray[np.uint64], upper: Bytes, lower: Bytes, fill: np.uint32, state: np.uint64, out: Bytes
) -> np.int64:
    """Write what every column writes, from the right; return the class after them, or -1 if two bytes are no column."""
    seen, size_a, size_b = np.uint64(0), len(upper), len(lower)
    for j in range(len(out)):
        above = np.uint32(upper[size_a - 1 - j]) if j < size_a else fill
        below = np.uint32(lower[size_b - 1 - j]) if j < size_b else fill
        word = words[(above << np.uint32(8)) | below]
        seen |= word
        out[len(out) - 1 - j] = np.uint8(word >> state)
        state = (word >> (state + np.uint64(32))) & np.uint64(0x18)
    return np.int64(-1) if seen >> np.uint64(63) else np.int64(state >> np.uint64(3))


@compiled
def _number_end(data: Bytes, at: int, sign: int, spaces: bool) -> int:
    """Return where a number ends; a zero byte, which stands for the end of a row, is part of none."""
    while at < len(data) and data[at] and data[at] != sign and data[at] != LINE_END:
        if spaces and (_space(data[at]) or data[at] == RETURN):
            break
        at += 1
    return at


@compiled
def _space(char: np.uint8) -> bool:
    return char in SPACES


@compiled
def _skip(data: Bytes, at: int, spaces: bool) -> int:
    while spaces and at < len(data) and _space(data[at]):
        at += 1
    return at


@compiled
def _tidy(answer: Bytes) -> int:
    """Drop leading zeros, as `without_zeros`; return how many characters are left."""
    zeros = 0
    while zeros < len(answer) and answer[zeros] == ZERO:
        zeros += 1
    if zeros and (zeros == len(answer) or answer[zeros] == 32):
        zeros -= 1
    for i in range(zeros, len(answer) if zeros else 0):
        answer[i - zeros] = answer[i]
    return len(answer) - zeros
