"""A run's config.json: the task and its tokens, the shape of the network, and its recipe. It needs no torch.

A Recipe is every setting of a training but the seed and the machine.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from alga import tasks
from alga.base.errors import AlgaError, Blaming, Naming
from alga.base.folders import Folder
from alga.network.config import ModelConfig
from alga.network.kinds import AnyShape, AnyTokens, shape_class, shape_of, tokens_of
from alga.network.reader_config import ReaderConfig
from alga.network.texts import Texts
from alga.network.tokens import Tokens
from alga.runs.checksums import Snapshot, steady
from alga.tasks import Task, own

CONFIG: Final = "config.json"
FORMAT: Final = 1
LARGEST_FILE: Final = 2**20  # bytes
MOST_STEPS: Final = 1_000_000_000
CHOICES: Final = {
    "contexts": ("paper", "domain"),
    "start": ("torch", "normal", "two-columns"),
    "strength": ("checked", "proven"),
}
DEVICES: Final = ("cpu", "cuda", "mps")
FROM_TASK: Final = ("vocabulary", "input_length", "output_length")  # settings of a network that the task determines
FOR_TEXTS: Final = ("digits", "price", "distance_rate")  # settings that only networks that read texts have
CROWD: Final = ("crowd", "start_steps", "evolved", "turn", "first_spread")  # settings of many networks at once
LATER: Final = ("matrix_rate", "averaging", "check_below", "value_rate", "strength", *CROWD)  # not in early recipes

# Ranges of settings, whole numbers or not; ModelConfig checks the network's shape.
_RANGES: dict[tuple[str, ...], tuple[float, float]] = {
    ("batch_size",): (1, 1_000_000),
    ("steps", "check_every"): (1, MOST_STEPS),
    ("warmup_steps", "decay_steps", "patience"): (0, MOST_STEPS),
    ("learning_rate", "final_rate", "weight_decay"): (0.0, 10.0),
    ("beta1", "beta2", "averaging"): (0.0, 0.9999999),
    ("second_type_share", "shown"): (0.0, 1.0),
    ("embedding_scale", "clip", "margin", "price", "check_below"): (0.0, 1000.0),
    ("distance_rate", "matrix_rate", "value_rate"): (0.0, 1000.0),
    ("digits",): (0, 10_000),
    ("crowd",): (0, 4096),
    ("start_steps", "turn"): (1, MOST_STEPS),
    ("evolved",): (1, 64),
    ("first_spread",): (0.0, 1.0),
}
_PLAIN = re.compile(r"[\w .+-]{1,100}")  # a recipe's name becomes a folder's and appears in figures and cards


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Every setting of a training but the seed and the machine.

    The learning rate rises linearly over `warmup_steps`, falls along a half cosine over `decay_steps` to
    `final_rate`, and stays there; without either it is constant. Training ends when the network is right on its whole
    domain with at least `margin` and its certificate has the `strength`, or after `steps`, whichever comes first.
    """

    name: str
    task: str
    batch_size: int
    learning_rate: float
    steps: int
    check_every: int
    margin: float
    second_type_share: float
    contexts: str  # where second-type instances are drawn from: as in the paper, or the whole domain (sampling.py)
    shown: float = 1.0  # the share of the domain that batches are drawn from; the seed selects it
    warmup_steps: int = 0
    decay_steps: int = 0
    final_rate: float = 0.0
    weight_decay: float = 0.01
    beta1: float = 0.9
    beta2: float = 0.999
    embedding_scale: float = 1.0  # standard deviation of the initial embeddings
    start: str = "torch"  # initial matrices: torch's default, or as `initial_weights.py` says
    width: int = 64
    heads: int = 2
    layers: int = 2
    hidden: int = 256
    dropout: float = 0.0
    patience: int = 0  # stop at this step if every check so far had more than half of the prompts wrong; 0: never
    clip: float = 0.0  # largest norm of the gradient; 0: unlimited
    options: dict[str, Any] = field(default_factory=dict)  # further settings of the network's shape
    digits: int = 0  # of the longest number in whole sums; 0 if the network learns steps
    price: float = 0.0  # on the logarithm of attention outside the two columns that matter
    distance_rate: float = 1.0  # of distances, slopes and sinks, times the learning rate
    matrix_rate: float = 0.0  # of the layers' matrices, by Muon, times the learning rate; 0: AdamW for everything
    averaging: float = 0.0  # decay of the running average of the weights, which is checked and saved; 0: no average
    value_rate: float = 1.0  # of the matrices of queries, keys and values of a network that reads texts, likewise
    check_below: float = 0.0  # skip most checks while the loss is above this times exp(-margin / 2); 0: skip none
    crowd: int = 0  # so many networks start at random and are trained at once (training/crowd); 0: one
    start_steps: int = 1  # of AdamW for each network of a crowd
    evolved: int = 1  # how many of a crowd, the best, evolve after that
    turn: int = 1  # generations of each of them before the best one goes on
    first_spread: float = 0.0  # deviation of the first generation, relative to each number
    strength: str = "checked"  # of the certificate at which training ends; proven: rounding is bounded too

    def __post_init__(self) -> None:
        for name, wanted in {"name": str, "task": str, "options": dict}.items():
            if type(getattr(self, name)) is not wanted:
                raise AlgaError(f"recipe setting {name} must be {wanted.__name__}, got {getattr(self, name)!r}")
        if not _PLAIN.fullmatch(self.name):
            raise AlgaError(f"a recipe's name has 1 to 100 letters, digits, spaces and .+-_, got {self.name!r}")
        for name, (least, most) in {name: span for names, span in _RANGES.items() for name in names}.items():
            value = getattr(self, name)
            whole = isinstance(least, int)
            if type(value) not in ({int} if whole else {int, float}) or not least <= value <= most:
                kind = "a whole number" if whole else "a number"
                raise AlgaError(f"recipe setting {name} must be {kind} from {least:,} to {most:,}, got {value!r}")
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                found = getattr(self, name)
                raise AlgaError(f"recipe setting {name} must be one of {', '.join(choices)}, got {found!r}")
        known = {each.name for kind in (ModelConfig, ReaderConfig) for each in dataclasses.fields(kind)} - {*FROM_TASK}
        for name in self.options:
            if name not in known or hasattr(self, name):
                raise AlgaError(f"recipe setting options holds {name!r}, which is not an option of a network")

    @property
    def run_name(self) -> str:
        """The name of its runs, without the seed."""
        return f"{tasks.find(self.task).name}-{self.name}"

    def settings(self) -> dict[str, Any]:
        """Return all settings as plain values; those for texts and later ones only if not the default."""
        defaults = {each.name: each.default for each in dataclasses.fields(self)}
        found = dataclasses.asdict(self)
        return {
            name: value for name, value in found.items() if name not in (*FOR_TEXTS, *LATER) or value != defaults[name]
        }

    def network(self) -> AnyShape:
        """Return the shape of the network that it trains."""
        task = tasks.find(self.task)
        return self.shape(shape_class(task), tokens_of(task).sizes)

    def shape(self, kind: type[AnyShape], sizes: dict[str, int]) -> AnyShape:
        """Return the shape of the network that it trains for a task whose tokens imply these sizes."""
        known = {each.name for each in dataclasses.fields(kind)}
        shared: tuple[str, ...] = ("width", "heads", "layers", "hidden", "dropout")
        own = {name: getattr(self, name) for name in shared if name in known}
        if strangers := [name for name in self.options if name not in known]:
            raise AlgaError(f"recipe setting options holds {strangers[0]!r}, which this kind of network does not have")
        if (self.digits > 0) != (kind is ReaderConfig):
            raise AlgaError(f"the recipe {self.name} does not fit the task {self.task}: one is for whole texts")
        settings: dict[str, Any] = {**sizes, **own, **self.options}
        return kind(**settings)

    def rate(self, step: int) -> float:
        """Return the learning rate of the given step, counted from 1.

        >>> from alga.training.recipes import paper
        >>> paper().rate(1) == paper().rate(4000) == 5e-4
        True
        """
        if step <= self.warmup_steps:
            return self.learning_rate * step / self.warmup_steps
        if not self.decay_steps:
            return self.learning_rate
        done = min(1.0, (step - self.warmup_steps) / self.decay_steps)
        return self.final_rate + (self.learning_rate - self.final_rate) * (1 + math.cos(math.pi * done)) / 2


def check_training(training: dict[str, Any], model: AnyShape) -> None:
    """Refuse anything but a recipe for a network of that shape, a seed, threads and a device.

    A training may also keep weights every so many steps, and have begun from those of another run.
    """
    names = ("recipe", "seed", "threads", "device")
    if set(training) - {"checkpoints", "init"} != set(names) or not isinstance(training["recipe"], dict):
        raise AlgaError(f"expected a training with {', '.join(names)}, got {str(list(training))[:200]}")
    every, init = training.get("checkpoints", 1), training.get("init", {"run": "", "sha256": "0" * 64})
    if type(every) is not int or not 1 <= every <= MOST_STEPS:
        raise AlgaError(f"checkpoints must be 1 to {MOST_STEPS:,} steps apart, got {every!r}")
    if not isinstance(init, dict) or set(init) != {"run", "sha256"} or not all(isinstance(init[k], str) for k in init):
        raise AlgaError(f"expected the run and sha256 that the training began from, got {str(init)[:200]}")
    if not re.fullmatch("[0-9a-f]{64}", init["sha256"]) or not init["run"].isprintable():
        raise AlgaError(f"expected the run and sha256 that the training began from, got {str(init)[:200]}")
    for name, least, most in (("threads", 1, 1024), ("seed", 0, 2**63 - 1)):
        if type(training[name]) is not int or not least <= training[name] <= most:
            raise AlgaError(f"{name} must be {least} to {most:,}, got {training[name]!r}")
    if training["device"] not in DEVICES:
        raise AlgaError(f"unknown device {training['device']!r}; there are {', '.join(DEVICES)}")
    with Blaming("expected the settings of a recipe"):
        recipe = Recipe(**training["recipe"])
    sizes = {name: getattr(model, name) for name in FROM_TASK if hasattr(model, name)}
    if recipe.shape(type(model), sizes) != model:
        raise AlgaError("its recipe trains a network of another shape than its own")


@dataclass(frozen=True, kw_only=True)
class Config:
    """A task, a network's shape, and the training if it is known."""

    task: Task
    model: AnyShape
    training: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.training:
            check_training(self.training, self.model)

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
        **(_own(config.task) if config.task.source else {}),
        "vocabulary": config.tokens.vocabulary,
        "model": config.model.settings(),
        "training": config.training,
    }
    return json.dumps(content, indent=2) + "\n"


def _own(task: Task) -> dict[str, str]:
    """Return what a file says of a user's own task: hashes of its source and of what it does, and its class."""
    return {"source": task.source, "class": type(task).__name__, "behaviour": own.behaviour(task)}


def _task(content: dict[str, Any], folder: Path) -> Task:
    """Return the task that config.json states; an error about a user's own says how to pass it."""
    name, source = content["task"], content.get("source", "")
    try:
        tasks.known(name)
    except AlgaError:
        if not source:
            raise
        kind, recipe = content.get("class"), dict(content["training"]).get("recipe", {})
        named = str(recipe.get("task", "")) if isinstance(recipe, dict) else ""
        kind = kind if isinstance(kind, str) and kind.isidentifier() else "CLASS"
        in_file = own.FILE_AND_CLASS.fullmatch(named)
        python, option = (repr(named), named) if in_file else (kind, f"FILE.py:{kind}")
        how = f"use alga.load({str(folder)!r}, task={python}), or --task {option} on the command line"
        raise AlgaError(f"unknown task {name!r}, one of your own: {how}") from None
    return tasks.stated(name, source, content.get("behaviour", ""))


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
        task = _task(content, snapshot.folder.path)
        config = Config(task=task, model=shape_of(content["model"]), training=dict(content["training"]))
        tokens, model = config.tokens, config.model
        fits = model.kind == shape_class(task).kind and all(
            getattr(model, name) == size for name, size in tokens.sizes.items()
        )
        if tuple(content["vocabulary"]) != tokens.vocabulary or not fits:
            raise AlgaError(f"{path} has other tokens or lengths than the task {task.name}")
    return config
