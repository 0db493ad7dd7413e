"""Clean shutdown on Ctrl-C and SIGTERM, with the exit codes 130 and 143.

Only the command line installs these handlers; the library leaves signals to the program that imports it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
RESEND_SECONDS: Final = 0.1
IMPORT_FRAME: Final = "<frozen importlib._bootstrap>"  # the file name of Python's import frames


class SignalReceived(BaseException):
    """SIGINT or SIGTERM arrived. Not a KeyboardInterrupt: libraries catch that, and it loses the signal's number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def exit_code(number: int) -> int:
    """Return the shell's exit code for a command ended by a signal.

    >>> exit_code(signal.SIGTERM)
    143
    """
    return 128 + number


@contextmanager
def raise_on_signal() -> Iterator[None]:
    """Raise `SignalReceived` wherever the code is, so that `finally` blocks and context managers clean up.

    Python may replace the exception (a class body turns it into a RuntimeError): any exception after a signal counts as
    that signal. Python may also drop it (in finalisers and fork hooks): then the signal is sent again. During an import
    the signal is likewise sent again later, because torch's import may swallow the exception or abort the process.
    """
    outside = _count_imports(sys._getframe())
    heard: list[int] = []
    timers: list[threading.Timer] = []

    def resend(number: int) -> None:
        timers.append(threading.Timer(RESEND_SECONDS, send, (number,)))
        timers[-1].start()

    def send(number: int) -> None:
        if os.name == "nt":
            signal.raise_signal(number)  # os.kill would end the process at once
        else:
            os.kill(os.getpid(), number)
        with suppress(ValueError):
            heard.remove(number)  # the current handler reports it: this one again, or a training's

    def handle(number: int, frame: FrameType | None) -> None:
        heard.append(number)
        if _count_imports(frame) > outside:
            resend(number)
        else:
            raise SignalReceived(number)

    with _handling(handle), _resending_dropped(resend):
        try:
            yield
        except Exception as problem:
            if heard:
                raise SignalReceived(heard[0]) from problem
            raise
        finally:
            for timer in timers:
                timer.cancel()
        if heard:  # during an import, and the work ended before the signal was sent again
            raise SignalReceived(heard[0])


def _count_imports(frame: FrameType | None) -> int:
    """Count the import frames on the stack."""
    count = 0
    while frame is not None:
        count += frame.f_code.co_filename == IMPORT_FRAME
        frame = frame.f_back
    return count


@contextmanager
def _resending_dropped(resend: Callable[[int], None]) -> Iterator[None]:
    before = sys.unraisablehook

    def hook(dropped: sys.UnraisableHookArgs) -> None:
        if isinstance(dropped.exc_value, SignalReceived):
            resend(dropped.exc_value.number)
        else:
            before(dropped)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


@contextmanager
def ignoring_finalisers() -> Iterator[None]:
    """Say nothing of finalisers that fail: a signal may have left a library's object half built."""
    before = sys.unraisablehook
    sys.unraisablehook = lambda _: None
    try:
        yield
    finally:
        sys.unraisablehook = before


@contextmanager
def catch_first_signal() -> Iterator[list[int]]:
    """Yield a list that collects the first signal, so that the current step can finish; raise on the second."""
    caught: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        if caught:
            raise SignalReceived(number)
        caught.append(number)

    with _handling(handle):
        yield caught


@contextmanager
def delay_signals() -> Iterator[None]:
    """Deliver signals only after the block: C++ code that calls Python may abort if a handler raises."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals only interrupt the main thread
        return
    caught: list[int] = []
    with _handling(lambda number, _: caught.append(number)):
        yield
    if caught:
        signal.raise_signal(caught[0])


@contextmanager
def _handling(handle: Callable[[int, FrameType | None], Any]) -> Iterator[None]:
    """Set a handler for all signals that are not ignored."""
    heard = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handle) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
