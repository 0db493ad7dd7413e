"""Files named by the user: atomic writes, bounded reads, locks. Symbolic links are followed.

Files in run folders are untrusted and go through `folders.Folder` instead, which never follows links.
"""

from __future__ import annotations

import errno
import os
import stat
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from alga.base import folders
from alga.base.errors import AlgaError
from alga.base.folders import SAFE_OPEN, Folder, check_ordinary, check_size, closing_on_error, naming_file, read_handle

LOCK: Final = ".lock"  # suffix of lock files
NO_LOCK_ERRORS: Final = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
MAX_LINE_BYTES: Final = 2**24
MAX_LINKS: Final = 40  # symbolic links followed in a row, as in Linux


def read(path: Path, limit: int) -> bytes:
    """Return the content of a regular file of at most `limit` bytes."""
    return read_handle(_open(path), path, limit)


def _open(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open a regular file; check its type before and after, since opening a pipe or device may block."""
    check_ordinary(path.stat(), path)
    handle = os.open(path, flags | SAFE_OPEN)
    with closing_on_error(handle):
        check_ordinary(os.fstat(handle), path)
    return handle


def write(path: Path, data: bytes) -> None:
    """Write a file atomically."""
    with writing(path) as file:
        file.write(data)


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """Open a file for an atomic write: a kill at any moment leaves the old content or the new.

    Links are followed. A pipe, device or descriptor is written to, not replaced.
    """
    with naming_file(path):
        replaced = _is_replaceable(path)
    if not replaced:
        with path.open("ab") as file:
            yield file
        return
    folder, name = _target(path)
    with folder.writing(name) as file:
        yield file


def _target(path: Path) -> tuple[Folder, str]:
    """Resolve symbolic links; return the folder and the name in it."""
    try:
        target = path.resolve()
    except RuntimeError:  # Python 3.11 and 3.12 raise this for a link to itself
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from None
    with naming_file(path):
        return Folder(target.parent), target.name


def _is_replaceable(path: Path) -> bool:
    """Return whether a path is new or a regular file, and not an open descriptor such as /dev/stdout."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return False
    except FileNotFoundError:
        return True
    descriptors = Path("/dev/fd").resolve()
    for _ in range(MAX_LINKS):
        if path.parent.resolve() == descriptors:
            return False
        if not path.is_symlink():
            break
        path = path.parent / path.readlink()
    return True


class Lock:
    """An exclusive lock on a file or folder, held until `release` or the end of the process.

    It is a `flock` on a small file beside the target, so a killed process leaves no lock behind. On a system without
    `flock` (Windows) nothing is locked, and a warning says so.
    """

    def __init__(self, target: Folder | Path) -> None:
        path = target.path if isinstance(target, Folder) else target
        is_folder = path.is_dir()
        with naming_file(path):
            folder = Folder.of(target if is_folder else path.parent)
            lock = LOCK if is_folder else f".{path.name}{LOCK}"
            handle = _acquire(folder, lock)
        if handle is None:
            what = "folder" if is_folder else "file"
            raise AlgaError(f"another process is writing to {path}; wait for it, or choose another {what}")
        self._release = weakref.finalize(self, _unlock, handle, folder, lock, os.getpid())

    def release(self) -> None:
        """Release the lock; idempotent."""
        self._release()

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def _acquire(folder: Folder, lock: str) -> int | None:
    """Open and lock a file; None if another process holds the lock."""
    while True:
        handle = folder.open(lock, os.O_RDWR | os.O_CREAT)
        try:
            folders.lock_handle(handle)
            now = folder.status(lock)
            if now is not None and os.path.samestat(os.fstat(handle), now):
                return handle
        except BlockingIOError:
            os.close(handle)
            return None
        except OSError as problem:
            os.close(handle)
            if problem.errno in NO_LOCK_ERRORS:
                raise AlgaError(f"{folder.path} is on a file system without locks; choose another place") from None
            raise
        os.close(handle)  # its holder removed the file between our open and our flock: retry


def _unlock(handle: int, folder: Folder, lock: str, holder: int) -> None:
    held = os.getpid() == holder  # a forked child inherits the handle but not the lock
    try:
        if held and folders.HAS_LOCKS:
            folder.remove(lock)  # before it is closed: afterwards another process may hold it
    finally:
        os.close(handle)
    if held and not folders.HAS_LOCKS:
        folder.remove(lock)  # Windows removes no open file


def append(path: Path, line: str) -> None:
    """Append a line to a regular file and sync it to disk."""
    folder, name = _target(path)
    folder.append(name, line)


def whole_lines(path: Path, limit: int) -> Iterator[str]:
    """Yield a file's complete lines, skipping a half-written last one; none if the file does not exist."""
    if not path.exists():
        return
    with os.fdopen(_open(path), "rb") as file:
        check_size(os.fstat(file.fileno()).st_size, path, limit)
        while line := file.readline(MAX_LINE_BYTES + 1):
            if len(line) > MAX_LINE_BYTES:
                raise AlgaError(f"{path} has a line of more than the {MAX_LINE_BYTES:,} bytes that are read")
            if line.endswith(b"\n"):
                yield line[:-1].decode(errors="replace")


def cut_half_line(path: Path, begins: bytes) -> None:
    """Remove a half-written last line before appending; refuse a line that does not start with `begins`."""
    if not path.exists():
        return
    with os.fdopen(_open(path, os.O_RDWR), "rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - MAX_LINE_BYTES))
        half = file.read().rpartition(b"\n")[2]
        if not half.startswith(begins[: len(half)]):
            raise AlgaError(f"{path} does not end in a line written by alga: {half[:60]!r}")
        with naming_file(path):
            os.ftruncate(file.fileno(), end - len(half))
