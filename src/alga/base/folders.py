"""Untrusted folders: files are opened relative to the folder's descriptor, and links inside it are never followed.

A run folder may come from a stranger, and a link in it may point anywhere, so only regular files are read or written.
The folder itself may be a link, because the user named it.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import logging
import os
import secrets
import stat
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from alga.base.errors import AlgaError

try:
    import fcntl

    HAS_LOCKS = True
except ImportError:  # Windows
    HAS_LOCKS = False

UNFINISHED: Final = ".unfinished"  # suffix of temporary files
DISK_FULL_ERRORS: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
HAS_DIR_FD = {os.open, os.stat, os.unlink, os.rename} <= os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
# Opening a pipe or terminal must not block or take it over. Windows has neither flag.
SAFE_OPEN: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


class Folder:
    """A folder and the regular files in it, by name.

    On systems that cannot open files relative to a folder, each file is checked before and after it is opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None
        if HAS_DIR_FD:
            with naming_file(path):
                self._handle = os.open(path, getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY)
            weakref.finalize(self, os.close, self._handle)
        elif not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))

    @classmethod
    def of(cls, folder: Folder | Path) -> Folder:
        """Open a path; an open folder is returned as it is."""
        return folder if isinstance(folder, Folder) else cls(folder)

    def names(self) -> list[str]:
        """List the folder."""
        if self._handle is None:
            return [entry.name for entry in self.path.iterdir()]
        with naming_file(self.path):
            listing = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=self._handle)
        try:
            return os.listdir(listing)  # noqa: PTH208 - pathlib takes no descriptor
        finally:
            os.close(listing)

    def status(self, name: str) -> os.stat_result | None:
        """Return the `lstat` of an entry, None if it does not exist."""
        with naming_file(self.path / name):
            try:
                return os.stat(self._at(name), dir_fd=self._handle, follow_symlinks=False)
            except FileNotFoundError:
                return None

    def has(self, name: str) -> bool:
        """Return whether an entry of any type has that name."""
        return self.status(name) is not None

    def check(self, name: str) -> os.stat_result | None:
        """Return the status of an entry; refuse anything but a regular file."""
        status = self.status(name)
        if status is not None:
            check_ordinary(status, self.path / name)
        return status

    def open(self, name: str, flags: int) -> int:
        """Open a regular file."""
        path = self.path / name
        self.check(name)
        with naming_file(path):
            flags |= SAFE_OPEN | (os.O_NOFOLLOW if self._handle is not None else 0)
            handle = os.open(self._at(name), flags, 0o666, dir_fd=self._handle)
        with closing_on_error(handle):
            status = os.fstat(handle)
            check_ordinary(status, path)
            now = self.check(name) if self._handle is None else status
            if now is None or not os.path.samestat(status, now):
                raise AlgaError(f"{path} was replaced while it was opened")
        return handle

    def read(self, name: str, limit: int) -> bytes:
        """Return a file's content; refuse more than `limit` bytes."""
        return read_handle(self.open(name, os.O_RDONLY), self.path / name, limit)

    def sha256(self, name: str, limit: int) -> str:
        """Return the hash of a file's content; refuse more than `limit` bytes."""
        handle = self.open(name, os.O_RDONLY)
        with os.fdopen(handle, "rb") as file:
            check_size(os.fstat(handle).st_size, self.path / name, limit)
            return hashlib.file_digest(file, "sha256").hexdigest()

    def write(self, name: str, data: bytes) -> None:
        """Write a file atomically."""
        with self.writing(name) as file:
            file.write(data)

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        """Open a file for an atomic write: a kill at any moment leaves the old content or the new.

        The old file's permissions are kept.
        """
        path, before = self.path / name, self.check(name)
        with naming_file(path):
            handle, temporary = self._temporary(name)
        try:
            with os.fdopen(handle, "wb") as file:
                try:
                    yield file
                except OSError as problem:
                    if problem.errno in DISK_FULL_ERRORS and problem.filename is None:
                        problem.filename = str(path)
                    raise
                with naming_file(path):
                    file.flush()
                    os.fsync(file.fileno())
                    if hasattr(os, "fchmod"):  # not on Windows
                        os.fchmod(file.fileno(), 0o666 & ~_umask() if before is None else before.st_mode & 0o777)
            with naming_file(path):
                self.rename(temporary, name)
        except BaseException:
            self.remove(temporary)
            raise

    def append(self, name: str, line: str) -> None:
        """Append a line to a file and sync it to disk."""
        handle = self.open(name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        with naming_file(self.path / name), os.fdopen(handle, "a") as file:
            file.write(f"{line}\n")
            file.flush()
            os.fsync(file.fileno())

    def rename(self, old: str, new: str) -> None:
        """Rename a file, replacing any file of the new name."""
        os.replace(self._at(old), self._at(new), src_dir_fd=self._handle, dst_dir_fd=self._handle)

    def remove(self, name: str) -> None:
        """Remove a file or link if it exists."""
        with naming_file(self.path / name), suppress(FileNotFoundError):
            os.unlink(self._at(name), dir_fd=self._handle)

    def remove_abandoned(self, prefix: str = ".") -> None:
        """Remove temporary files left by killed writers, which no longer hold their locks; without locks they stay."""
        for name in self.names() if HAS_LOCKS else ():
            if name.startswith(prefix) and name.endswith(UNFINISHED):
                with suppress(OSError, AlgaError):  # locked, not ours, or already gone
                    handle = self.open(name, os.O_RDONLY)
                    try:
                        lock_handle(handle)
                        self.remove(name)
                    finally:
                        os.close(handle)

    def _at(self, name: str) -> str:
        return name if self._handle is not None else str(self.path / name)

    def _temporary(self, name: str) -> tuple[int, str]:
        """Create and lock the temporary file that will become `name`; remove those left by killed writers."""
        prefix = f".{os.fsdecode(os.fsencode(name)[:100])}."
        with suppress(PermissionError):  # a folder may be writable but not readable
            self.remove_abandoned(prefix)
        while True:
            temporary = f"{prefix}{secrets.token_hex(8)}{UNFINISHED}"
            handle = os.open(self._at(temporary), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=self._handle)
            with suppress(OSError):  # no locks on this file system: leftovers stay
                lock_handle(handle)
            if self.has(temporary):
                return handle, temporary
            os.close(handle)  # another process removed it before we locked it


def lock_handle(handle: int) -> None:
    """Lock an open file until it is closed; BlockingIOError if another process holds the lock."""
    if not HAS_LOCKS:
        _log_missing_locks()
    else:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


@functools.cache
def _log_missing_locks() -> None:
    logging.getLogger("alga").warning("alga: no file locks on this system; do not write to a folder from two processes")


@contextmanager
def closing_on_error(handle: int) -> Iterator[None]:
    """Close a file descriptor if the block fails."""
    try:
        yield
    except BaseException:
        os.close(handle)
        raise


def read_handle(handle: int, path: Path, limit: int) -> bytes:
    """Read and close an open file; refuse more than `limit` bytes, if possible before reading."""
    with os.fdopen(handle, "rb") as file:
        size = os.fstat(handle).st_size
        check_size(size, path, limit)
        data = file.read(size + 1)
        if len(data) > size:  # it grew, or its size is unknown
            data += file.read(limit + 1 - len(data))
    check_size(len(data), path, limit)
    return data


def check_size(size: int, path: Path, limit: int) -> None:
    """Refuse a file of too many bytes."""
    if size > limit:
        raise AlgaError(f"{path} has more than the {limit:,} bytes that are read")


def check_ordinary(status: os.stat_result, path: Path) -> None:
    """Refuse anything but a regular file: a pipe may block, a device may be endless, a link may point anywhere."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if stat.S_ISLNK(status.st_mode):
        raise AlgaError(f"{path} is a link, and links in a folder of files are not followed; expected an ordinary file")
    if not stat.S_ISREG(status.st_mode):
        raise AlgaError(f"expected an ordinary file, got a pipe, a socket or a device: {path}")


@contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """Make OS errors name the requested file instead of a temporary one."""
    try:
        yield
    except OSError as problem:
        raise OSError(problem.errno, problem.strerror, str(path)) from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
