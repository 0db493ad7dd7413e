"""A run: a folder with everything a training leaves behind. Read with suspicion, written atomically.

config.json        task, vocabulary, model, recipe, seed, threads
model.safetensors  the weights; `sha256sum` of this file is the hash that certificates name
table.json         what the network answers to every prompt
certificate.json   the record that these answers are right
metrics.jsonl      a line per check during training
README.md          the model card
checkpoint.safetensors   only while training is unfinished: see training.py
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import platform
from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from alga import files, tasks
from alga.card import card
from alga.certificate import Certificate, certify
from alga.decoding import CHUNK, Decoder
from alga.errors import AlgaError
from alga.model import ModelConfig, Transformer
from alga.progress import Watch, unwatched
from alga.table import Table
from alga.tasks import Task
from alga.tokens import Tokens

SHIPPED: Final = Path(__file__).parent / "models"
CHECKPOINT: Final = "checkpoint.safetensors"
FORMAT: Final = 1
IDENTITY: Final = "alga"  # under this key the weight file says what it is for


@dataclass(frozen=True, kw_only=True)
class Config:
    """What config.json says: which task in which tokens, which network, and how it is trained where that is known."""

    task: Task
    model: ModelConfig
    training: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def tokens(self) -> Tokens:
        """The task's tokens."""
        return Tokens.of(self.task)

    @property
    def identity(self) -> str:
        """What weights need to mean something; it is written into their file, so that the hash covers it."""
        content = {
            "task": self.task.name,
            "vocabulary": self.tokens.vocabulary,
            "model": dataclasses.asdict(self.model),
        }
        return json.dumps(content, sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True, kw_only=True)
class Run:
    """A network with its configuration, and its certificate where it has one."""

    name: str
    config: Config
    model: Transformer
    certificate: Certificate | None = None
    table: Table | None = None

    @property
    def data(self) -> bytes:
        """The weights as they are now, as the bytes of a safetensors file that also says what they are for."""
        tensors = {name: tensor.cpu().contiguous() for name, tensor in self.model.state_dict().items()}
        return safetensors.torch.save(tensors, {IDENTITY: self.config.identity})

    @property
    def sha256(self) -> str:
        """The hash of the weights as they are now."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def certified(self) -> bool:
        """Whether there is a certificate, and for the weights as they are now."""
        return self.certificate is not None and self.certificate.certified and self.certificate.sha256 == self.sha256

    def judged(self, watch: Watch = unwatched) -> Run:
        """Return the run with a new certificate and table: every prompt checked now, whatever it came with."""
        certificate, table = certify(
            self.config.task,
            Decoder(self.model, self.config.tokens),
            sha256=self.sha256,
            parameters=self.model.parameter_count,
            dtype=str(self.model.head.weight.dtype).removeprefix("torch."),
            batch_sizes=(1, min(CHUNK, len(self.config.task.domain))),
            machine={
                "platform": f"{platform.system()} {platform.machine()}",
                "device": self.model.head.weight.device.type,
                "threads": torch.get_num_threads(),
                "python": platform.python_version(),
                **{package: metadata.version(package) for package in ("alga", "torch")},
            },
            watch=watch,
        )
        return dataclasses.replace(self, certificate=certificate, table=table)


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
    config = load_config(folder)
    path = folder / "model.safetensors"
    if not path.is_file():
        unfinished = f"; its training goes on with: alga train --resume {folder}"
        raise AlgaError(f"{folder} has no model.safetensors{unfinished if (folder / CHECKPOINT).is_file() else ''}")
    data = path.read_bytes()
    try:
        weights = safetensors.torch.load(data)
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    except (SafetensorError, ValueError, KeyError) as problem:
        raise AlgaError(f"{path} is damaged: {problem}") from None
    if header.get("__metadata__", {}).get(IDENTITY) != config.identity:
        raise AlgaError(f"{path} was written for another task or model than config.json says")
    run = Run(name=os.fspath(model), config=config, model=_network(weights, config.model, path))
    if not read_certificate or not (folder / "certificate.json").exists():
        return run
    certificate, table = _certificate_and_table(folder, config, hashlib.sha256(data).hexdigest())
    return dataclasses.replace(run, certificate=certificate, table=table)


def save(folder: Path, run: Run) -> None:
    """Write a run so that at every moment the folder holds a certificate only for the weights that are there."""
    if not run.certified:
        run = dataclasses.replace(run, certificate=None, table=None)
    text = card(run.config.task, run.model.parameter_count, run.config.training, run.certificate)
    folder.mkdir(parents=True, exist_ok=True)
    for stale in ("certificate.json", "table.json"):
        (folder / stale).unlink(missing_ok=True)
    save_config(folder, run.config)
    files.write(folder / "model.safetensors", run.data)
    files.write(folder / "README.md", text.encode())
    if run.table is not None:
        files.write(folder / "table.json", run.table.to_json().encode())
    if run.certificate is not None:
        files.write(folder / "certificate.json", run.certificate.to_json().encode())


def claim(folder: Path) -> None:
    """Make a folder for a new run; refuse one that holds anything."""
    if folder.exists() and not folder.is_dir():
        raise AlgaError(f"expected a folder to write to, got the file {folder}")
    if folder.is_dir() and any(path.suffix != files.UNFINISHED for path in folder.iterdir()):
        what = "a run" if (folder / "config.json").exists() else "other files"
        raise AlgaError(f"{folder} already holds {what}; choose another folder, nothing was overwritten")
    folder.mkdir(parents=True, exist_ok=True)
    files.sweep(folder)


def save_config(folder: Path, config: Config) -> None:
    """Write config.json; the vocabulary and lengths are stored so that a changed task cannot go unnoticed."""
    content = {
        "format": FORMAT,
        "task": config.task.name,
        "vocabulary": config.tokens.vocabulary,
        "model": dataclasses.asdict(config.model),
        "training": config.training,
    }
    files.write(folder / "config.json", (json.dumps(content, indent=2) + "\n").encode())


def load_config(folder: Path) -> Config:
    """Read config.json; refuse one that does not describe a network for its task."""
    path = folder / "config.json"
    try:
        content = json.loads(path.read_bytes())
        if content["format"] != FORMAT:
            raise AlgaError(f"{path} has format {content['format']!r}, this version of alga reads {FORMAT}")
        task = tasks.find(content["task"])
        config = Config(task=task, model=ModelConfig(**content["model"]), training=dict(content["training"]))
        stated = (tuple(content["vocabulary"]), config.model.input_length, config.model.output_length)
    except AlgaError:
        raise
    except (ValueError, TypeError, KeyError, RecursionError) as problem:
        raise AlgaError(f"{path} is no configuration of a run ({type(problem).__name__}: {problem})") from None
    tokens = config.tokens
    if stated != (tokens.vocabulary, tokens.input_length, tokens.output_length) or config.model.vocabulary != len(
        tokens.vocabulary
    ):
        raise AlgaError(f"{path} has other tokens or lengths than the task {task.name}")
    return config


def adopt(task: Task, weights: dict[str, Tensor], source: Path) -> Run:
    """Return a run of the paper's architecture with weights that were trained elsewhere."""
    tokens = Tokens.of(task)
    shape = ModelConfig(
        vocabulary=len(tokens.vocabulary), input_length=tokens.input_length, output_length=tokens.output_length
    )
    return Run(name=source.name, config=Config(task=task, model=shape), model=_network(weights, shape, source))


def _network(weights: dict[str, Tensor], config: ModelConfig, path: Path) -> Transformer:
    """Build the network of a configuration around weights that fit it; refuse others."""
    layers = len({name.split(".")[1] for name in weights if name.startswith("layers.")})
    if layers != config.layers:
        raise AlgaError(f"{path} does not match its configuration: it has {layers} layers, expected {config.layers}")
    with torch.device("meta"):  # shapes without memory, whatever the configuration claims
        expected = {name: tensor.shape for name, tensor in Transformer(config).state_dict().items()}
    if weights.keys() != expected.keys():
        name = min(weights.keys() ^ expected.keys())
        raise AlgaError(
            f"{path} does not match its configuration: {name} is {'missing' if name in expected else 'extra'}"
        )
    for name, tensor in weights.items():
        if tensor.shape != expected[name]:
            shapes = f"{list(tensor.shape)}, expected {list(expected[name])}"
            raise AlgaError(f"{path} does not match its configuration: {name} has the shape {shapes}")
        if tensor.dtype != torch.float32:
            raise AlgaError(f"{path}: {name} holds {tensor.dtype}, expected torch.float32")
        if not bool(tensor.isfinite().all()):
            raise AlgaError(f"{path}: {name} holds a number that is not finite")
    network = Transformer(config)
    network.load_state_dict(weights)
    return network.eval()


def _certificate_and_table(folder: Path, config: Config, sha256: str) -> tuple[Certificate, Table]:
    path = folder / "certificate.json"
    try:
        certificate = Certificate.from_json(path.read_text(errors="replace"))
        path = folder / "table.json"
        table = Table.from_json(path.read_text(errors="replace"))
    except FileNotFoundError:
        raise AlgaError(f"{folder} has a certificate but no table.json") from None
    except AlgaError as problem:
        raise AlgaError(f"{path}: {problem}") from None
    task = config.task
    if certificate.sha256 != sha256:
        stated = f"{str(certificate.sha256)[:12]}…"
        raise AlgaError(f"{folder}: the certificate is for other weights ({stated}) than the folder's ({sha256[:12]}…)")
    if certificate.task != task.name or certificate.prompts != len(task.domain):
        raise AlgaError(f"{folder}: the certificate is not for the {len(task.domain):,} prompts of {task.name}")
    if certificate.table_sha256 != table.sha256:
        raise AlgaError(f"{folder}: the certificate is for another table.json")
    wrong = [prompt for prompt, instance in task.domain.items() if table.outputs.get(prompt) != instance.output]
    if certificate.certified and wrong:
        raise AlgaError(f"{folder}: certified, but its table is wrong on {len(wrong):,} prompts, {wrong[0]!r} first")
    return certificate, table
