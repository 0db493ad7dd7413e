"""What is fuzzed: a name, seeds, and a function of bytes that raises nothing but AlgaError.

If a checksum protects the bytes (SHA256SUMS, the hash in a certificate or a checkpoint, an archive's CRC), the target
makes it match, as an attacker would; otherwise nearly every input would be refused there.

Targets must be fast: the folder is made once, in RAM if the system has a RAM folder; only the replaced file is
restored; and no network is built, since its weights are arrays.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import gzip
import hashlib
import io
import json
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import safetensors.torch
import torch

from alga import runs, tasks
from alga.base.errors import AlgaError
from alga.base.folders import Folder
from alga.network.config import ModelConfig
from alga.network.model import Transformer
from alga.runs import SHIPPED, adoption, checksums, config, folder, r_files, weights
from alga.runs.card import card
from alga.tasks import Task
from alga.training import checkpoint, metrics, recipes
from alga.training.trainer import Training
from alga.trust.certificate import Certificate
from alga.trust.table import Table
from tests.runs.foreign_files import as_r, as_torch

PARITY = SHIPPED / "parity"
TINY = dataclasses.replace(
    recipes.small(), task="parity", width=2, heads=1, hidden=2, batch_size=4, check_every=1, margin=1000.0
)  # the smallest network of the usual shape: its file has few bytes to mutate in vain
STORAGES = {"0": 24, "1": 16, "2": 4}  # bytes of each in the archive for `pickle`; its seed has the first two
BODY_AFTER = b"\n"  # in an input for `checkpoint`: counters before it, names and shapes of tensors after it


@dataclass(frozen=True)
class Target:
    """A reader of bytes, and valid inputs for it."""

    read: Callable[[bytes], object]
    seeds: list[bytes]

    def __call__(self, data: bytes) -> None:
        """Read the input; any exception but AlgaError is a finding."""
        with contextlib.suppress(AlgaError):
            self.read(data)


def _shipped(name: str) -> bytes:
    return (PARITY / name).read_bytes()


def _certificate(data: bytes) -> None:
    Certificate.from_json(data.decode(errors="replace")).to_json()


def _table(data: bytes) -> None:
    """Read a table after making its hash match."""
    Table.from_json(_with_its_hash(data)).to_json()


def _with_its_hash(data: bytes) -> str:
    text = data.decode(errors="replace")
    with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
        content = json.loads(text)
        table = Table(content["task"], dict(content["outputs"]), tuple(content["uncertain"]), dict(content["broken"]))
        text = json.dumps({**content, "sha256": table.sha256})
    return text


def _safetensors(data: bytes) -> None:
    settings = _parity()
    with contextlib.suppress(AlgaError):
        weights.check(data, settings, Path("model.safetensors"))
    with _listed_once():
        weights.unpack(data, settings, Path("model.safetensors"))


@functools.cache
def _parity() -> config.Config:
    return config.load(PARITY)


# --- speed of the targets ---------------------------------------------------------------------------------------------


@functools.cache
def _place() -> Path:
    """Return a private folder; the campaign puts it in RAM with TMPDIR, and removes it."""
    held = tempfile.TemporaryDirectory()
    _HELD.append(held)
    return Path(held.name)


_HELD: list[tempfile.TemporaryDirectory[str]] = []


@contextlib.contextmanager
def _listed_once() -> Iterator[None]:
    """List the shipped networks once; no input changes them."""
    with mock.patch.object(folder, "shipped", _names):
        yield


@functools.cache
def _names() -> tuple[str, ...]:
    return tuple(sorted(path.parent.name for path in SHIPPED.glob("*/config.json")))


# --- weights to import ------------------------------------------------------------------------------------------------


def _import(data: bytes) -> None:
    path = _place() / "weights"
    path.write_bytes(data)
    with _listed_once():
        adoption.adopt(path, *_tiny_shape())


@functools.cache
def _tiny_shape() -> tuple[Task, ModelConfig]:
    return tasks.find(TINY.task), TINY.network()


def _import_pickle(data: bytes) -> None:
    """Import an archive with these bytes as its pickle."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("archive/data.pkl", data)
        for key, size in STORAGES.items():
            archive.writestr(f"archive/data/{key}", bytes(size))
    _import(packed.getvalue())


def _import_rds(data: bytes) -> None:
    """Import an R file that unpacks to these bytes."""
    r_files.parse(data)
    _import(gzip.compress(data, 0))


# --- the files of a run folder ----------------------------------------------------------------------------------------


class _RunFolder:
    """A run with one file replaced by the input; checksums and other hashes are made to match."""

    def __init__(self, source: Path, name: str) -> None:
        self.name = name
        self.folder = _place() / f"{source.name} {name}"
        shutil.copytree(source, self.folder)
        self.files = {path.name: path.read_bytes() for path in source.iterdir()}
        self.hashes = {
            name: hashlib.sha256(self.files[name]).hexdigest() for name in checksums.SEALED if name in self.files
        }

    def __call__(self, data: bytes) -> None:
        new = {self.name: data}
        if self.name != checksums.CHECKSUMS:
            new |= self._matching(data)
            hashes = self.hashes | {name: hashlib.sha256(content).hexdigest() for name, content in new.items()}
            new[checksums.CHECKSUMS] = "".join(
                f"{hashes[name]}  {name}\n" for name in checksums.SEALED if name in hashes
            ).encode()
        try:
            for name, content in new.items():
                (self.folder / name).write_bytes(content)
            with _listed_once():
                self._use()
        finally:
            for name in new:
                (self.folder / name).write_bytes(self.files[name])

    def _matching(self, data: bytes) -> dict[str, bytes]:
        """Return the certificate with the replaced file's hash, if it has one."""
        stated = self.files.get("certificate.json")
        if stated is None or self.name not in {"model.safetensors", "table.json"}:
            return {}
        content = json.loads(stated)
        if self.name == "model.safetensors":
            content["sha256"] = hashlib.sha256(data).hexdigest()
            return {"certificate.json": json.dumps(content).encode()}
        text = _with_its_hash(data)
        with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
            content["table_sha256"] = str(json.loads(text)["sha256"])
        return {self.name: text.encode(errors="replace"), "certificate.json": json.dumps(content).encode()}

    def _use(self) -> None:
        """Use the run: load it, open its network, read its metrics, write its card."""
        if self.name == metrics.METRICS:
            metrics.rows(Folder(self.folder))
        run = runs.load(self.folder)
        assert run.certified is (run.certificate is not None), "a certificate is for these weights, or is refused"
        if self.name in {"model.safetensors", "config.json"}:
            _ = run.weights.arrays
        card(run.config.task, run.config.model.parameters, run.config.training, run.certificate)


def _of_run(name: str) -> Target:
    made: list[_RunFolder] = []

    def read(data: bytes) -> None:
        if not made:
            made.append(_RunFolder(PARITY, name))
        made[0](data)

    return Target(read, [_shipped(name)])


# --- the checkpoint of a training -------------------------------------------------------------------------------------


@functools.cache
def _training() -> tuple[Training, bytes, bytes]:
    """Return a training and the parts of its checkpoint: an input, and the bytes after the header."""
    training = Training.start(_place() / "training", TINY, seed=1, threads=1, device="cpu")
    list(training.run(should_stop=lambda: training.step >= 2))
    path = _place() / "training" / runs.CHECKPOINT
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    counters = json.loads(header.pop("__metadata__")["state"])[0]
    return training, json.dumps(counters).encode() + BODY_AFTER + json.dumps(header).encode(), data[end:]


def _checkpoint(data: bytes) -> None:
    """Resume from a checkpoint with these counters and tensors and a matching hash; train one step."""
    training, _, body = _training()
    counters, _, tensors = data.decode(errors="replace").partition(BODY_AFTER.decode())
    state = f"[{counters},{json.dumps(checkpoint.settings_of(training.config, training.recipe))}]"

    def packed(sha256: str) -> bytes:
        start = json.dumps({"state": state, "sha256": sha256})
        header = f'{{"__metadata__":{start},{tensors.lstrip("{ ")}'.encode()
        return len(header).to_bytes(8, "little") + header + body

    whole = packed("0" * 64)
    with contextlib.suppress(Exception):  # so it is not refused for its hash alone
        whole = packed(checkpoint._hash(state, safetensors.torch.load(whole)))
    folder = training._writer.folder
    assert folder is not None
    (folder.path / runs.CHECKPOINT).write_bytes(whole)
    checks = training._load_checkpoint(folder)
    metrics.first_lines(folder, checks)
    if training.step < TINY.steps:
        training._until_next_check(lambda: False)


def targets() -> dict[str, Target]:
    """Return all targets by name."""
    few = {"wte_out.weight": torch.zeros(2, 3), "scale3.bias": torch.ones(4)}
    packed = safetensors.torch.save(few)
    network = Transformer(TINY.network()).state_dict()
    old = {"_use_new_zipfile_serialization": False}
    with zipfile.ZipFile(io.BytesIO(as_torch(few))) as archive:
        (pickled,) = (archive.read(name) for name in archive.namelist() if name.endswith("/data.pkl"))
    return {
        "certificate": Target(_certificate, [_shipped("certificate.json")]),
        "table": Target(_table, [_shipped("table.json")]),
        "safetensors": Target(_safetensors, [_shipped("model.safetensors"), packed]),
        "torch": Target(_import, [as_torch(few), as_torch(few, **old), as_torch(network, **old), packed]),
        "pickle": Target(_import_pickle, [pickled]),
        "r": Target(_import, [as_r(few)]),
        "rds": Target(_import_rds, [gzip.decompress(as_r(few))]),
        "checkpoint": Target(_checkpoint, [_training()[1]]),
        **{f"run {name}": _of_run(name) for name in (*checksums.LOADED, metrics.METRICS, checksums.CHECKSUMS)},
    }
