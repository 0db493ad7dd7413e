"""A run folder: everything that a training writes. Not trusted when read, written atomically.

config.json        task, vocabulary, model, recipe, seed, threads
model.safetensors  the weights; `sha256sum` of this file is the hash that certificates name
table.json         the network's output for every prompt
certificate.json   the record that these outputs are right
metrics.jsonl      a line per check during training
README.md          the model card
SHA256SUMS         the seal: hashes of all these, written last
checkpoint.safetensors   while training is unfinished: see training/checkpoint.py
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Final

from alga.base import files
from alga.base.errors import AlgaError, one_line
from alga.base.folders import Folder
from alga.runs import checksums, weights
from alga.runs import config as configs
from alga.runs.card import card
from alga.runs.checksums import Snapshot
from alga.runs.claims import certificate_and_table
from alga.runs.registry import locate
from alga.runs.run import Run
from alga.runs.weights import WEIGHTS, Weights

JUDGEMENT: Final = ("certificate.json", "table.json")
CHECKPOINT: Final = "checkpoint.safetensors"


def load(model: str | os.PathLike[str], *, read_certificate: bool = True) -> Run:
    """Load a run; refuse files that are damaged or do not belong together.

    `read_certificate=False` ignores a certificate beside the weights: for certifying them again.
    """
    try:
        return checksums.steady(locate(model), lambda snapshot: _read(snapshot, os.fspath(model), read_certificate))
    except OSError as problem:
        raise one_line(problem) from None


def _read(snapshot: Snapshot, name: str, read_certificate: bool) -> Run:
    folder = snapshot.folder
    config = configs.read(snapshot)
    if not snapshot.has(WEIGHTS):
        unfinished = f"; continue its training with: alga train --resume {folder.path}"
        raise AlgaError(f"{folder.path} has no {WEIGHTS}{unfinished if folder.has(CHECKPOINT) else ''}")
    data = weights.read(snapshot, config)
    run = Run(name=name, config=config, weights=Weights(config, data, folder.path / WEIGHTS))
    if not read_certificate or not snapshot.has("certificate.json"):
        _ = run.weights.arrays  # without a certificate for them, check the weights now
    else:
        certificate, table = certificate_and_table(snapshot, run)
        run = dataclasses.replace(run, certificate=certificate, table=table)
    if read_certificate:
        snapshot.check()
    return run


def save(place: Folder | Path, run: Run) -> None:
    """Write a run; until all of it is written, readers find the old files."""
    if not run.certified:
        run = dataclasses.replace(run, certificate=None, table=None)
    written = {configs.CONFIG: configs.to_json(run.config).encode(), WEIGHTS: run.weights.data}
    written |= _judgement(run, run.config.model.parameters)
    if isinstance(place, Path):
        place.mkdir(parents=True, exist_ok=True)
    checksums.replace(Folder.of(place), written, gone=[name for name in JUDGEMENT if name not in written])


def keep(path: Path, run: Run) -> None:
    """Write the certificate, table and card of a run whose weights are in the folder already."""
    folder = Folder(path)
    with checksums.hold(folder):
        stored = folder.sha256(WEIGHTS, checksums.MAX_FILE_BYTES)
        if not run.certified or run.certificate is None or run.table is None or run.certificate.sha256 != stored:
            raise AlgaError(f"{path}: a certificate is saved only beside the weights that it certifies")
        checksums.replace(folder, _judgement(run, run.certificate.parameters))


def _judgement(run: Run, parameters: int) -> dict[str, bytes]:
    """Return the files that describe a network: its card, and table and certificate if it has them."""
    written = {"README.md": card(run.config.task, parameters, run.config.training, run.certificate)}
    if run.table is not None:
        written["table.json"] = run.table.to_json()
    if run.certificate is not None:
        written["certificate.json"] = run.certificate.to_json()
    return {name: text.encode() for name, text in written.items()}


def claim(path: Path) -> files.Lock:
    """Create and lock a folder for a new run; refuse one that is not empty or that another process has locked."""
    if path.exists() and not path.is_dir():
        raise AlgaError(f"expected a folder to write to, got the file {path}")
    path.mkdir(parents=True, exist_ok=True)
    folder = Folder(path)
    held = checksums.hold(folder)
    if set(folder.names()) - {files.LOCK}:
        held.release()
        what = "a run" if holds_run(path) else "other files"
        raise AlgaError(f"{path} already holds {what}; choose another folder, nothing was overwritten")
    return held


def holds_run(folder: Path) -> bool:
    """Return whether a folder is a run's, finished or not."""
    return (folder / "config.json").exists()


def check_no_run(folder: Path) -> None:
    """Refuse a run's folder, before something other than a run is written there."""
    if holds_run(folder):
        raise AlgaError(f"{folder} holds a run; choose another folder, nothing was written")
