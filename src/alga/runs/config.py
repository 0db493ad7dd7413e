"""A run's config.json: the task and its tokens, the network's shape, the training. It needs no torch."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from alga import tasks
from alga.base.errors import AlgaError, Blaming, Naming
from alga.base.folders import Folder
from alga.network.kinds import AnyShape, AnyTokens, shape_class, shape_of, tokens_of
from alga.network.texts import Texts
from alga.network.tokens import Tokens
from alga.runs import recipe
from alga.runs.checksums import Snapshot, steady
from alga.tasks import Task

CONFIG: Final = "config.json"
FORMAT: Final = 1
LARGEST_FILE: Final = 2**20  # bytes


@dataclass(frozen=True, kw_only=True)
class Config:
    """A task, a network's shape, and the training if it is known."""

    task: Task
    model: AnyShape
    training: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.training:
            recipe.check(self.training, self.model)

    @cached_property
    def tokens(self) -> AnyTokens:
        """The task's tokens."""
        return tokens_of(self.task)

    @property
    def step_tokens(self) -> Tokens:
        """The tokens of a network that answers prompts; what only such a network can do begins here."""
        if isinstance(self.tokens, Texts):
            raise AlgaError(f"a network for {self.task.name} reads whole texts: there are no steps to show or export")
        return self.tokens

    @property
    def identity(self) -> str:
        """What the weights are for, as text; it is stored in their file, so that the hash covers it."""
        content = {
            "task": self.task.name,
            "vocabulary": self.tokens.vocabulary,
            "model": self.model.settings(),
            **({"source": self.task.source} if self.task.source else {}),
        }
        return json.dumps(content, sort_keys=True, separators=(",", ":"))


def to_json(config: Config) -> str:
    """Return config.json; it includes vocabulary and lengths, so that a changed task is noticed."""
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
    """Read the config.json of a snapshot."""
    path = snapshot.folder.path / CONFIG
    try:
        data = snapshot.read(CONFIG, LARGEST_FILE)
    except FileNotFoundError:
        raise AlgaError(f"{snapshot.folder.path} is not a run: it has no {CONFIG}") from None
    with Naming(path), Blaming(f"{path} is not a run's configuration"):
        content = json.loads(data)
        if content["format"] != FORMAT:
            raise AlgaError(f"{path} has format {content['format']!r}, this version of alga reads {FORMAT}")
        task = tasks.known(content["task"])
        if content.get("source", "") != task.source:
            raise AlgaError(f"the task {task.name} has changed since this network was trained")
        config = Config(task=task, model=shape_of(content["model"]), training=dict(content["training"]))
        tokens, model = config.tokens, config.model
        fits = model.kind == shape_class(task).kind and all(
            getattr(model, name) == size for name, size in tokens.sizes.items()
        )
        if tuple(content["vocabulary"]) != tokens.vocabulary or not fits:
            raise AlgaError(f"{path} has other tokens or lengths than the task {task.name}")
    return config
