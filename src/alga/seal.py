"""The seal of a run folder: SHA256SUMS, the hashes of all its files, written last.

A folder without one was not finished being written. Any file that changed since, this one too, no longer fits.
`sha256sum -c SHA256SUMS` checks it by hand.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Final

from alga import files
from alga.errors import AlgaError

NAME: Final = "SHA256SUMS"
SEALED: Final = ("README.md", "certificate.json", "config.json", "metrics.jsonl", "model.safetensors", "table.json")
LARGEST: Final = 2**30  # bytes of any file of a run
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def seal(folder: Path) -> None:
    """Write down the hash of each of a run's files that is there."""
    lines = [f"{_hash(folder / name)}  {name}\n" for name in SEALED if (folder / name).exists()]
    files.write(folder / NAME, "".join(lines).encode())


def unseal(folder: Path) -> None:
    """Say that the folder is being written to again."""
    (folder / NAME).unlink(missing_ok=True)


def sealed(folder: Path) -> bool:
    """Tell whether the folder was finished being written."""
    return (folder / NAME).exists()


def check(folder: Path) -> None:
    """Refuse a sealed folder in which a file is not as it was; one that was taken out is none."""
    path = folder / NAME
    stated = {}
    for line in files.read(path, 2**16).decode(errors="replace").split("\n")[:-1]:
        found = _LINE.fullmatch(line)
        if found is None or found[2] not in SEALED or found[2] in stated:
            raise AlgaError(f"{path} is damaged: expected a hash and a file's name, got {line[:100]!r}")
        stated[found[2]] = found[1]
    for name in SEALED:
        if (folder / name).exists() and stated.get(name) != _hash(folder / name):
            raise AlgaError(f"{folder / name} is not what was sealed: its SHA-256 is not the one in {NAME}")


def _hash(path: Path) -> str:
    return hashlib.sha256(files.read(path, LARGEST)).hexdigest()
