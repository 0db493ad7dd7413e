"""Where the command `alga` begins, and `python -m alga`.

Importing the command line takes a tenth of a second, in which Ctrl-C should not print where the import was. So the
first thing here is to listen, by what Python has loaded before anything else.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal itself takes milliseconds to load
import os


def _listen() -> None:
    """Have Ctrl-C and SIGTERM end the process without a word."""
    for number in (_signal.SIGINT, _signal.SIGTERM):
        if _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, lambda number, _: os._exit(128 + number))


def main() -> None:
    """Run the command line."""
    _listen()
    from alga.cli.app import main as run  # noqa: PLC0415 - this is what takes the time

    run()


if __name__ == "__main__":
    main()
