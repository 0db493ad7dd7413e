"""Tables of a number and one digit, as arrays for compiled code: every step is looked up.

The digit is the same in every column (a multiplier, a divisor), so for each there is a small automaton of its own: a
node is an output of the network, and leads to another by the number's next digit. Importing this loads numba.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from alga.network.compiled import call, compiled

if TYPE_CHECKING:
    from alga.solve.engines.machine import Machine

NOWHERE: Final = 255  # the place of a byte that is not a digit

Bytes = NDArray[np.uint8]
Nodes = NDArray[np.int32]


class _ByDigit:
    """One digit's automaton. Raises ValueError if a step of the table fails, or does not write one character."""

    def __init__(self, machine: Machine, digit: str) -> None:
        procedure = machine.procedure
        symbols = procedure.layout.symbols
        first = [machine.after[None][char + digit] for char in symbols]
        outputs = [output for output in dict.fromkeys(first) if output is not None]
        following: list[list[str | None]] = []
        for output in outputs:  # grows on the way
            following.append([machine.after[output][char + digit] for char in symbols])
            outputs += [each for each in dict.fromkeys(following[-1]) if each is not None and each not in outputs]
        if None in first or any(None in row for row in following):
            raise ValueError("the table has steps that fail")
        node = {output: i for i, output in enumerate(outputs)}
        self.first: Nodes = np.array([node[each] for each in first if each is not None], np.int32)
        rows = [[node[each] for each in row if each is not None] for row in following]
        self.following: Nodes = np.array(rows, np.int32)
        written = [procedure.written(output) for output in outputs]
        self.written: Bytes = np.frombuffer("".join(written).encode("ascii"), np.uint8)
        if len(self.written) != len(outputs):
            raise ValueError("not every step writes one character")
        self.endings = [procedure.ending(output) for output in outputs]


@lru_cache(maxsize=256)
def _automaton(machine: Machine, digit: str) -> _ByDigit:
    return _ByDigit(machine, digit)


class ByDigits:
    """The automata of several digits, run side by side: none waits for another."""

    def __init__(self, machine: Machine, digits: str) -> None:
        each = [_automaton(machine, digit) for digit in digits]
        symbols = machine.procedure.layout.symbols
        self._from_right = machine.procedure.layout.from_right
        self._places = np.full(256, NOWHERE, np.uint8)
        self._places[[ord(char) for char in symbols]] = range(len(symbols))
        # Nodes of all are in one array, and counted in its entries.
        starts = np.cumsum([0, *(len(one.written) for one in each)], dtype=np.int32) * len(symbols)
        self._first = np.stack([one.first * len(symbols) + start for one, start in zip(each, starts, strict=False)])
        moved = [one.following * len(symbols) + start for one, start in zip(each, starts, strict=False)]
        self._following = np.concatenate(moved).ravel()
        self._written = np.repeat(np.concatenate([one.written for one in each]), len(symbols))
        self._endings = [ending for one in each for ending in one.endings]

    def texts(self, number: str) -> list[str]:
        """Return for each digit what all steps write, in reading order; the number is in digits."""
        out = np.empty((len(self._first), len(number)), np.uint8)
        given, last = np.frombuffer(number.encode("ascii"), np.uint8), np.empty(len(self._first), np.int32)
        places, from_right = self._places, self._from_right
        if not call(_run, places, self._first, self._following, self._written, given, out, last, from_right):
            raise ValueError("expected digits")
        base = self._first.shape[1]
        endings = [self._endings[node // base] for node in last.tolist()]
        if from_right:
            return [ending + str(row.data[1:], "ascii") for ending, row in zip(endings, out, strict=True)]
        return [str(row.data[:-1], "ascii") + ending for ending, row in zip(endings, out, strict=True)]


@compiled
def _run(
    places: Bytes, first: Nodes, following: Nodes, written: Bytes, given: Bytes, out: Bytes, last: Nodes,
    from_right: bool,
) -> bool:  # fmt: skip
    """Write what each step of each writes, and the last nodes; return whether all bytes are digits."""
    size, (count, base) = len(given), first.shape
    for i in range(size):
        at = size - 1 - i if from_right else i
        place = places[given[at]]
        if place >= base:
            return False
        for j in range(count):
            last[j] = first[j, place] if i == 0 else following[last[j] + place]
            out[j, at] = written[last[j]]
    return True
