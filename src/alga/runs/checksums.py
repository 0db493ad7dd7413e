"""The seal of a run folder: SHA256SUMS, the hashes of all its files. Replacing it commits a change to a run.

A folder without a seal is unfinished. A file that does not match it is damaged. `sha256sum -c SHA256SUMS` checks it by
hand.

Several files change together: new ones are written beside the old ones under names that contain their hashes, then the
seal is replaced, then they are renamed. A reader takes the files that the seal names, under either name. So it sees all
of the old files or all of the new ones, even after a full disk or a kill at any moment.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from alga.base import files
from alga.base.errors import AlgaError, one_line
from alga.base.folders import Folder

CHECKSUMS: Final = "SHA256SUMS"
SEALED: Final = ("README.md", "certificate.json", "config.json", "metrics.jsonl", "model.safetensors", "table.json")
LOADED: Final = ("certificate.json", "config.json", "model.safetensors", "table.json")  # a network is read from these
MAX_FILE_BYTES: Final = 2**30  # bytes of any file of a run
LARGEST_SEAL: Final = 2**16
WAITING: Final = ".sealed"  # suffix of files that the seal names and that are not renamed yet
SNAPSHOT_TRIES: Final = 100
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")
_WAITING = re.compile(rf"\.(.+)\.([0-9a-f]{{64}}){re.escape(WAITING)}")

T = TypeVar("T")


class Snapshot:
    """A run's files at one moment: those that the seal names, or those in the folder if there is no seal."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._damage: AlgaError | None = None
        self._seen: dict[str, str] = {}
        self._stated: dict[str, str] | None = None
        self._before = self._stamps()
        try:
            self._stated = _stated(folder)
        except AlgaError as problem:  # raised by `check`, after more specific errors
            self._damage = problem
        except OSError as problem:
            self._damage = one_line(problem)

    def has(self, name: str) -> bool:
        """Return whether a file exists."""
        return self.folder.has(self._place(name))

    def read(self, name: str, most: int) -> bytes:
        """Return a file's content; refuse more than `most` bytes."""
        data = self.folder.read(self._place(name), most)
        self._seen[name] = hashlib.sha256(data).hexdigest()
        return data

    def check(self) -> None:
        """Refuse a sealed folder in which a file was changed; a removed file is not damage."""
        if self._damage is not None:
            raise self._damage
        for name in SEALED:
            if self._stated is not None and self.has(name):
                found = self._seen.get(name) or self.folder.sha256(self._place(name), MAX_FILE_BYTES)
                if self._stated.get(name) != found:
                    path = self.folder.path / name
                    raise AlgaError(f"{path} is not what was sealed: its SHA-256 is not the one in {CHECKSUMS}")

    def holds(self) -> bool:
        """Return whether nothing has changed since it was taken."""
        return self._stamps() == self._before

    def _place(self, name: str) -> str:
        """Return a file's current name: it may not be renamed yet."""
        waiting = _waiting(name, self._stated[name]) if self._stated and name in self._stated else ""
        return waiting if waiting and self.folder.has(waiting) else name

    def _stamps(self) -> list[tuple[int, ...] | None]:
        names = SEALED if self.folder.has(CHECKSUMS) else LOADED  # metrics grow while a network is trained
        return [_stamp(self.folder.status(name)) for name in (CHECKSUMS, *names)]


def steady(place: Folder | Path, read: Callable[[Snapshot], T]) -> T:
    """Call `read` on a consistent snapshot of a run's files, even while others write to them."""
    folder = Folder.of(place)
    for _ in range(SNAPSHOT_TRIES):
        snapshot = Snapshot(folder)
        try:
            found = read(snapshot)
        except (AlgaError, OSError):
            if snapshot.holds():
                raise
        else:
            if snapshot.holds():
                return found
    raise AlgaError(f"{folder.path} keeps changing; try again")


def sealed(place: Folder | Path) -> bool:
    """Return whether the folder is complete."""
    return Folder.of(place).has(CHECKSUMS)


def hold(place: Folder | Path) -> files.Lock:
    """Lock a run folder against other writers, and finish a change that a kill interrupted."""
    folder = Folder.of(place)
    held = files.Lock(folder)
    try:
        _settle(folder)
        folder.remove_abandoned()
    except BaseException:
        held.release()
        raise
    return held


def replace(folder: Folder, new: Mapping[str, bytes], gone: Iterable[str] = ()) -> None:
    """Replace several files of a run at once, remove others, and seal them all."""
    gone = set(gone)
    there = [name for name in SEALED if folder.check(name) is not None]
    folder.check(CHECKSUMS)
    left = {name: folder.sha256(name, MAX_FILE_BYTES) for name in there if name not in gone}
    wanted = {name: hashlib.sha256(data).hexdigest() for name, data in new.items()}
    late = {name: found for name, found in wanted.items() if left.get(name) != found}
    left |= wanted
    try:
        for name, found in late.items():
            folder.write(_waiting(name, found), new[name])
        with folder.writing(CHECKSUMS) as file:
            file.write("".join(f"{left[name]}  {name}\n" for name in SEALED if name in left).encode())
            file.flush()
            os.fsync(file.fileno())
            for name in gone:  # only now that the disk has room; there is never a certificate for other weights
                folder.remove(name)
    finally:
        _settle(folder)


def seal(place: Folder | Path) -> None:
    """Write the seal of the files in a run folder."""
    replace(Folder.of(place), {})


def unseal(place: Folder | Path) -> None:
    """Remove the seal: the folder is unfinished again."""
    Folder.of(place).remove(CHECKSUMS)


def _settle(folder: Folder) -> None:
    """Rename files that the seal names; remove those whose seal was never written."""
    waiting = [found for name in folder.names() if (found := _WAITING.fullmatch(name))]
    stated = None
    if waiting:
        with suppress(AlgaError):  # a damaged seal names nothing
            stated = _stated(folder)
    for found in waiting:
        if stated is not None and stated.get(found[1]) == found[2]:
            for name in (found[0], found[1]):
                folder.check(name)
            folder.rename(found[0], found[1])
        else:
            folder.remove(found[0])


def _stated(folder: Folder) -> dict[str, str] | None:
    """Return the hash of each file that the seal names; None without a seal."""
    try:
        text = folder.read(CHECKSUMS, LARGEST_SEAL).decode(errors="replace")
    except FileNotFoundError:
        return None
    stated: dict[str, str] = {}
    for line in text.split("\n")[:-1]:
        found = _LINE.fullmatch(line)
        if found is None or found[2] not in SEALED or found[2] in stated:
            path = folder.path / CHECKSUMS
            raise AlgaError(f"{path} is damaged: expected a hash and a file's name, got {line[:100]!r}")
        stated[found[2]] = found[1]
    return stated


def _waiting(name: str, sha256: str) -> str:
    return f".{name}.{sha256}{WAITING}"


def _stamp(status: os.stat_result | None) -> tuple[int, ...] | None:
    """Return what changes when a file is replaced."""
    return status and (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
