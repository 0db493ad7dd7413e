"""Rows of digits, read in blocks: texts in memory, or files larger than memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from alga.base.errors import AlgaError
from alga.tasks.numbers import number, stranger

BYTES_PER_READ: Final = 2**20  # bytes read at a time to skip leading zeros and line ends
LINE_END: Final = b"\r\n"


class NoColumnError(Exception):
    """What compiled code is not for: characters that are not a column of the task, or a table it cannot run."""


class DigitRow:
    """Digits from the left; `read(start, stop)` returns some of them as bytes."""

    def __init__(self, size: int, read: Callable[[int, int], bytes]) -> None:
        self.size, self.read = size, read

    def block(self, start: int, stop: int, width: int, *, from_right: bool, fill: bytes) -> bytes:
        """Return the row's part of the columns `start` to `stop`, counted from the left, of `width` in all."""
        before = width - self.size if from_right else 0
        digits = self.read(max(0, start - before), max(0, min(stop - before, self.size)))
        if b"\0" in digits:  # would be taken for the end of the row
            raise NoColumnError
        return digits.rjust(stop - start, fill) if from_right else digits.ljust(stop - start, fill)


def row_of(text: str) -> DigitRow:
    """Return the row of a text, which must be ASCII."""
    return DigitRow(len(text), lambda start, stop: text[start:stop].encode())


class FileRow(DigitRow):
    """A file that holds one number and perhaps a line end; leading zeros are skipped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state = self._status()
        self._file = path.open("rb", buffering=0)
        try:
            self._begin = 0
            end = self._last_digit(self._state[0])
            if end == 0:
                number("")  # raises
            self._begin = self._first_digit(end)
        except BaseException:
            self._file.close()
            raise
        super().__init__(end - self._begin, self._read)

    def close(self) -> None:
        """Close the file; raise if it changed while it was read."""
        self._file.close()
        if self._status() != self._state:
            raise self._changed()

    def refuse_strangers(self, digits: str) -> None:
        """Raise an error that names the first character that is not a digit, if any."""
        for start in range(0, self.size, BYTES_PER_READ):
            block = self._read(start, min(start + BYTES_PER_READ, self.size))
            if block.translate(None, digits.encode()):
                place = next(i for i, byte in enumerate(block) if chr(byte) not in digits)
                char = block[place : place + 4].decode(errors="replace")[0]
                raise AlgaError(f"{self.path}: {stranger(char, self._begin + start + place, digits)}")

    def _last_digit(self, end: int) -> int:
        """Return the position after the last character that is not a line end."""
        while end:
            start = max(0, end - BYTES_PER_READ)
            if kept := self._read(start, end).rstrip(LINE_END):
                return start + len(kept)
            end = start
        return 0

    def _first_digit(self, end: int) -> int:
        for start in range(0, end, BYTES_PER_READ):
            block = self._read(start, min(start + BYTES_PER_READ, end))
            if rest := block.lstrip(b"0"):
                return start + len(block) - len(rest)
        return end - 1  # zeros only: the last is the number

    def _read(self, start: int, stop: int) -> bytes:
        self._file.seek(self._begin + start)
        data = self._file.read(stop - start)
        while len(data) < stop - start:
            more = self._file.read(stop - start - len(data))
            if not more:
                raise self._changed()
            data += more
        return data

    def _status(self) -> tuple[int, int]:
        status = self.path.stat()
        return status.st_size, status.st_mtime_ns

    def _changed(self) -> AlgaError:
        return AlgaError(f"{self.path} was changed while it was read")
