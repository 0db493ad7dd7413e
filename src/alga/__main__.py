"""Entry point of the command `alga` and of `python -m alga`.

Importing the command line takes a tenth of a second, and Ctrl-C during it should not print a traceback. So handlers
are set first, using only modules that Python has already loaded.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal itself takes milliseconds to load
import atexit
import os
import sys


def _exit_on_signal() -> None:
    """Make Ctrl-C and SIGTERM end the process silently, at once.

    While Python frees its memory it resets handlers to the default, so a late SIGTERM would end a finished command with
    -15: at the very end, signals are ignored.
    """
    for number in _heard():
        _signal.signal(number, _exit)
        atexit.register(_signal.signal, number, _signal.SIG_IGN)  # the first registered runs last


def _ignore_first_signal() -> None:
    """Ignore the next signal: the work is done, the exit code is decided, and libraries are cleaning up.

    The one after it ends the process at once, in case cleaning up hangs.
    """
    for number in _heard():
        _signal.signal(number, lambda number, _: _signal.signal(number, _exit))


def _exit(number: int, _frame: object) -> None:
    os._exit(128 + number)


def _heard() -> list[int]:
    return [number for number in (_signal.SIGINT, _signal.SIGTERM) if _signal.getsignal(number) != _signal.SIG_IGN]


def _exit_now(code: int) -> None:
    """Exit without finalising Python: libraries that a signal interrupted half-way may crash there, or complain."""
    sys.unraisablehook = lambda _: None
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):  # closed
            continue
    os._exit(code)


def main() -> None:
    """Run the command line."""
    _exit_on_signal()
    from alga.cli.app import main as run  # noqa: PLC0415 - the slow import

    try:
        try:
            run()
        finally:
            _ignore_first_signal()
    except SystemExit as ended:
        if ended.code in (128 + _signal.SIGINT, 128 + _signal.SIGTERM):
            _exit_now(int(ended.code or 0))
        raise


if __name__ == "__main__":
    main()
