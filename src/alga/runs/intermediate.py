"""Intermediate weights of a training, if asked for: `checkpoints/step-000500.safetensors` in its run folder.

`checkpoints/SHA256SUMS` lists them. They have no certificate: the run's own is for its last weights.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from typing import Final

from alga.base.errors import AlgaError
from alga.base.folders import Folder
from alga.runs.checksums import CHECKSUMS

FOLDER: Final = "checkpoints"
LARGEST_LIST: Final = 2**24  # bytes: some 170,000 steps
STEPS_NAMED: Final = 8  # in an error
_LINE = re.compile(r"([0-9a-f]{64})  step-([0-9]{6,10})\.safetensors")


def name_of(step: int) -> str:
    """Return the file's name of the weights after so many steps.

    >>> name_of(500)
    'step-000500.safetensors'
    """
    return f"step-{step:06}.safetensors"


def write(run: Folder, step: int, data: bytes) -> None:
    """Write the weights after so many steps; they are listed once they are on disk."""
    inside = kept_folder(run, create=True)
    assert inside is not None
    inside.write(name_of(step), data)
    listed = _listed(inside) | {step: hashlib.sha256(data).hexdigest()}
    lines = [f"{found}  {name_of(each)}\n" for each, found in sorted(listed.items())]
    inside.write(CHECKSUMS, "".join(lines).encode())


def steps(run: Folder) -> list[int]:
    """Return the steps whose weights were kept, in order."""
    inside = kept_folder(run)
    return [] if inside is None else sorted(_listed(inside))


def read(run: Folder, step: int, most: int) -> bytes:
    """Return the weights after so many steps; refuse more than `most` bytes, and others than those listed."""
    inside = kept_folder(run)
    listed = {} if inside is None else _listed(inside)
    if inside is None or type(step) is not int or step not in listed:
        kept = sorted(listed)
        some = ", ".join(f"{each:,}" for each in kept[:STEPS_NAMED]) + (", …" if len(kept) > STEPS_NAMED else "")
        how = f"it has those after {some} steps" if kept else "alga train --checkpoints EVERY keeps some"
        raise AlgaError(f"{run.path} has no weights after {step!r} steps; {how}")
    data = inside.read(name_of(step), most)
    if hashlib.sha256(data).hexdigest() != listed[step]:
        path = inside.path / name_of(step)
        raise AlgaError(f"{path} is damaged: its SHA-256 is not the one in {FOLDER}/{CHECKSUMS}")
    return data


def kept_folder(run: Folder, create: bool = False) -> Folder | None:
    """Return the folder of the weights; a link in its place is not followed."""
    path, status = run.path / FOLDER, run.status(FOLDER)
    if status is None and not create:
        return None
    if status is None:
        path.mkdir()
        status = run.status(FOLDER)
    if status is None or not stat.S_ISDIR(status.st_mode):
        raise AlgaError(f"{path} is not a folder")
    inside = Folder(path)
    now = inside.status(".")
    if now is None or not os.path.samestat(now, status):
        raise AlgaError(f"{path} was replaced while it was opened")
    return inside


def _listed(inside: Folder) -> dict[int, str]:
    if not inside.has(CHECKSUMS):
        return {}
    lines = inside.read(CHECKSUMS, LARGEST_LIST).decode(errors="replace").split("\n")[:-1]
    found = [_LINE.fullmatch(line) for line in lines]
    if None in found:
        raise AlgaError(f"{inside.path / CHECKSUMS} is damaged: {lines[found.index(None)][:100]!r}")
    return {int(each[2]): each[1] for each in found if each is not None}
