"""Ctrl-C and SIGTERM: both end the work in good order, and the exit code says which it was (130, 143).

Only the command line listens; in a program of someone else's, signals are theirs.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
AGAIN_SECONDS: Final = 0.1


class Stopped(BaseException):
    """One of the signals came. Not a KeyboardInterrupt, which others catch and forget which it was."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def code(number: int) -> int:
    """Return the exit code of a command that a signal has ended, as shells write it.

    >>> code(signal.SIGTERM)
    143
    """
    return 128 + number


@contextmanager
def by_exception() -> Iterator[None]:
    """Raise `Stopped` wherever the work is, so that everything is put in order on the way out.

    What is raised on that way instead of it is taken for it: Python itself makes a RuntimeError of whatever ends the
    making of a class, as in an import. And it drops what is raised in a finaliser or in a hook of fork: then the signal
    is sent once more.
    """
    heard: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        heard.append(number)
        raise Stopped(number)

    with _listening(handle), _again_if_dropped():
        try:
            yield
        except Exception as problem:
            if heard:
                raise Stopped(heard[0]) from problem
            raise


@contextmanager
def _again_if_dropped() -> Iterator[None]:
    before, timers = sys.unraisablehook, []

    def hook(dropped: sys.UnraisableHookArgs) -> None:
        if isinstance(dropped.exc_value, Stopped):
            timers.append(threading.Timer(AGAIN_SECONDS, os.kill, (os.getpid(), dropped.exc_value.number)))
            timers[-1].start()
        else:
            before(dropped)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
        for timer in timers:
            timer.cancel()


@contextmanager
def between_steps() -> Iterator[list[int]]:
    """Collect the first signal, so that the step under way is finished; raise the second."""
    caught: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        if caught:
            raise Stopped(number)
        caught.append(number)

    with _listening(handle):
        yield caught


@contextmanager
def afterwards() -> Iterator[None]:
    """Hear signals only when this is over: C++ code that calls Python may abort the process where Python raises."""
    if threading.current_thread() is not threading.main_thread():
        yield  # which is never interrupted
        return
    caught: list[int] = []
    with _listening(lambda number, _: caught.append(number)):
        yield
    if caught:
        signal.raise_signal(caught[0])


@contextmanager
def _listening(handle: Callable[[int, FrameType | None], Any]) -> Iterator[None]:
    before = _listen(handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _listen(handle: Callable[[int, FrameType | None], Any]) -> dict[int, Any]:
    """Set a handler for the signals that are not ignored, as in the background of a script; return those before."""
    heard = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    return {number: signal.signal(number, handle) for number in heard}
