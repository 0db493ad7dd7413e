"""Limits on a request: digits, bytes, concurrency, time; and the error for a request that exceeds one.

The cost of a problem is estimated from its lengths, because long problems get worker threads of their own.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from typing import Final

from alga.base.cancellation import Cancellation
from alga.base.errors import AlgaError

WORKED: Final = 0.005  # seconds of work after which a thread yields the interpreter
RESTED: Final = 0.001  # seconds that it yields for: a shorter pause starves the other threads
LONG_LOOKUPS: Final = 500_000  # table look-ups: about 50 ms
STEP: Final = 500  # look-ups that take as long as one step by the network
PART: Final = 200  # look-ups that take as long as starting one part of a problem
LARGE: Final = 10_000_000  # prompts times parameters: certifying such a network takes about 50 ms


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of one server; the command line has an option for each."""

    digits: int = 100_000  # of a number
    steps: int = 20_000  # of one trace
    body: int = 1_000_000  # bytes of a request
    damage: int = 1_000_000_000  # prompts times parameters of a network to damage
    connections: int = 160  # open at once
    concurrent: int = 4  # short requests computed at once; half as many long ones beside them
    waiting: int = 128  # short requests in the queue; an eighth as many long ones
    seconds: float = 10.0  # to send a request; to wait and be computed; to read the next part of the response

    def __post_init__(self) -> None:
        for field in fields(self):
            least = 0 if field.name == "waiting" else 1
            value = getattr(self, field.name)
            if not least <= value < math.inf:  # also refuses NaN
                finite = " and finite" if isinstance(value, float) else ""
                raise AlgaError(f"the limit on {field.name} must be at least {least}{finite}, got {value}")


class RefusedError(AlgaError):
    """A request that is refused with a status of its own; every other AlgaError is bad input, 422."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Deadline(Cancellation):
    """A cancellation token with a time limit, for one request."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds
        self._rested = time.monotonic()
        self._end = self._rested + seconds

    @property
    def left(self) -> float:
        """The seconds left, never below zero."""
        return max(0.0, self._end - time.monotonic())

    @asynccontextmanager
    async def limit(self) -> AsyncIterator[None]:
        """Raise if what is awaited inside takes longer than the time left."""
        import asyncio  # `alga --help` shows the limits and should not wait for this

        try:
            async with asyncio.timeout(self.left):
                yield
        except TimeoutError:
            raise self.too_late() from None

    def too_late(self) -> RefusedError:
        """Return the error for a request whose time is up."""
        return RefusedError(504, f"the answer took longer than {self.seconds:g} seconds, the limit here")

    def check(self) -> None:
        """Raise if the time is up or the client has left; give other threads a turn."""
        if self.cancelled or not self.left:
            raise self.too_late()
        if time.monotonic() - self._rested > WORKED:
            time.sleep(RESTED)
            self._rested = time.monotonic()


def check_digits(operands: list[str], most: int) -> None:
    """Refuse a number that is longer than the limit."""
    longest = max(len(operand.removeprefix("-")) for operand in operands)
    if longest > most:
        raise RefusedError(413, f"a number may have up to {most:,} digits here, got {longest:,}")


def check_steps(count: int, most: int) -> None:
    """Refuse a trace that has more steps than the limit."""
    if count > most:
        raise RefusedError(413, f"this problem takes more than {most:,} steps, the limit of a trace here")


def parts(verb: str, operands: Sequence[str], base: int) -> tuple[int, int]:
    """Return about how many single-network problems an operation consists of, and the columns of each.

    >>> parts("add", ["65785", "8765"], 10), parts("mul", ["7" * 1000, "8" * 300], 10)
    ((1, 5), (310, 1000))
    """
    lengths = [len(operand.removeprefix("-")) for operand in operands]
    if verb == "mul":  # a multiple for each digit that occurs, and a sum for each digit
        return min(lengths) + base, max(lengths)
    if verb == "divmod":  # for each digit of the quotient: bisection over the multiples, and a subtraction
        return (max(0, lengths[0] - lengths[-1]) + 1) * (base.bit_length() + 1), lengths[-1]
    signs = verb == "sub" or any(operand.startswith("-") for operand in operands)
    return (len(lengths) - 1) * (2 if signs else 1), max(lengths)  # different signs: a comparison, then a subtraction


def is_long(verb: str, operands: Sequence[str], base: int, *, by_network: bool) -> bool:
    """Return whether a problem takes so long that short ones should not wait for it."""
    count, columns = parts(verb, operands, base)
    return count * (PART + columns * (STEP if by_network else 1)) > LONG_LOOKUPS
