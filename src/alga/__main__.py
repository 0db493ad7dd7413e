"""Entry point of the command `alga` and of `python -m alga`.

Importing the command line takes a tenth of a second, and Ctrl-C during it should not print a traceback. So handlers
are set first, using only modules that Python has already loaded.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal itself takes milliseconds to load
import atexit
import os


def _exit_on_signal() -> None:
    """Make Ctrl-C and SIGTERM end the process silently.

    Once the work is done and the exit code decided, signals are ignored. While Python frees its memory it resets
    handlers to the default, so a late SIGTERM would end a finished command with -15.
    """
    for number in (_signal.SIGINT, _signal.SIGTERM):
        if _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, lambda number, _: os._exit(128 + number))
            atexit.register(_signal.signal, number, _signal.SIG_IGN)  # the first registered runs last


def main() -> None:
    """Run the command line."""
    _exit_on_signal()
    from alga.cli.app import main as run  # noqa: PLC0415 - this is what takes the time

    run()


if __name__ == "__main__":
    main()
