"""What config.json says: which task in which tokens, a network of which shape, trained how. It needs no torch."""

from __future__ import annotations

import dataclasses
import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from alga import files, tasks
from alga.errors import AlgaError
from alga.tasks import Task
from alga.tokens import Tokens

FORMAT: Final = 1
IDENTITY: Final = "alga"  # under this key a weight file says what it is for
LARGEST_FILE: Final = 2**20  # bytes
LARGEST: Final = 65_536  # of any setting: a configuration that asks for more is damaged or hostile


NORMS: Final = ("all", "feed-forward", "none")
BIASES: Final = ("all", "hidden")


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The shape of a network. The defaults are the paper's, which has 102,464 parameters for addition.

    What follows `dropout` makes a network smaller by tying parts of the paper's to each other, or leaving them out.
    """

    vocabulary: int
    input_length: int
    output_length: int
    width: int = 64
    heads: int = 2
    layers: int = 2
    hidden: int = 256
    dropout: float = 0.2
    tied: bool = False  # the map to the vocabulary is the token embedding
    norms: str = "all"  # which LayerNorms there are; the feed-forward one alone has no scale and shift
    biases: str = "all"  # of linear maps; or that of the feed-forward network's hidden units alone
    query_width: int = 0  # of each head's queries and keys; 0: as wide as its values
    shared_keys: bool = False  # keys are queries
    out: bool = True  # whether attention maps its heads' values to the width again, or just adds them
    positions: str = ""  # for each position that is read the row of its embedding, `.` for none; empty: a row each

    def __post_init__(self) -> None:
        for name in ("vocabulary", "input_length", "output_length", "width", "heads", "layers", "hidden"):
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value <= LARGEST:
                raise AlgaError(f"model setting {name} must be a whole number from 1 to {LARGEST:,}, got {value!r}")
        if not isinstance(self.dropout, int | float) or not 0 <= self.dropout < 1:
            raise AlgaError(f"model setting dropout must be at least 0 and below 1, got {self.dropout!r}")
        if self.width % self.heads:
            raise AlgaError(f"model width {self.width} cannot be shared among {self.heads} heads")
        for name, choices in {"norms": NORMS, "biases": BIASES}.items():
            if getattr(self, name) not in choices:
                raise AlgaError(f"model setting {name} must be one of {choices}, got {getattr(self, name)!r}")
        for name in ("tied", "shared_keys", "out"):
            if type(getattr(self, name)) is not bool:
                raise AlgaError(f"model setting {name} must be true or false, got {getattr(self, name)!r}")
        if type(self.query_width) is not int or not 0 <= self.query_width <= self.width // self.heads:
            most = self.width // self.heads
            raise AlgaError(f"model setting query_width must lie in 0 to {most}, got {self.query_width!r}")
        read = self.input_length + self.output_length  # the last output token is written and not read
        if self.positions != "" and not (
            isinstance(self.positions, str)
            and re.fullmatch(f"[.0-9]{{{read}}}", self.positions)
            and self.positions.strip(".")
        ):
            raise AlgaError(f"model setting positions must be {read} digits or points, got {self.positions!r}")

    def settings(self) -> dict[str, Any]:
        """Return what tells it from others: what every network has, and the options that it uses."""
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        names = list(defaults)
        options = names[names.index("dropout") + 1 :]
        return {name: value for name, value in vars(self).items() if name not in options or value != defaults[name]}


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
            "model": self.model.settings(),
            **({"source": self.task.source} if self.task.source else {}),
        }
        return json.dumps(content, sort_keys=True, separators=(",", ":"))

    def check_identity(self, data: bytes, path: Path) -> None:
        """Refuse the bytes of a weight file that was written for something else."""
        size = int.from_bytes(data[:8], "little")
        try:
            header = json.loads(data[8 : 8 + size] if size <= len(data) - 8 else b"")
            identity = header.pop("__metadata__", {}).get(IDENTITY)
            ends = max(entry["data_offsets"][1] for entry in header.values())
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as problem:
            raise AlgaError(f"{path} is damaged: {problem}") from None
        if ends != len(data) - 8 - size:
            raise AlgaError(
                f"{path} is damaged: its header speaks of {ends} bytes of weights, not {len(data) - 8 - size}"
            )
        if identity != self.identity:
            raise AlgaError(f"{path} was written for another task or model than config.json says")


def save(folder: Path, config: Config) -> None:
    """Write config.json; the vocabulary and lengths are stored so that a changed task cannot go unnoticed."""
    content = {
        "format": FORMAT,
        "task": config.task.name,
        **({"source": config.task.source} if config.task.source else {}),
        "vocabulary": config.tokens.vocabulary,
        "model": config.model.settings(),
        "training": config.training,
    }
    files.write(folder / "config.json", (json.dumps(content, indent=2) + "\n").encode())


def load(folder: Path) -> Config:
    """Read config.json; refuse one that does not describe a network for its task."""
    path = folder / "config.json"
    try:
        content = json.loads(files.read(path, LARGEST_FILE))
        if content["format"] != FORMAT:
            raise AlgaError(f"{path} has format {content['format']!r}, this version of alga reads {FORMAT}")
        task = tasks.known(content["task"])
        if content.get("source", "") != task.source:
            raise AlgaError(f"{path}: the task {task.name} has changed since this network was trained")
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
