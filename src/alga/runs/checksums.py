"""The seal of a run folder: SHA256SUMS, the hashes of all its files. Replacing it is what changes a run.

A folder without one was not finished being written. Any file that changed since, this one too, no longer fits.
`sha256sum -c SHA256SUMS` checks it by hand.

Several files change together: the new ones are written beside the old ones under names that hold their hashes, then
the seal is replaced, then they are put in their places. A reader takes what the seal names, wherever it lies. So it
sees all of the old files or all of the new ones, also after a full disk, or a kill at any moment.
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
from alga.base.errors import AlgaError
from alga.base.folders import Folder

NAME: Final = "SHA256SUMS"
SEALED: Final = ("README.md", "certificate.json", "config.json", "metrics.jsonl", "model.safetensors", "table.json")
LOADED: Final = ("certificate.json", "config.json", "model.safetensors", "table.json")  # what a network is read from
LARGEST: Final = 2**30  # bytes of any file of a run
LARGEST_SEAL: Final = 2**16
WAITING: Final = ".sealed"  # how files end that are sealed and not in their places yet
TRIES: Final = 100
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")
_WAITING = re.compile(rf"\.(.+)\.([0-9a-f]{{64}}){re.escape(WAITING)}")

T = TypeVar("T")


class Snapshot:
    """A run's files as they are at one moment: what the seal names, or what is there where there is none."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._damage: AlgaError | None = None
        self._seen: dict[str, str] = {}
        self._stated: dict[str, str] | None = None
        self._before = self._stamps()
        try:
            self._stated = _stated(folder)
        except (AlgaError, OSError) as problem:  # told by `check`, after what says more
            self._damage = problem if isinstance(problem, AlgaError) else AlgaError(_told(problem))

    def has(self, name: str) -> bool:
        """Tell whether a file is there."""
        return self.folder.has(self._place(name))

    def read(self, name: str, most: int) -> bytes:
        """Return what a file holds; refuse more than `most` bytes."""
        data = self.folder.read(self._place(name), most)
        self._seen[name] = hashlib.sha256(data).hexdigest()
        return data

    def check(self) -> None:
        """Refuse a sealed folder in which a file is not as it was; one that was taken out is none."""
        if self._damage is not None:
            raise self._damage
        for name in SEALED if self._stated is not None else ():
            assert self._stated is not None
            if self.has(name):
                found = self._seen.get(name) or self.folder.sha256(self._place(name), LARGEST)
                if self._stated.get(name) != found:
                    path = self.folder.path / name
                    raise AlgaError(f"{path} is not what was sealed: its SHA-256 is not the one in {NAME}")

    def holds(self) -> bool:
        """Tell whether nothing was changed since it was taken."""
        return self._stamps() == self._before

    def _place(self, name: str) -> str:
        """Return the name under which a file lies: it may be sealed and wait for its place."""
        waiting = _waiting(name, self._stated[name]) if self._stated and name in self._stated else ""
        return waiting if waiting and self.folder.has(waiting) else name

    def _stamps(self) -> list[tuple[int, ...] | None]:
        names = SEALED if self.folder.has(NAME) else LOADED  # metrics grow while a network is trained
        return [_stamp(self.folder.status(name)) for name in (NAME, *names)]


def steady(place: Folder | Path, read: Callable[[Snapshot], T]) -> T:
    """Return what is read of a run's files as they were at one moment, while others may write to them."""
    folder = Folder.of(place)
    for _ in range(TRIES):
        snapshot = Snapshot(folder)
        try:
            found = read(snapshot)
        except (AlgaError, OSError):
            if snapshot.holds():
                raise
        else:
            if snapshot.holds():
                return found
    raise AlgaError(f"{folder.path} is being written to all the time; try again")


def check(place: Folder | Path) -> None:
    """Refuse a sealed folder in which a file is not as it was."""
    steady(place, Snapshot.check)


def sealed(place: Folder | Path) -> bool:
    """Tell whether the folder was finished being written."""
    return Folder.of(place).has(NAME)


def hold(place: Folder | Path) -> files.Lock:
    """Keep other processes from writing to a run folder, and finish what a kill has left unfinished there."""
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
    folder.check(NAME)
    left = {name: folder.sha256(name, LARGEST) for name in there if name not in gone}
    wanted = {name: hashlib.sha256(data).hexdigest() for name, data in new.items()}
    late = {name: found for name, found in wanted.items() if left.get(name) != found}
    left |= wanted
    try:
        for name, found in late.items():
            folder.write(_waiting(name, found), new[name])
        with folder.writing(NAME) as file:
            file.write("".join(f"{left[name]}  {name}\n" for name in SEALED if name in left).encode())
            file.flush()
            os.fsync(file.fileno())
            for name in gone:  # now that there is room: a certificate for other weights never lies there
                folder.remove(name)
    finally:
        _settle(folder)


def seal(place: Folder | Path) -> None:
    """Write down the hash of each of a run's files that is there."""
    replace(Folder.of(place), {})


def unseal(place: Folder | Path) -> None:
    """Say that the folder is being written to again."""
    Folder.of(place).remove(NAME)


def _settle(folder: Folder) -> None:
    """Put sealed files in their places; remove those whose seal was never written."""
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
    """Return the hash of each file that the seal names; None where there is no seal."""
    try:
        text = folder.read(NAME, LARGEST_SEAL).decode(errors="replace")
    except FileNotFoundError:
        return None
    stated: dict[str, str] = {}
    for line in text.split("\n")[:-1]:
        found = _LINE.fullmatch(line)
        if found is None or found[2] not in SEALED or found[2] in stated:
            path = folder.path / NAME
            raise AlgaError(f"{path} is damaged: expected a hash and a file's name, got {line[:100]!r}")
        stated[found[2]] = found[1]
    return stated


def _waiting(name: str, sha256: str) -> str:
    return f".{name}.{sha256}{WAITING}"


def _stamp(status: os.stat_result | None) -> tuple[int, ...] | None:
    """Return what tells a file from the one that was in its place before."""
    if status is None:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _told(problem: OSError) -> str:
    return f"{problem.filename}: {(problem.strerror or str(problem)).lower()}"
