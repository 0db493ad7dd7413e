"""What config.json says: which task in which tokens, a network of which shape, trained how. It needs no torch."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from alga import tasks
from alga.base.errors import AlgaError
from alga.base.folders import Folder
from alga.network import weight_header
from alga.network.config import ModelConfig
from alga.network.tokens import Tokens
from alga.runs import recipe
from alga.runs.checksums import Snapshot, steady
from alga.tasks import Task

NAME: Final = "config.json"
FORMAT: Final = 1
IDENTITY: Final = "alga"  # under this key a weight file says what it is for
LARGEST_FILE: Final = 2**20  # bytes
ALWAYS_READ: Final = 2**24  # bytes of a weight file that cost nothing, whatever the configuration says


@dataclass(frozen=True, kw_only=True)
class Config:
    """What config.json says: which task in which tokens, which network, and how it is trained where that is known."""

    task: Task
    model: ModelConfig
    training: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.training:
            recipe.check(self.training, self.model)

    @cached_property
    def tokens(self) -> Tokens:
        """The task's tokens."""
        return Tokens.of(self.task.domain)

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

    @property
    def largest_weights(self) -> int:
        """The bytes that a weight file of this network may have."""
        return max(ALWAYS_READ, 4 * self.model.parameters + 2 * weight_header.LARGEST)

    def check_weights(self, data: bytes, path: Path) -> None:
        """Refuse the bytes of a weight file that was written for something else, or holds other tensors."""
        header = weight_header.read(data, path)
        if header.metadata.get(IDENTITY) != self.identity:
            raise AlgaError(f"{path} was written for another task or model than config.json says")
        self.model.check(header.shapes, path)


def to_json(config: Config) -> str:
    """Return config.json; the vocabulary and lengths are stored so that a changed task cannot go unnoticed."""
    content = {
        "format": FORMAT,
        "task": config.task.name,
        **({"source": config.task.source} if config.task.source else {}),
        "vocabulary": config.tokens.vocabulary,
        "model": config.model.settings(),
        "training": config.training,
    }
    return json.dumps(content, indent=2) + "\n"


def load(place: Folder | Path) -> Config:
    """Read config.json; refuse one that does not describe a network for its task."""
    return steady(place, read)


def read(snapshot: Snapshot) -> Config:
    """Read the config.json of one moment."""
    path = snapshot.folder.path / NAME
    try:
        content = json.loads(snapshot.read(NAME, LARGEST_FILE))
        if content["format"] != FORMAT:
            raise AlgaError(f"{path} has format {content['format']!r}, this version of alga reads {FORMAT}")
        task = tasks.known(content["task"])
        if content.get("source", "") != task.source:
            raise AlgaError(f"the task {task.name} has changed since this network was trained")
        config = Config(task=task, model=ModelConfig(**content["model"]), training=dict(content["training"]))
        stated = (tuple(content["vocabulary"]), config.model.input_length, config.model.output_length)
    except FileNotFoundError:
        raise AlgaError(f"{snapshot.folder.path} is not a run: it has no {NAME}") from None
    except AlgaError as problem:
        named = str(problem) if str(path) in str(problem) else f"{path}: {problem}"
        raise AlgaError(named) from None
    except (ValueError, TypeError, KeyError, RecursionError) as problem:
        raise AlgaError(f"{path} is no configuration of a run ({type(problem).__name__}: {problem})") from None
    tokens = config.tokens
    if stated != (tokens.vocabulary, tokens.input_length, tokens.output_length) or config.model.vocabulary != len(
        tokens.vocabulary
    ):
        raise AlgaError(f"{path} has other tokens or lengths than the task {task.name}")
    return config
