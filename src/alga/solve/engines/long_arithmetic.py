"""Products and quotients of long numbers by tables: every digit and every decision is looked up.

As on paper; but products of very long numbers are made of three products of half the length (Karatsuba's rule), with
sums and differences by the same tables. Importing this loads numba.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from alga.base.cancellation import Cancellation
from alga.base.progress import Watch, unwatched
from alga.network.compiled import call
from alga.solve.engines import windows
from alga.solve.engines.rows import NoColumnError
from alga.solve.engines.windows import LANES, Order, Rows

if TYPE_CHECKING:
    from alga.solve.engines.machine import Machine

HALVED: Final = 2600  # digits: longer numbers are multiplied by halves
PAIRED_FROM: Final = 300  # digits: for so many sums it pays to make the multiples by all pairs of digits first
PAIRED: Final = 16  # the largest base in which a pair of digits is counted in a byte
PIECE: Final = 2**13  # digits: longer numbers are multiplied in pieces, so that all multiples stay in the cache
AT_ONCE: Final = 2**26  # columns of one call: a fraction of a second

Bytes = NDArray[np.uint8]


@dataclass
class LongArithmetic:
    """Products and quotients in progress; `steps` counts the columns of each kind of step."""

    machines: dict[str, Machine]
    watch: Watch = unwatched
    cancel: Cancellation | None = None
    steps: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._symbols = next(iter(self.machines.values())).procedure.layout.symbols
        self._zero = ord(self._symbols[0])
        self._places = np.zeros(256, np.uint8)
        self._places[[ord(char) for char in self._symbols]] = range(len(self._symbols))
        self._done = self._total = 0

    # --- products -----------------------------------------------------------------------------------------------------

    def product(self, top: str, bottom: str) -> str:
        """Return the product of two numbers, the first of which is at least as long."""
        self._add = Rows(self.machines["add"])
        x, y = (np.frombuffer(text.encode("ascii"), np.uint8) for text in (top, bottom))
        halved = len(y) >= HALVED and "sub" in self.machines
        if not halved and len(x) <= PIECE:
            self._total = len(y)
            return self._text(self._rows_added(x, y, told=True))
        if halved:
            self._subtract = Rows(self.machines["sub"])
        size = len(y) if halved else PIECE
        pieces = -(-len(x) // size)
        self._total = pieces * (_leaves(size) if halved else 1)
        found = self._zeros(pieces * size + len(y))
        for i in range(pieces):
            piece = self._filled(x[max(0, len(x) - (i + 1) * size) : len(x) - i * size], size)
            end = len(found) - i * size
            self._add_at(found, end - size - len(y), end, self._by_halves(piece, y) if halved else self._leaf(piece, y))
        return self._text(found)

    def _by_halves(self, x: Bytes, y: Bytes) -> Bytes:
        """Return the product of two numbers of equally many digits, with twice as many."""
        size = len(x)
        if size < HALVED:
            return self._leaf(x, y)
        low = size // 2
        high = size - low
        upper, lower = self._by_halves(x[:high], y[:high]), self._by_halves(x[high:], y[high:])
        middle = self._by_halves(self._sum(x[:high], x[high:]), self._sum(y[:high], y[high:]))
        for part in (upper, lower):
            self._into(self._subtract, "sub", middle, middle, self._filled(part, len(middle)))
        found = np.concatenate([upper, lower])
        self._add_at(found, 0, 2 * size - low, middle)
        return found

    def _leaf(self, x: Bytes, y: Bytes) -> Bytes:
        found = self._rows_added(x, y)
        self._tell(1)
        return found

    def _sum(self, x: Bytes, y: Bytes) -> Bytes:
        """Return the sum with one digit more than the first number has."""
        found = self._filled(x, len(x) + 1)
        self._into(self._add, "add", found, found, self._filled(y, len(found)))
        return found

    def _add_at(self, row: Bytes, start: int, stop: int, number: Bytes) -> None:
        """Add a number to a part of a row, in which the sum fits."""
        window = row[start:stop]
        more = max(0, len(number) - len(window))  # of zeros
        self._into(self._add, "add", window, window, self._filled(number[more:], len(window)))

    def _into(self, rows: Rows, kind: str, out: Bytes, upper: Bytes, lower: Bytes) -> None:
        rows.into(out, upper, lower)
        self._count(kind, len(out))

    def _rows_added(self, top: Bytes, bottom: Bytes, *, told: bool = False) -> Bytes:
        """Return the product of two numbers, with as many digits as both have; digit by digit or by pairs of digits."""
        digits, step = self._places[bottom[::-1]], 1
        width = -(-(len(top) + 2) // LANES) * LANES
        multiples, lengths = self._multiples(top, np.unique(digits).tolist(), width)
        if len(bottom) >= PAIRED_FROM and len(self._symbols) <= PAIRED:
            multiples, lengths = self._pairs_of(multiples, len(top) + 2)
            digits = np.append(digits, np.zeros(len(digits) % 2, np.uint8))
            digits, step = digits[1::2] * np.uint8(len(self._symbols)) + digits[::2], 2
        row = self._zeros(width + step * len(digits) - 1)
        add, work = self._add, np.empty(min(width, windows.BLOCK), np.uint8)
        some = max(1, AT_ONCE // width)
        for first in range(0, len(digits), some):
            last = min(first + some, len(digits))
            added = call(
                windows.add_multiples, add.plan, add.words, add.start, multiples, lengths, digits, first, last, row,
                step, self._zero, width - len(top) - step, work,
            )  # fmt: skip
            if added < 0:
                raise NoColumnError
            self._count("add", added)
            if told:
                self._tell(min(step * last, len(bottom)) - step * first)
        return row[len(row) - len(top) - len(bottom) :]

    def _pairs_of(self, multiples: Bytes, longest: int) -> tuple[Bytes, NDArray[np.int64]]:
        """Return the multiples by two digits, each the sum of two by one digit."""
        base, width = multiples.shape
        found, add = np.empty((base * base, width), np.uint8), self._add
        work = np.empty(min(width, windows.BLOCK), np.uint8)
        if not call(windows.add_pairs, add.plan, add.words, add.start, multiples, found, self._zero, work):
            raise NoColumnError
        self._count("add", base * base * longest)
        return found, np.full(base * base, longest, np.int64)

    # --- quotients ----------------------------------------------------------------------------------------------------

    def division(self, top: str, divisor: str) -> tuple[str, str]:
        """Return quotient and remainder; the first number is no shorter than the second."""
        order, subtract = Order(self.machines["cmp"]), Rows(self.machines["sub"])
        x, y = (np.frombuffer(text.encode("ascii"), np.uint8) for text in (top, divisor))
        width = -(-(len(y) + 1) // LANES) * LANES
        multiples, lengths = self._multiples(y, [*range(2, len(self._symbols))], width)
        multiples[1], lengths[1] = self._filled(y, width), len(y)
        row = self._filled(x, width + len(x))
        quotient, used = np.zeros(len(row), np.uint8), np.zeros(len(self._symbols), np.bool_)
        work = np.empty(min(width, windows.BLOCK), np.uint8)
        begin, some = width + len(y) - 1, max(1, AT_ONCE // width)
        self._total = len(row) - begin
        for first in range(begin, len(row), some):
            last = min(first + some, len(row))
            compared, taken = call(
                windows.take_multiples, subtract.plan, subtract.words, subtract.start, order.decides, order.start,
                order.less, multiples, lengths, used, first, last, row, quotient, self._zero, width - len(y) - 1, work,
            )  # fmt: skip
            if compared < 0:
                raise NoColumnError
            self._count("cmp", compared)
            self._count("sub", taken)
            self._tell(last - first)
        self.steps["times"] = len(y) * int(used[2:].sum())
        digits = np.frombuffer(self._symbols.encode("ascii"), np.uint8)[quotient[begin:]]
        return self._text(digits), self._text(row[len(row) - len(y) :])

    # --- both ---------------------------------------------------------------------------------------------------------

    def _multiples(self, number: Bytes, digits: list[int], width: int) -> tuple[Bytes, NDArray[np.int64]]:
        """Return a number times each of some digits, as rows of a width, and the lengths of these products."""
        text, base = number.tobytes().decode("ascii"), len(self._symbols)
        text = text.lstrip(self._symbols[0]) or self._symbols[0]
        multiples, lengths = np.full((base, width), self._zero, np.uint8), np.ones(base, np.int64)
        for place, found in zip(digits, self._times("".join(self._symbols[i] for i in digits), text), strict=True):
            multiples[place, width - len(found) :] = np.frombuffer(found.encode("ascii"), np.uint8)
            lengths[place] = len(found)
        self._count("times", len(digits) * len(text))
        return multiples, lengths

    def _times(self, digits: str, number: str) -> list[str]:
        """Return a number times each of some digits."""
        try:
            if not digits:
                return []
            products = self.machines["times"].by_digits(digits).texts(number)
        except ValueError:
            raise NoColumnError from None
        return [product.lstrip(self._symbols[0]) or self._symbols[0] for product in products]

    def _zeros(self, size: int) -> Bytes:
        return np.full(size, self._zero, np.uint8)

    def _filled(self, number: Bytes, size: int) -> Bytes:
        found = self._zeros(size)
        found[size - len(number) :] = number
        return found

    def _text(self, number: Bytes) -> str:
        return number.tobytes().decode("ascii").lstrip(self._symbols[0]) or self._symbols[0]

    def _count(self, kind: str, columns: int) -> None:
        self.steps[kind] = self.steps.get(kind, 0) + columns

    def _tell(self, more: int) -> None:
        self._done += more
        self.watch(self._done, self._total)
        if self.cancel is not None:
            self.cancel.check()


def _leaves(size: int) -> int:
    """Return how many products as on paper a product by halves consists of."""
    if size < HALVED:
        return 1
    high = size - size // 2
    return _leaves(high) + _leaves(size // 2) + _leaves(high + 1)
