"""What a request may ask for: digits, bytes, company and time; and what is said to one that asks for more."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from threading import Event

from alga.errors import AlgaError
from alga.progress import Watch


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of one server; the command line has an option for each."""

    digits: int = 100_000  # of a number
    steps: int = 20_000  # of one trace
    body: int = 1_000_000  # bytes of a request
    concurrent: int = 4  # requests that are computed at once
    waiting: int = 128  # requests that wait for their turn
    seconds: float = 10.0  # to send a request; to wait and be computed

    def __post_init__(self) -> None:
        for field in fields(self):
            least = 0 if field.name == "waiting" else 1
            value = getattr(self, field.name)
            if value < least:
                raise AlgaError(f"the limit on {field.name} must be at least {least}, got {value}")


class RefusedError(AlgaError):
    """A request that is refused with a status of its own; every other AlgaError is bad input, 422."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Deadline:
    """The end of one request's time; the work asks at every step, for nobody can stop a thread from outside."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.over = Event()  # set where nobody waits for the work any more
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """The seconds that are left, never below zero."""
        return max(0.0, self._end - time.monotonic())

    def too_late(self) -> RefusedError:
        """Return the error for a request whose time is over."""
        return RefusedError(504, f"the answer took longer than {self.seconds:g} seconds, which is the limit here")

    @property
    def watch(self) -> Watch:
        """What an engine tells of its progress, and what stops it when the time is over."""

        def watch(done: int, total: int) -> None:  # noqa: ARG001
            if self.over.is_set() or not self.left:
                raise self.too_late()

        return watch


def check_digits(operands: list[str], most: int) -> None:
    """Refuse a number that is longer than the limit."""
    longest = max(len(operand.removeprefix("-")) for operand in operands)
    if longest > most:
        raise RefusedError(413, f"a number may have up to {most:,} digits here, got {longest:,}")
