"""Numbers from files and standard input."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final, TextIO

from alga.base.errors import AlgaError

MOST_DIGITS_READ: Final = 2**30  # digits of a number read into memory
CHARACTERS_PER_READ: Final = 2**20  # characters read at a time


def number_in(path: str | None) -> str:
    """Return the number in a file, or on standard input for None."""
    name, read, blocks = path or "standard input", 0, []
    with opened(path) as file:
        try:
            while block := file.read(CHARACTERS_PER_READ):
                read += len(block)
                if "\0" in block:  # such as /dev/zero, which never ends
                    raise AlgaError(f"{name} holds something other than a number: the character '\\x00'")
                if read > MOST_DIGITS_READ:
                    raise AlgaError(
                        f"{name} has more than {MOST_DIGITS_READ:,} digits; add longer numbers from files, @A @B"
                    )
                blocks.append(block)
        except UnicodeDecodeError:
            raise AlgaError(f"{name} holds something other than text") from None
    return "".join(blocks).rstrip("\r\n")


def opened(path: str | None) -> AbstractContextManager[TextIO]:
    """Open a text file, or standard input for None."""
    if path is not None:
        return Path(path).open(encoding="utf-8")
    if sys.stdin is None:
        raise AlgaError("expected a number on standard input, which is closed")
    return nullcontext(sys.stdin)
