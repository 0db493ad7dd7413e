"""A run folder: everything that a training writes. Not trusted when read, written atomically.

config.json        task, vocabulary, model, recipe, seed, threads
model.safetensors  the weights; `sha256sum` of this file is the hash that certificates name
table.json         the network's output for every prompt
certificate.json   the record that these outputs are right
metrics.jsonl      a line per check during training
README.md          the model card
SHA256SUMS         the seal: hashes of all these, written last
checkpoint.safetensors   while training is unfinished: see training/checkpoint.py
checkpoints/       weights of earlier steps, if asked for: see intermediate.py
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
from pathlib import Path
from typing import Final

from alga.base import files
from alga.base.errors import AlgaError, Naming, one_line
from alga.base.folders import Folder
from alga.runs import checksums, intermediate, weights
from alga.runs import config as configs
from alga.runs.card import card
from alga.runs.checksums import Snapshot
from alga.runs.config import Config
from alga.runs.run import Run
from alga.runs.weights import WEIGHTS, Weights
from alga.trust.assumptions import EARLIER, TEXT_VERSION, VERSION
from alga.trust.certificate import BOUNDED, MAX_CERTIFICATE_BYTES, RUNS_IN, Certificate
from alga.trust.coq.statements import states
from alga.trust.table import UNCERTAIN, Table

SHIPPED: Final = Path(__file__).parent / "models"
JUDGEMENT: Final = ("certificate.json", "table.json")
CHECKPOINT: Final = "checkpoint.safetensors"
ARITHMETIC: Final = re.compile(r"[a-z][a-z0-9]{0,15}")
LONGEST_WORD: Final = 200  # characters of each text that describes the machine
LARGEST_MARGIN: Final = 1e9
STRENGTHS: Final = ("checked", *BOUNDED)  # of the certificates that a folder may hold


def shipped() -> tuple[str, ...]:
    """Return the names of the shipped networks."""
    if not SHIPPED.is_dir():  # the package was imported from a zip file
        raise AlgaError(f"{SHIPPED} is not a folder: ALGA reads its networks as files; install or unpack the package")
    return tuple(sorted(path.parent.name for path in SHIPPED.glob("*/config.json")))


def locate(model: str | os.PathLike[str]) -> Path:
    """Return the folder of a shipped network's name or of a path."""
    path = Path(model)
    if model in shipped():
        if (path / "config.json").exists():
            raise AlgaError(f"{model!r} is both shipped and a run folder here; for the folder write ./{model}")
        return SHIPPED / model
    if not path.exists():
        raise AlgaError(f"no model {str(model)!r}: neither a run folder nor shipped ({', '.join(shipped())})")
    if not path.is_dir():
        raise AlgaError(f"expected a run folder, got the file {path}")
    folder = Folder(path)
    if not (folder.has(configs.CONFIG) or folder.has(checksums.CHECKSUMS)):
        raise AlgaError(f"{path} is not a run: it has no config.json")
    return path


def load(model: str | os.PathLike[str], *, read_certificate: bool = True, checkpoint: int | None = None) -> Run:
    """Load a run; refuse files that are damaged or do not belong together.

    `read_certificate=False` ignores a certificate beside the weights: for certifying them again. With `checkpoint`, the
    weights are those that its training kept after so many steps; they have no certificate.
    """
    name = os.fspath(model)
    try:
        if checkpoint is not None:
            return checksums.steady(locate(model), lambda snapshot: _read_checkpoint(snapshot, name, checkpoint))
        return checksums.steady(locate(model), lambda snapshot: _read(snapshot, name, read_certificate))
    except OSError as problem:
        raise one_line(problem) from None


def _read_checkpoint(snapshot: Snapshot, name: str, step: int) -> Run:
    config, folder = configs.read(snapshot), snapshot.folder
    data = intermediate.read(folder, step, weights.most_bytes(config))
    path = folder.path / intermediate.FOLDER / intermediate.name_of(step)
    weights.check(data, config, path)
    run = Run(name=f"{name} after {step:,} steps", config=config, weights=Weights(config, data, path))
    _ = run.weights.arrays  # refuses numbers that are not finite
    return run


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
        certificate, table = _certificate_and_table(snapshot, run)
        run = dataclasses.replace(run, certificate=certificate, table=table)
    if read_certificate:
        snapshot.check()
    return run


def _certificate_and_table(snapshot: Snapshot, run: Run) -> tuple[Certificate, Table]:
    """Return the certificate and the table of a run; refuse those that claim more than they show."""
    folder, task, tokens = snapshot.folder.path, run.config.task, run.config.tokens
    entry = 6 * tokens.longest_entry + 16  # bytes, every character escaped
    most = entry * len(task.domain) + 1024
    try:
        with Naming(folder / "certificate.json"):
            text = snapshot.read("certificate.json", MAX_CERTIFICATE_BYTES).decode(errors="replace")
            certificate = Certificate.from_json(text)
        with Naming(folder / "table.json"):
            table = Table.from_json(snapshot.read("table.json", most).decode(errors="replace"))
    except FileNotFoundError:
        raise AlgaError(f"{folder} has a certificate but no table.json") from None
    if run.config.model.needs_bound and not certificate.bounded:
        raise AlgaError(f"{folder}: the certificate bounds nothing outside its prompts, and this network sees more")
    if not _ours(certificate, run.config):
        raise AlgaError(f"{folder}: the certificate has other words or numbers than this package writes")
    if certificate.sha256 != run.sha256:
        _ = run.weights.arrays  # if they are damaged, that is the better message
        stated, actual = f"{certificate.sha256[:12]}…", f"{run.sha256[:12]}…"
        raise AlgaError(f"{folder}: the certificate is for other weights ({stated}) than the folder's ({actual})")
    margin = certificate.least_margin
    if not certificate.certified or certificate.strength not in STRENGTHS:
        raise AlgaError(f"{folder}: the certificate does not say that the network was checked and found right")
    if not isinstance(margin, float) or not UNCERTAIN < margin < math.inf:
        raise AlgaError(f"{folder}: the certificate states no margin that decides, but {margin!r}")
    if certificate.task != task.name or certificate.prompts != len(task.domain):
        raise AlgaError(f"{folder}: the certificate is not for the {len(task.domain):,} prompts of {task.name}")
    if certificate.table_sha256 != table.sha256:
        raise AlgaError(f"{folder}: the certificate is for another table.json")
    if table.task != task.name or table.uncertain or table.broken or table.outputs.keys() != task.domain.keys():
        raise AlgaError(f"{folder}: table.json is not a certified network's answers to the prompts of {task.name}")
    wrong = [prompt for prompt, instance in task.domain.items() if table.outputs[prompt] != instance.output]
    if wrong:
        raise AlgaError(f"{folder}: certified, but its table is wrong on {len(wrong):,} prompts, {wrong[0]!r} first")
    return certificate, table


def _ours(certificate: Certificate, config: Config) -> bool:
    """Return whether all words and numbers are of the kind that we write: they are printed and copied into a card."""
    bounds = certificate.proof.bounds if certificate.proof is not None else ()
    proof, reads = certificate.proof, config.model.needs_bound
    outside = proof.outside if proof is not None else None
    prompts = [certificate.least_margin_prompt, *(bound.prompt for bound in bounds)]
    prompts += [outside.prompt] if outside is not None else []
    if certificate.dtype != RUNS_IN or (outside is not None) != reads:
        return False
    version = TEXT_VERSION if config.model.kind == "reader" else VERSION
    if proof is not None and EARLIER.get(proof.assumptions, proof.assumptions) != version:
        return False
    kernel = certificate.kernel
    if kernel is not None and not all(states(config.task.name, theorem) for theorem in kernel.theorems):
        return False
    names = (certificate.dtype, *(bound.arithmetic for bound in bounds))
    values = (str(value) if type(value) is int else value for value in certificate.machine.values())
    texts = [*certificate.machine, *values]
    texts += [certificate.proof.assumptions] if certificate.proof is not None else []
    texts += [kernel.coq, kernel.development] if kernel is not None else []
    return (
        all(isinstance(prompt, str) and prompt in config.task.domain for prompt in prompts)
        and all(isinstance(name, str) and ARITHMETIC.fullmatch(name) for name in names)
        and all(isinstance(text, str) and text.isprintable() and len(text) <= LONGEST_WORD for text in texts)
        and all(type(size) is int and size > 0 for size in certificate.batch_sizes)
        and all(bound.margin is None or bound.margin < LARGEST_MARGIN for bound in bounds)
        and certificate.parameters == config.model.parameters
    )


def save(place: Folder | Path, run: Run) -> None:
    """Write a run; until all of it is written, readers find the old files."""
    written = contents(run)
    if isinstance(place, Path):
        place.mkdir(parents=True, exist_ok=True)
    checksums.replace(Folder.of(place), written, gone=[name for name in JUDGEMENT if name not in written])


def contents(run: Run) -> dict[str, bytes]:
    """Return the files of a run by name; only a certified run has a certificate and a table."""
    if not run.certified:
        run = dataclasses.replace(run, certificate=None, table=None)
    written = {configs.CONFIG: configs.to_json(run.config).encode(), WEIGHTS: run.weights.data}
    return written | _judgement(run, run.config.model.parameters)


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
