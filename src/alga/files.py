"""The one way to write a file: whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

UNFINISHED: Final = ".unfinished"  # how files end that are being written


def write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    with writing(path) as file:
        file.write(data)


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """Open a file to be written whole or not at all: a kill at any moment leaves the old one or the new one.

    A link is followed; what is no ordinary file (a pipe, a device) is written to, not replaced.
    """
    if path.parts[:2] in (("/", "dev"), ("/", "proc")) or (path.exists() and not path.is_file()):
        with path.open("ab") as file:
            yield file
        return
    path = path.resolve()
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=UNFINISHED)
    except OSError as problem:
        raise OSError(problem.errno, problem.strerror, str(path)) from None  # name the file, not the temporary one
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def sweep(folder: Path) -> None:
    """Remove what a kill in the middle of a write left behind."""
    for path in folder.glob(f".*{UNFINISHED}"):
        path.unlink()


def fresh(folder: Path) -> Path:
    """Remove a folder of ours that is to be made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
