"""Named, complete training configurations: functions that return a Recipe."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from alga import tasks
from alga.config import ModelConfig
from alga.errors import AlgaError
from alga.tokens import Tokens

CONTEXTS: Final = ("paper", "domain")  # what second-type instances are drawn from; see sampling.py
STARTS: Final = ("torch", "normal")
FROM_TASK: Final = {"vocabulary", "input_length", "output_length"}  # of a network, whatever a recipe says

# What each setting may be; the network's own shape is checked by ModelConfig.
_RANGES: dict[str, tuple[float, float]] = {
    "batch_size": (1, 1_000_000),
    "steps": (1, 1_000_000_000),
    "check_every": (1, 1_000_000_000),
    "warmup_steps": (0, 1_000_000_000),
    "decay_steps": (0, 1_000_000_000),
    "patience": (0, 1_000_000_000),
    "learning_rate": (0.0, 10.0),
    "final_rate": (0.0, 10.0),
    "weight_decay": (0.0, 10.0),
    "embedding_scale": (0.0, 1000.0),
    "beta1": (0.0, 0.9999999),
    "beta2": (0.0, 0.9999999),
    "second_type_share": (0.0, 1.0),
    "shown": (0.0, 1.0),
    "clip": (0.0, 1000.0),
    "margin": (0.0, 1000.0),
}


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Everything that decides a training but the seed and the machine.

    The learning rate rises linearly over `warmup_steps`, falls along a half cosine over `decay_steps` to
    `final_rate`, and stays there; without either it is constant. Training ends when the network is right on its whole
    domain with at least `margin`, or after `steps`, whichever comes first.
    """

    name: str
    task: str
    batch_size: int
    learning_rate: float
    steps: int
    check_every: int
    margin: float
    second_type_share: float
    contexts: str
    shown: float = 1.0  # the part of the domain that batches are drawn from; the seed chooses which
    warmup_steps: int = 0
    decay_steps: int = 0
    final_rate: float = 0.0
    weight_decay: float = 0.01
    beta1: float = 0.9
    beta2: float = 0.999
    embedding_scale: float = 1.0  # of the embeddings' first values, which are normal with this deviation
    start: str = "torch"  # how matrices begin: as torch has them, or normal with a deviation of 1/sqrt(inputs)
    width: int = 64
    heads: int = 2
    layers: int = 2
    hidden: int = 256
    dropout: float = 0.0
    patience: int = 0  # a network that up to this step was always wrong on half of its prompts is given up; 0: never
    clip: float = 0.0  # gradients longer than this are shortened to it; 0: none are
    options: dict[str, Any] = field(default_factory=dict)  # more of ModelConfig

    def __post_init__(self) -> None:
        for name, wanted in {"name": str, "task": str, "options": dict}.items():
            if type(getattr(self, name)) is not wanted:
                raise AlgaError(f"recipe setting {name} must be {wanted.__name__}, got {getattr(self, name)!r}")
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            whole = isinstance(least, int)
            if type(value) not in ({int} if whole else {int, float}) or not least <= value <= most:
                kind = "a whole number" if whole else "a number"
                raise AlgaError(f"recipe setting {name} must be {kind} from {least:,} to {most:,}, got {value!r}")
        if self.contexts not in CONTEXTS:
            raise AlgaError(f"recipe setting contexts must be one of {', '.join(CONTEXTS)}, got {self.contexts!r}")
        if self.start not in STARTS:
            raise AlgaError(f"recipe setting start must be one of {', '.join(STARTS)}, got {self.start!r}")
        known = {each.name for each in dataclasses.fields(ModelConfig)} - FROM_TASK
        for name in self.options:
            if name not in known or hasattr(self, name):
                raise AlgaError(f"recipe setting options holds {name!r}, which is no further option of a network")

    @property
    def run_name(self) -> str:
        """What a run by it is called, its seed apart."""
        return f"{tasks.find(self.task).name}-{self.name}"

    def network(self) -> ModelConfig:
        """Return the shape of the network that it trains."""
        tokens = Tokens.of(tasks.find(self.task))
        return ModelConfig(
            vocabulary=len(tokens.vocabulary),
            input_length=tokens.input_length,
            output_length=tokens.output_length,
            width=self.width,
            heads=self.heads,
            layers=self.layers,
            hidden=self.hidden,
            dropout=self.dropout,
            **self.options,
        )

    def rate(self, step: int) -> float:
        """Return the learning rate of the given step, counted from 1.

        >>> paper().rate(1) == paper().rate(4000) == 5e-4
        True
        """
        if step <= self.warmup_steps:
            return self.learning_rate * step / self.warmup_steps
        if not self.decay_steps:
            return self.learning_rate
        done = min(1.0, (step - self.warmup_steps) / self.decay_steps)
        return self.final_rate + (self.learning_rate - self.final_rate) * (1 + math.cos(math.pi * done)) / 2


def paper() -> Recipe:
    """The paper's settings, unchanged; 40,000 iterations are the 20 epochs of the author's code."""
    return Recipe(
        name="paper",
        task="addition-padded",
        batch_size=512,
        learning_rate=5e-4,
        weight_decay=0.01,
        dropout=0.2,
        second_type_share=0.5,
        contexts="paper",
        steps=40_000,
        check_every=100,
        margin=0.0,
    )


def fast() -> Recipe:
    """The same network, all right in a few hundred steps.

    No dropout, small embeddings to begin with, a high rate that falls early, shorter memory in the optimiser, and the
    whole domain sampled. docs/decisions.md tells what was tried.
    """
    return Recipe(
        name="fast",
        task="addition",
        batch_size=128,
        learning_rate=4e-3,
        warmup_steps=50,
        decay_steps=200,
        final_rate=1e-3,
        weight_decay=0.01,
        beta1=0.8,
        beta2=0.99,
        embedding_scale=0.1,
        second_type_share=0.85,
        contexts="domain",
        steps=4_000,
        check_every=25,
        margin=5.0,
    )


def small() -> Recipe:
    """One narrow layer, for procedures of few prompts: a higher rate, and weights that may grow."""
    return dataclasses.replace(
        fast(),
        name="small",
        learning_rate=1e-2,
        decay_steps=1_000,
        final_rate=3e-3,
        weight_decay=0.0,
        embedding_scale=0.3,
        check_every=50,
        margin=7.0,
        width=16,
        layers=1,
        hidden=32,
    )


def smallest() -> Recipe:
    """59 parameters: width 2, nearly everything tied or left out. Few seeds end right; docs/lab.md tells how few."""
    return dataclasses.replace(
        small(),
        name="smallest",
        task="addition-padded",
        learning_rate=4e-2,
        warmup_steps=500,
        decay_steps=59_500,
        final_rate=4e-4,
        beta1=0.9,
        embedding_scale=0.5,
        start="normal",
        second_type_share=0.65,
        steps=60_000,
        check_every=500,
        patience=20_000,
        margin=2.0,
        width=2,
        heads=1,
        hidden=3,
        clip=1.0,
        options={
            "tied": True,
            "norms": "none",
            "biases": "hidden",
            "query_width": 1,
            "out": False,
            "positions": "..011123",
        },
    )


def release(task: str = "addition") -> Recipe:
    """The recipe of a shipped network; the adder's is `fast` with a slower fall, until the margin is wide."""
    wide = dataclasses.replace(fast(), name="release", task=task, decay_steps=2_000, check_every=50, margin=14.0)
    if task not in _RELEASED:
        return wide
    size, changes = _RELEASED[task]
    base = dataclasses.replace(small() if size in _NARROW else wide, name="release", task=task, margin=7.0)
    return dataclasses.replace(base, **(_SIZES[size] | changes))


# The sizes of shipped networks, each the smallest of these that certified with seeds 0 and 1 (docs/decisions.md).
_SIZES: dict[str, dict[str, Any]] = {
    "tiny": {"width": 8, "heads": 1, "layers": 1, "hidden": 16},
    "narrow": {"width": 16, "heads": 2, "layers": 1, "hidden": 32},
    "flat": {"width": 32, "heads": 2, "layers": 1, "hidden": 64},
    "half": {"width": 32, "heads": 2, "layers": 2, "hidden": 128},
    "paper": {"width": 64, "heads": 2, "layers": 2, "hidden": 256},
}
_NARROW = ("tiny", "narrow", "flat")
_LONG = {"steps": 8_000, "decay_steps": 4_000, "batch_size": 256, "check_every": 100}  # for many prompts
_LONGER = {**_LONG, "decay_steps": 5_000, "final_rate": 2e-4}  # for tens of thousands
_RELEASED: dict[str, tuple[str, dict[str, Any]]] = {
    "parity": ("narrow", {}),
    "comparison": ("tiny", {}),
    "subtraction": ("half", {}),
    "times-a-digit": ("half", {}),
    "division-by-a-digit": ("half", {}),
    "addition-of-three": ("paper", _LONGER),
    "arithmetic": ("paper", _LONG),
    "addition-base-2": ("tiny", {}),
    "addition-base-8": ("half", {}),
    "addition-base-16": ("paper", _LONG),
    "subtraction-base-2": ("narrow", {}),
    "subtraction-base-8": ("half", {}),
    "subtraction-base-16": ("paper", _LONG),
    "comparison-base-2": ("tiny", {}),
    "comparison-base-8": ("tiny", {}),
    "comparison-base-16": ("tiny", {}),
    "times-a-digit-base-2": ("tiny", {}),
    "times-a-digit-base-8": ("half", {}),
    "times-a-digit-base-16": ("paper", _LONGER),
    "division-by-a-digit-base-2": ("tiny", {}),
    "division-by-a-digit-base-8": ("half", {}),
    "division-by-a-digit-base-16": ("paper", _LONGER),
    "and-base-2": ("tiny", {}),
    "or-base-2": ("narrow", {}),
    "xor-base-2": ("narrow", {}),
    "and-base-8": ("tiny", {}),
    "or-base-8": ("tiny", {}),
    "xor-base-8": ("half", {}),
    "and-base-16": ("narrow", {}),
    "or-base-16": ("narrow", {}),
    "xor-base-16": ("half", {}),
}

_RECIPES: dict[str, Callable[[], Recipe]] = {"paper": paper, "fast": fast, "small": small, "smallest": smallest}


def names() -> tuple[str, ...]:
    """Return the names of all recipes."""
    return (*_RECIPES, "release")


def find(name: str, task: str | None = None) -> Recipe:
    """Return the recipe of that name, for its own task or the given one.

    >>> find("paper").dropout, find("release", "parity").width
    (0.2, 16)
    """
    if name not in names():
        raise AlgaError(f"unknown recipe {name!r}; there are {', '.join(names())}")
    if name == "release":
        return release() if task is None else release(task)
    recipe = _RECIPES[name]()
    return recipe if task is None else dataclasses.replace(recipe, task=task)
