"""The part of R's serialisation format that covers lists, text, numbers and raw bytes: parsed, never executed.

The format (R Internals, "Serialization Formats"): a header, then items. An item begins with four bytes of flags: the
lowest byte is its type; bit 9 says that attributes follow (a pairlist), bit 10 that a pairlist's node has a tag.
"""

from __future__ import annotations

import struct
from typing import Final

from alga.base.errors import AlgaError

_SYMBOL, _PAIRLIST, _CHARACTERS, _INTEGERS, _REALS, _TEXTS, _LIST, _RAW = 1, 2, 9, 13, 14, 16, 19, 24
_NIL, _REFERENCE = 254, 255
_ATTRIBUTES, _TAG = 0x200, 0x400
DEEPEST: Final = 20
MOST: Final = 100_000  # values: each takes about a hundred bytes of memory for four in the file


def parse(data: bytes) -> object:
    r"""Return the value that R serialised: dict or list, bytes, list of str, of int or of float, None.

    >>> parse(b"X\n" + bytes([0, 0, 0, 2, 0, 4, 0, 0, 0, 2, 3, 0]) + bytes([0, 0, 0, 24, 0, 0, 0, 2]) + b"hi")
    b'hi'
    """
    try:
        return _Reader(data).value()
    except (struct.error, UnicodeDecodeError, IndexError, RecursionError):
        raise AlgaError("expected data serialised by R, got something else or a part of it") from None


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0
        self._symbols: list[str] = []
        self._left = MOST

    def value(self) -> object:
        if self._bytes(2) != b"X\n":
            raise AlgaError("expected data serialised by R in its binary form")
        version, _, _ = self._integer(), self._integer(), self._integer()
        if version not in {2, 3}:
            raise AlgaError(f"expected version 2 or 3 of R's serialisation, got {version}")
        if version == 3:
            self._bytes(self._length())  # the name of the native encoding
        return self._item(0)

    def _item(self, depth: int) -> object:
        if depth > DEEPEST:
            raise AlgaError(f"R data nested deeper than {DEEPEST} is not read")
        self._take(1)
        flags = self._integer()
        kind = flags & 0xFF
        value: object = None
        if kind == _NIL:
            return None
        if kind == _PAIRLIST:
            return self._pairs(flags, depth)
        if kind == _SYMBOL:
            value = str(self._item(depth + 1))
            self._symbols.append(value)
        elif kind == _REFERENCE:
            value = self._symbols[(flags >> 8) - 1]
            flags = kind  # the other bits were the index
        elif kind == _CHARACTERS:
            value = self._bytes(self._length()).decode()
        elif kind == _RAW:
            value = self._bytes(self._length())
        elif kind in {_LIST, _TEXTS}:
            value = [self._item(depth + 1) for _ in range(self._length())]
        elif kind in {_INTEGERS, _REALS}:
            count = self._length()
            self._take(count)
            code, width = ("i", 4) if kind == _INTEGERS else ("d", 8)
            value = list(struct.unpack(f">{count}{code}", self._bytes(count * width)))
        else:
            raise AlgaError(f"R data of type {kind} is not read: only lists, text, numbers and raw bytes are")
        attributes = self._item(depth + 1) if flags & _ATTRIBUTES else None
        names = attributes.get("names") if isinstance(attributes, dict) else None
        if isinstance(value, list) and isinstance(names, list) and len(names) == len(value):
            return dict(zip(map(str, names), value, strict=True))
        return value

    def _pairs(self, flags: int, depth: int) -> dict[str, object]:
        """Read a pairlist: nodes of an optional tag and a value, each followed by the next or by nothing."""
        pairs: dict[str, object] = {}
        while flags & 0xFF == _PAIRLIST:
            if flags & _ATTRIBUTES:
                self._item(depth + 1)
            tag = str(self._item(depth + 1)) if flags & _TAG else str(len(pairs))
            pairs[tag] = self._item(depth + 1)
            flags = self._integer()
        if flags & 0xFF != _NIL:
            raise AlgaError("expected the end of an R pairlist, got something else")
        return pairs

    def _take(self, values: int) -> None:
        self._left -= values
        if self._left < 0:
            raise AlgaError(f"R data with more than {MOST:,} values are not read")

    def _integer(self) -> int:
        (value,) = struct.unpack(">i", self._bytes(4))
        return int(value)

    def _length(self) -> int:
        length = self._integer()
        if not 0 <= length <= len(self._data) - self._at:
            raise AlgaError(f"R data states a length of {length:,}, more than there is")
        return length

    def _bytes(self, count: int) -> bytes:
        if self._at + count > len(self._data):
            raise AlgaError("R data ends too early")
        self._at += count
        return self._data[self._at - count : self._at]
