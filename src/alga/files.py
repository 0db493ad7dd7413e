"""The one way to write a file: whole or not at all; to read one: bounded; to have a place alone: the system's lock."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from alga.errors import AlgaError

UNFINISHED: Final = ".unfinished"  # how files end that are being written
LOCK: Final = ".lock"  # how files end that a process holds
FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
NO_LOCKS: Final = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


def read(path: Path, most: int) -> bytes:
    """Return what an ordinary file holds; refuse more than `most` bytes, and what is no ordinary file.

    A pipe would be waited for, perhaps for ever, and a device may have no end.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(status.st_mode):
            raise AlgaError(f"expected an ordinary file, got a pipe or a device: {path}")
        with os.fdopen(handle, "rb", closefd=False) as file:
            data = file.read(most + 1) if status.st_size <= most else b""
        if max(len(data), status.st_size) > most:
            raise AlgaError(f"{path} has more than the {most:,} bytes that are read")
    finally:
        os.close(handle)
    return data


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
    try:
        path = path.resolve()
    except RuntimeError:  # what Python 3.11 and 3.12 raise for a link that leads to itself
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from None
    with _naming(path):
        handle, temporary = _temporary(path)
    try:
        with os.fdopen(handle, "wb") as file:
            try:
                yield file
            except OSError as problem:
                if problem.errno in FULL and problem.filename is None:
                    problem.filename = str(path)
                raise
            with _naming(path):
                file.flush()
                os.fsync(file.fileno())
        with _naming(path):
            temporary.chmod(0o666 & ~_umask())
            temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Have an error of the system name the file that was asked for, not the temporary one or none."""
    try:
        yield
    except OSError as problem:
        raise OSError(problem.errno, problem.strerror, str(path)) from None


def _temporary(path: Path) -> tuple[int, Path]:
    """Make and hold the file that will become `path`; remove those that kills have left of it."""
    prefix = f".{os.fsdecode(os.fsencode(path.name)[:100])}."
    with suppress(PermissionError):  # a folder may be written to and not listed
        for left in path.parent.iterdir():
            if left.name.startswith(prefix) and left.name.endswith(UNFINISHED):
                _remove_abandoned(left)
    while True:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=prefix, suffix=UNFINISHED)
        with suppress(OSError):  # a file system without locks: what a kill leaves there stays
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if Path(name).exists():
            return handle, Path(name)
        os.close(handle)  # another process took it for abandoned before we held it


def _remove_abandoned(path: Path) -> None:
    """Remove a temporary file that nobody holds any more."""
    with suppress(OSError):  # it is held, or not ours, or gone
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
        finally:
            os.close(handle)


class Hold:
    """A file or folder that no other process may hold; let go by `release`, or when the process ends, however it ends.

    The lock is the system's own, on a small file beside it, so a kill leaves none behind.
    """

    def __init__(self, path: Path) -> None:
        folder = path.is_dir()
        lock = path / LOCK if folder else path.with_name(f".{path.name}{LOCK}")
        with _naming(path):
            handle = _held(lock)
        if handle is None:
            what = "folder" if folder else "file"
            raise AlgaError(f"another process is writing to {path}; wait for it, or choose another {what}")
        self._release = weakref.finalize(self, _let_go, handle, lock, os.getpid())

    def release(self) -> None:
        """Let go; once is enough."""
        self._release()

    def __enter__(self) -> Hold:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def _held(lock: Path) -> int | None:
    """Open and lock a file; None where another process has it."""
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(handle), lock.lstat()):
                return handle
        except BlockingIOError:
            os.close(handle)
            return None
        except FileNotFoundError:
            pass
        except OSError as problem:
            os.close(handle)
            if problem.errno in NO_LOCKS:
                raise AlgaError(f"{lock.parent} lies on a file system without locks; choose another place") from None
            raise
        os.close(handle)  # who had it let go and removed it between our opening and our locking: once more


def _let_go(handle: int, lock: Path, holder: int) -> None:
    if os.getpid() == holder:  # a forked child has the handle too, and ends without the lock being its own
        lock.unlink(missing_ok=True)
    os.close(handle)


def append(path: Path, line: str) -> None:
    """Add a line to a file; it is on disk when this returns."""
    with _naming(path), path.open("a") as file:
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


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
