"""The one way to write a file: whole or not at all."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from alga.errors import AlgaError

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


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold a file that no other process may hold; it is let go when the process ends, however it ends."""
    with path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlgaError(f"another process is writing {path}; wait for it, or choose another file") from None
        yield


def append(path: Path, line: str) -> None:
    """Add a line to a file; it is on disk when this returns."""
    with path.open("a") as file:
        file.write(f"{line}\n")
        file.flush()
        os.fsync(file.fileno())


def whole_lines(path: Path) -> list[str]:
    """Return a file's lines without a half-written last one; that is cut off, so that lines can be added."""
    data = path.read_bytes() if path.exists() else b""
    kept = data[: data.rfind(b"\n") + 1]
    if kept != data:
        write(path, kept)
    return kept.decode(errors="replace").splitlines()


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
