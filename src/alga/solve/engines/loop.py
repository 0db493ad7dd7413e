"""The compiled loop over columns, from texts to text or from files to file in bounded memory.

Importing this loads numba, which takes half a second, so `table.py` imports it only for long problems.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from alga.base.progress import Watch, unwatched
from alga.network.compiled import call, compiled
from alga.solve.engines import vector
from alga.solve.engines.machine import Machine
from alga.solve.engines.rows import DigitRow, FileRow, NoColumnError, row_of

TEXT_BLOCK: Final = 2**17  # columns at a time: the buffers fit the CPU cache
FILE_BLOCK: Final = 2**22
ROOM: Final = 16  # most characters that the first or the last step may write

Bytes = NDArray[np.uint8]


@compiled
def run(words: NDArray[np.uint64], upper: Bytes, lower: Bytes, out: Bytes, state: int, from_right: bool) -> np.int64:
    """Write what every column writes, in the class that the columns before it lead to.

    `state` is eight times the class at the start. Returns the same for the end, or -1 if two bytes are not a column.
    The class only decides how far a column's word is shifted, so memory access never waits for the previous column.
    """
    at, seen = np.uint64(state), np.uint64(0)
    size = len(upper)
    for j in range(size):
        i = size - 1 - j if from_right else j
        word = words[np.uint32(upper[i]) << np.uint32(8) | np.uint32(lower[i])]
        seen |= word
        out[i] = np.uint8(word >> at)
        at = (word >> (at + np.uint64(32))) & np.uint64(0x18)
    return np.int64(at) if seen >> np.uint64(63) == 0 else np.int64(-1)


class Loop:
    """One problem's columns, counted from the left.

    The first and the last step are looked up in the table: the first has no context, the last writes its ending.
    """

    def __init__(self, machine: Machine, rows: Sequence[DigitRow]) -> None:
        assert machine.words is not None
        assert machine.classes is not None
        self._machine, self._rows = machine, rows
        self._words, self._classes, self._procedure = machine.words, machine.classes, machine.procedure
        self._layout = machine.procedure.layout
        self._scan = machine.scan
        self._fill = (self._layout.fill or (self._scan.fill if self._scan else "\0")).encode()
        self._work = np.empty(vector.BLOCK if self._scan else 0, np.uint8)
        self.width = max(row.size for row in rows)
        column = self._column(self.width - 1 if self._layout.from_right else 0)
        if column not in self._layout.first(self._layout.settings()[0]):
            raise NoColumnError
        begun = machine.after[None][column]
        assert begun is not None
        self.first_state = 8 * self._classes.of[begun]
        self.first_written = self._procedure.written(begun).encode()

    def run(self, start: int, stop: int, state: int, out: Bytes) -> int:
        """Write what the columns `start` to `stop` write; return the state after them."""
        upper, lower = self._blocks(start, stop)
        if self._scan is not None:
            after = 8 * int(call(vector.run, self._scan.plan, upper, lower, out, state // 8, self._work))
        else:
            after = int(call(run, self._words, upper, lower, out, state, self._layout.from_right))
        if after < 0:
            raise NoColumnError
        return after

    def ending(self, state: int) -> bytes:
        """Return what the last column adds to the answer after the given state."""
        column = self._column(0 if self._layout.from_right else self.width - 1)
        if column not in self._classes.moves:
            raise NoColumnError
        ended = self._machine.after[self._classes.like[state // 8]][column]
        assert ended is not None
        return self._procedure.ending(ended).encode()

    def _blocks(self, start: int, stop: int) -> list[Bytes]:
        blocks = [
            row.block(start, stop, self.width, from_right=self._layout.from_right, fill=self._fill)
            for row in self._rows
        ]
        if len(blocks) == 1:
            blocks.append(bytes(stop - start))
        return [np.frombuffer(block, np.uint8) for block in blocks]

    def _column(self, place: int) -> str:
        return "".join(chr(block[0]) for block in self._blocks(place, place + 1) if block[0])


def text_of(machine: Machine, texts: Sequence[str]) -> str:
    """Return what all steps of a problem write, in reading order; at least three columns, in ASCII."""
    loop, from_right = Loop(machine, [row_of(text) for text in texts]), machine.procedure.layout.from_right
    # One buffer for the whole answer with room at both ends, so that long texts are not copied again to be joined.
    out = np.empty(loop.width + 2 * ROOM, np.uint8)
    starts = range(1, loop.width - 1, TEXT_BLOCK)
    state = loop.first_state
    for start in reversed(starts) if from_right else starts:
        stop = min(start + TEXT_BLOCK, loop.width - 1)
        state = loop.run(start, stop, state, out[ROOM + start : ROOM + stop])
    ending = loop.ending(state)
    if not loop.first_written:  # only the ending is part of the answer
        return ending.decode("ascii")
    left, right = (ending, loop.first_written) if from_right else (loop.first_written, ending)
    begin, end = ROOM + 1 - len(left), ROOM + loop.width - 1 + len(right)
    if begin < 0 or end > len(out):
        raise NoColumnError
    out[begin : ROOM + 1] = np.frombuffer(left, np.uint8)
    out[ROOM + loop.width - 1 : end] = np.frombuffer(right, np.uint8)
    return str(out.data[begin:end], "ascii")


def stream(machine: Machine, rows: Sequence[FileRow], sink: BinaryIO, watch: Watch = unwatched) -> None:
    """Solve one problem from files to a file, right to left; `watch` counts columns, each read twice.

    The first pass goes from right to left and keeps the state at each block's right edge; the second goes from left to
    right and writes. So the leading digit is known before anything is written.
    """
    loop = Loop(machine, rows)
    out = np.empty(FILE_BLOCK, np.uint8)
    blocks = [(start, min(start + FILE_BLOCK, loop.width - 1)) for start in range(1, loop.width - 1, FILE_BLOCK)]
    state, done, entered = loop.first_state, 0, {}
    for start, stop in reversed(blocks):
        entered[start] = state
        state = loop.run(start, stop, state, out[: stop - start])
        watch(done := done + stop - start, 2 * loop.width)
    leading = _write(sink, loop.ending(state), leading=True)
    for start, stop in blocks:
        loop.run(start, stop, entered[start], out[: stop - start])
        leading = _write(sink, out[: stop - start].tobytes(), leading)
        watch(done := done + stop - start, 2 * loop.width)
    if _write(sink, loop.first_written, leading):
        sink.write(b"0")
    watch(2 * loop.width, 2 * loop.width)


def _write(sink: BinaryIO, digits: bytes, leading: bool) -> bool:
    """Write digits without leading zeros; return whether all so far were zeros."""
    digits = digits.lstrip(b"0") if leading else digits
    sink.write(digits)
    return leading and not digits
