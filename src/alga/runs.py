"""A run: a folder with everything a training leaves behind. Read with suspicion, written atomically.

config.json        task, vocabulary, model, recipe, seed, threads
model.safetensors  the weights; `sha256sum` of this file is the hash that certificates name
table.json         what the network answers to every prompt
certificate.json   the record that these answers are right
metrics.jsonl      a line per check during training
README.md          the model card
SHA256SUMS         the seal: hashes of all these, written last
checkpoint.safetensors   only while training is unfinished: see training.py
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from alga import config as configs
from alga import files, seal
from alga.card import card
from alga.certificate import LARGEST, Certificate, certify
from alga.config import Config, ModelConfig
from alga.errors import AlgaError
from alga.progress import Watch, unwatched
from alga.table import UNCERTAIN, Table
from alga.tasks import Task
from alga.tokens import Tokens

if TYPE_CHECKING:
    from torch import Tensor

    from alga.model import Transformer

SHIPPED: Final = Path(__file__).parent / "models"
CHECKPOINT: Final = "checkpoint.safetensors"
STRENGTHS: Final = ("checked", "proven")  # of the certificates that a folder may hold


class Weights:
    """A weight file that is not opened before its network is needed: that takes torch, and torch takes a second."""

    def __init__(self, config: Config, data: bytes, path: Path) -> None:
        self._config, self._data, self._path = config, data, path
        self._seen: tuple[dict[str, Tensor], str] | None = None  # weights, and their hash

    @classmethod
    def of(cls, config: Config, model: Transformer) -> Weights:
        """Hold a network that is in memory already."""
        held = cls(config, b"", Path())
        held.model = model
        return held

    @cached_property
    def model(self) -> Transformer:
        """The network, opened on first use; what is damaged or does not fit is refused."""
        from alga import weights

        return weights.unpack(self._data, self._config, self._path)

    @property
    def sha256(self) -> str:
        """The hash of the weights as they are now."""
        if "model" not in vars(self):
            return self._stored_sha256
        from alga import weights

        # Comparing is ten times as fast as packing and hashing, and sees every change, however it was made.
        if self._seen is None or not weights.same(self.model, self._seen[0]):
            self._seen = weights.copy(self.model), hashlib.sha256(self.data).hexdigest()
        return self._seen[1]

    @cached_property
    def _stored_sha256(self) -> str:
        return hashlib.sha256(self._data).hexdigest()

    @property
    def data(self) -> bytes:
        """The weights as they are now, as the bytes of a safetensors file that also says what they are for."""
        if "model" not in vars(self):
            return self._data
        from alga import weights

        return weights.pack(self.model, self._config)


@dataclass(frozen=True, kw_only=True)
class Run:
    """A network with its configuration, and its certificate where it has one."""

    name: str
    config: Config
    weights: Weights
    certificate: Certificate | None = None
    table: Table | None = None

    @property
    def model(self) -> Transformer:
        """The network."""
        return self.weights.model

    @property
    def sha256(self) -> str:
        """The hash of the weights as they are now."""
        return self.weights.sha256

    @property
    def certified(self) -> bool:
        """Whether there is a certificate, and for the weights as they are now."""
        return self.certificate is not None and self.certificate.certified and self.certificate.sha256 == self.sha256

    def judged(self, watch: Watch = unwatched) -> Run:
        """Return the run with a new certificate and table: every prompt checked now, whatever it came with."""
        from alga.decoding import CHUNK, Decoder

        decoder = Decoder(self.model, self.config.tokens)
        certificate, table = certify(
            self.config.task,
            decoder,
            sha256=self.sha256,
            parameters=self.model.parameter_count,
            dtype=str(self.model.vocabulary_weight.dtype).removeprefix("torch."),
            batch_sizes=(1, min(CHUNK, len(self.config.task.domain))),
            machine=decoder.machine,
            watch=watch,
        )
        return dataclasses.replace(self, certificate=certificate, table=table)

    def proven(self, watch: Watch = unwatched) -> Run:
        """Return the run with its certificate and a proof of it, as far as rigorous bounds of its weights reach."""
        assert self.certificate is not None
        from alga.proof import prove

        weights = {name: tensor.double().cpu().numpy() for name, tensor in self.model.state_dict().items()}
        proof = prove(self.config, weights, watch)
        return dataclasses.replace(self, certificate=self.certificate.with_proof(proof))


def shipped() -> tuple[str, ...]:
    """Return the names of the networks that come with the package."""
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
    if not (path / "config.json").is_file():
        raise AlgaError(f"{path} is not a run: it has no config.json")
    return path


def load(model: str | os.PathLike[str], *, read_certificate: bool = True) -> Run:
    """Load a run; refuse what is damaged or does not fit together.

    With `read_certificate=False` a certificate beside the weights is left unread: for judging the weights anew.
    """
    try:
        return _load(model, read_certificate)
    except OSError as problem:
        raise AlgaError(f"{problem.filename}: {(problem.strerror or str(problem)).lower()}") from None


def _load(model: str | os.PathLike[str], read_certificate: bool) -> Run:
    folder = locate(model)
    config = configs.load(folder)
    path = folder / "model.safetensors"
    if not path.is_file():
        unfinished = f"; its training goes on with: alga train --resume {folder}"
        raise AlgaError(f"{folder} has no model.safetensors{unfinished if (folder / CHECKPOINT).is_file() else ''}")
    data = files.read(path, seal.LARGEST)
    config.check_identity(data, path)
    run = Run(name=os.fspath(model), config=config, weights=Weights(config, data, path))
    if not read_certificate or not (folder / "certificate.json").exists():
        _ = run.model  # no certificate vouches for these weights: open them at once
    else:
        certificate, table = _certificate_and_table(folder, run)
        run = dataclasses.replace(run, certificate=certificate, table=table)
    if read_certificate and seal.sealed(folder):
        seal.check(folder)
    return run


def save(folder: Path, run: Run) -> None:
    """Write a run so that at every moment the folder holds a certificate only for the weights that are there."""
    if not run.certified:
        run = dataclasses.replace(run, certificate=None, table=None)
    text = card(run.config.task, run.model.parameter_count, run.config.training, run.certificate)
    folder.mkdir(parents=True, exist_ok=True)
    seal.unseal(folder)
    for stale in ("certificate.json", "table.json"):
        (folder / stale).unlink(missing_ok=True)
    configs.save(folder, run.config)
    files.write(folder / "model.safetensors", run.weights.data)
    files.write(folder / "README.md", text.encode())
    if run.table is not None:
        files.write(folder / "table.json", run.table.to_json().encode())
    if run.certificate is not None:
        files.write(folder / "certificate.json", run.certificate.to_json().encode())
    seal.seal(folder)


def keep(folder: Path, run: Run) -> None:
    """Write the certificate and table of a run whose weights are in a folder already, and its card."""
    with files.Hold(folder):
        stored = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
        if not run.certified or run.certificate is None or run.table is None or run.certificate.sha256 != stored:
            raise AlgaError(f"{folder}: a certificate is kept only for the very weights that it certifies")
        seal.unseal(folder)
        (folder / "certificate.json").unlink(missing_ok=True)
        files.write(folder / "table.json", run.table.to_json().encode())
        text = card(run.config.task, run.certificate.parameters, run.config.training, run.certificate)
        files.write(folder / "README.md", text.encode())
        files.write(folder / "certificate.json", run.certificate.to_json().encode())
        seal.seal(folder)


def claim(folder: Path) -> files.Hold:
    """Make a folder for a new run and hold it; refuse one that holds anything, or that another process holds."""
    if folder.exists() and not folder.is_dir():
        raise AlgaError(f"expected a folder to write to, got the file {folder}")
    folder.mkdir(parents=True, exist_ok=True)
    held = files.Hold(folder)
    if any(path.suffix != files.UNFINISHED and path.name != files.LOCK for path in folder.iterdir()):
        held.release()
        what = "a run" if (folder / "config.json").exists() else "other files"
        raise AlgaError(f"{folder} already holds {what}; choose another folder, nothing was overwritten")
    files.sweep(folder)
    return held


def adopt(task: Task, weights: dict[str, Tensor], source: Path) -> Run:
    """Return a run of the paper's architecture with weights that were trained elsewhere."""
    tokens = Tokens.of(task)
    shape = ModelConfig(
        vocabulary=len(tokens.vocabulary), input_length=tokens.input_length, output_length=tokens.output_length
    )
    from alga import weights as opened

    config = Config(task=task, model=shape)
    return Run(name=source.name, config=config, weights=Weights.of(config, opened.network(weights, shape, source)))


def _certificate_and_table(folder: Path, run: Run) -> tuple[Certificate, Table]:
    path = folder / "certificate.json"
    try:
        certificate = Certificate.from_json(files.read(path, LARGEST).decode(errors="replace"))
        path = folder / "table.json"
        tokens = run.config.tokens
        entry = 6 * (tokens.input_length + tokens.output_length) + 16  # bytes, every character escaped
        most = entry * len(run.config.task.domain) + 1024
        table = Table.from_json(files.read(path, most).decode(errors="replace"))
    except FileNotFoundError:
        raise AlgaError(f"{folder} has a certificate but no table.json") from None
    except AlgaError as problem:
        named = str(problem) if str(path) in str(problem) else f"{path}: {problem}"
        raise AlgaError(named) from None
    task = run.config.task
    if certificate.sha256 != run.sha256:
        _ = run.model  # says so if they are damaged
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
