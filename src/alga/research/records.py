"""Reading result files (JSON) for pages and figures: bounded, with one-line errors for missing fields."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

from alga.base import errors, files

MAX_RECORD_BYTES: Final = 2**26  # the largest committed file has 70,000 bytes


def read(path: Path, what: str) -> dict[str, Any]:
    """Return the results in a file; `what` names them in errors."""
    with blaming(path, what):
        return dict(json.loads(files.read(path, MAX_RECORD_BYTES)))


def blaming(path: Path, what: str) -> AbstractContextManager[None]:
    """Turn any error caused by a file's content into one line that names the file."""
    return errors.Blaming(f"{path} has no valid {what}")
