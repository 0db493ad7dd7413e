"""Named, complete training configurations: functions that return a Recipe."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass

from alga.errors import AlgaError
from alga.sampling import CONTEXTS

# What each setting may be; the network's own shape is checked by ModelConfig.
_RANGES: dict[str, tuple[float, float]] = {
    "batch_size": (1, 1_000_000),
    "steps": (1, 1_000_000_000),
    "check_every": (1, 1_000_000_000),
    "warmup_steps": (0, 1_000_000_000),
    "decay_steps": (0, 1_000_000_000),
    "learning_rate": (0.0, 10.0),
    "final_rate": (0.0, 10.0),
    "weight_decay": (0.0, 10.0),
    "embedding_scale": (0.0, 1000.0),
    "beta1": (0.0, 0.9999999),
    "beta2": (0.0, 0.9999999),
    "second_type_share": (0.0, 1.0),
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
    warmup_steps: int = 0
    decay_steps: int = 0
    final_rate: float = 0.0
    weight_decay: float = 0.01
    beta1: float = 0.9
    beta2: float = 0.999
    embedding_scale: float = 1.0  # of the embeddings' first values, which are normal with this deviation
    width: int = 64
    heads: int = 2
    layers: int = 2
    hidden: int = 256
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            whole = isinstance(least, int)
            if type(value) not in ({int} if whole else {int, float}) or not least <= value <= most:
                kind = "a whole number" if whole else "a number"
                raise AlgaError(f"recipe setting {name} must be {kind} from {least:,} to {most:,}, got {value!r}")
        if self.contexts not in CONTEXTS:
            raise AlgaError(f"recipe setting contexts must be one of {', '.join(CONTEXTS)}, got {self.contexts!r}")

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


def release() -> Recipe:
    """The recipe of shipped networks: `fast` with a slower fall, until the margin is wide."""
    return dataclasses.replace(fast(), name="release", decay_steps=2_000, check_every=50, margin=14.0)


_RECIPES: dict[str, Callable[[], Recipe]] = {"paper": paper, "fast": fast, "release": release}


def names() -> tuple[str, ...]:
    """Return the names of all recipes."""
    return tuple(_RECIPES)


def find(name: str) -> Recipe:
    """Return the recipe of that name.

    >>> find("paper").dropout
    0.2
    """
    if name not in _RECIPES:
        raise AlgaError(f"unknown recipe {name!r}; there are {', '.join(_RECIPES)}")
    return _RECIPES[name]()
