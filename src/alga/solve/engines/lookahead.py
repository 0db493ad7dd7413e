"""All carries of a problem in O(log n) rounds, each one batch through a network that has learned three small maps.

Round 1 asks what every column does to a carry. Then stretches of columns are composed, twice as long in every round
(Hillis and Steele's scan), until each covers all columns before it; the last round asks for the digits. Equal prompts
are computed once per round, and nothing is cached across rounds. docs/lookahead.md has the lemma.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from alga.base.cancellation import Cancellation
from alga.base.errors import AlgaError
from alga.base.progress import Watch, unwatched
from alga.solve.engines.rows import row_of
from alga.solve.result import Result, failure_at
from alga.tasks import Lookahead, Task
from alga.trust.table import UNCERTAIN

if TYPE_CHECKING:
    from alga.network.step import Decode

COLUMNS: Final = 2**16  # a column is coded as two bytes, 0 after the end of a row
KNOWN: Final = 2**10  # most texts that a network may write
PLACES_PER_BLOCK: Final = 2**20  # places at a time: bounds memory

Codes = NDArray[np.integer[Any]]


class _FailedError(Exception):
    """The network wrote an invalid output."""


def solve(
    trained: Task,
    decode: Decode,
    problems: Sequence[tuple[str, ...]],
    *,
    watch: Watch = unwatched,
    cancel: Cancellation | None = None,
) -> list[Result]:
    """Solve problems one after the other; `watch` counts columns."""
    maps = cast(Lookahead, trained)
    total, done = sum(max(map(len, operands)) for operands in problems), 0
    results = []
    for operands in problems:
        results.append(_Scan(maps, decode, cancel).solve(operands))
        watch(done := done + max(map(len, operands)), total)
    return results


class _Scan:
    """One problem; texts that the network wrote are numbered."""

    def __init__(self, maps: Lookahead, decode: Decode, cancel: Cancellation | None) -> None:
        self._maps, self._decode, self._cancel = maps, decode, cancel
        self._texts: list[str] = []
        self._numbers: dict[str, int] = {}
        self._rounds = self._steps = self._tokens = 0
        self._failure = ""
        self._uncertain: str | None = None

    def solve(self, operands: tuple[str, ...]) -> Result:
        """Solve the problem; a prompt at which the network failed is reported in the result."""
        try:
            answer = self._answer(self._columns(operands))
        except _FailedError:
            answer = None
        return Result(
            operation=self._maps.serves.name,
            operands=operands,
            answer=answer,
            step_count=self._steps,
            rounds=self._rounds,
            generated_tokens=self._tokens,
            failure=self._failure,
            uncertain=self._uncertain,
        )

    def _columns(self, operands: tuple[str, ...]) -> NDArray[np.uint16]:
        """Return a code for each column, in the order in which they are walked; validate the operands first."""
        served = self._maps.serves
        layout = served.layout
        rows = layout.rows(*operands)
        if rows and len(rows) <= 2 and all(row.isascii() and "\0" not in row for row in rows) and any(rows):
            columns = _codes(rows, layout.fill, from_right=layout.from_right)
            others = np.zeros(COLUMNS, np.bool_)
            others[columns[1:]] = True
            if layout.admits(
                _column_of(int(columns[0])), {_column_of(code) for code in np.flatnonzero(others).tolist()}
            ):
                return columns
        served.columns(*operands)  # raises for operands that are no problem
        raise AlgaError(f"{served.name} has columns that the engine lookahead cannot handle")

    def _answer(self, columns: NDArray[np.uint16]) -> str:
        maps, texts, width = self._maps, self._texts, len(columns)
        status = np.empty(width + 1, np.uint16)  # of all columns before a place
        status[0] = self._number(maps.start)
        self._round(lambda part: columns[part], _column_of, status[1:])
        reach = 1
        while reach <= width:
            later, earlier = status[reach:], status[:-reach]
            pairs = partial(_paired, later, earlier, KNOWN)
            self._round(pairs, lambda pair: maps.composition(texts[pair // KNOWN], texts[pair % KNOWN]), later)
            reach *= 2
        past = np.append(columns, np.uint16(0))  # the place past the last column has no digits
        places = partial(_paired, status, past, COLUMNS)
        self._round(places, lambda place: maps.emission(texts[place // COLUMNS], _column_of(place % COLUMNS)), status)
        return maps.serves.tidied(self._joined(status[::-1] if maps.serves.layout.from_right else status))

    def _joined(self, numbers: NDArray[np.uint16]) -> str:
        if all(len(text) == 1 and text.isascii() for text in self._texts):
            return np.array([ord(text) for text in self._texts], np.uint8)[numbers].tobytes().decode("ascii")
        return "".join([self._texts[number] for number in numbers.tolist()])

    def _round(self, asked: Callable[[slice], Codes], prompt_of: Callable[[int], str], to: NDArray[np.uint16]) -> None:
        """Ask the network about every code, equal ones once, and write the number of each answer.

        `asked` returns some of the codes. Blocks go from last to first, so that codes are read before they are
        overwritten.
        """
        if self._cancel is not None:
            self._cancel.check()
        blocks = [slice(start, start + PLACES_PER_BLOCK) for start in range(0, len(to), PLACES_PER_BLOCK)]
        counts = np.zeros(0, np.int64)
        for part in blocks:
            more = np.bincount(asked(part), minlength=len(counts))
            more[: len(counts)] += counts
            counts = more
        codes = np.flatnonzero(counts)
        prompts = [prompt_of(code) for code in codes.tolist()]
        self._rounds += 1
        numbers = np.zeros(len(counts), np.uint16)
        for code, prompt, decoded in zip(codes, prompts, self._decode(prompts), strict=True):
            self._steps += int(counts[code])
            self._tokens += int(counts[code]) * len(decoded.text)
            if not decoded.margin > UNCERTAIN and self._uncertain is None:
                self._uncertain = prompt
            if decoded.output is None:
                self._failure = failure_at(self._steps, prompt, decoded.text)
                raise _FailedError
            numbers[code] = self._number(decoded.output)
        for part in reversed(blocks):
            to[part] = numbers[asked(part)]

    def _number(self, text: str) -> int:
        if text not in self._numbers:
            assert len(self._texts) < KNOWN
            self._numbers[text] = len(self._texts)
            self._texts.append(text)
        return self._numbers[text]


def _codes(rows: Sequence[str], fill: str, *, from_right: bool) -> NDArray[np.uint16]:
    width = max(map(len, rows))
    codes = np.zeros(width, np.uint16)
    for row in rows:
        block = row_of(row).block(0, width, width, from_right=from_right, fill=(fill or "\0").encode())
        codes <<= 8
        codes |= np.frombuffer(block, np.uint8)
    return codes[::-1] if from_right else codes


def _paired(first: NDArray[np.uint16], second: NDArray[np.uint16], base: int, part: slice) -> Codes:
    return first[part].astype(np.int64) * base + second[part]


def _column_of(code: int) -> str:
    return "".join(chr(byte) for byte in (code >> 8 & 0xFF, code & 0xFF) if byte)
