"""The characters of a text as an array, without a copy: for texts so long that copying costs more than adding.

CPython keeps an ASCII text as one byte per character, and says where (`PyUnicode_AsUTF8`). A text that nobody has seen
yet may be written to (`PyUnicode_New`).
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_address = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(("PyUnicode_AsUTF8", ctypes.pythonapi))
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_ssize_t, ctypes.c_uint32)(("PyUnicode_New", ctypes.pythonapi))

LARGEST_ASCII: Final = 127


def viewed(text: str) -> NDArray[np.uint8]:
    """Return the characters of an ASCII text, to be read while the text is held.

    >>> viewed("0" * 3 + "1").tolist()
    [48, 48, 48, 49]
    """
    found = _at(text)
    found.flags.writeable = False
    return found


def new_text(size: int) -> tuple[str, NDArray[np.uint8]]:
    """Return a new text of two or more characters, and them to be written, in ASCII, before anyone else sees the text.

    >>> text, characters = new_text(3)
    >>> characters[:] = 55
    >>> text
    '777'
    """
    assert size > 1, "shorter texts are shared"
    text: str = _new(size, LARGEST_ASCII)
    return text, _at(text)


def _at(text: str) -> NDArray[np.uint8]:
    assert text.isascii()
    memory: Any = (ctypes.c_uint8 * len(text)).from_address(_address(text))
    return np.frombuffer(memory, np.uint8)
