"""The Recipe: everything that decides a training but the seed and the machine. A run's config.json holds one."""

from __future__ import annotations

import dataclasses
import math
import re
from dataclasses import dataclass, field
from typing import Any, Final

from alga import tasks
from alga.base.errors import AlgaError
from alga.network.config import ModelConfig
from alga.network.tokens import Tokens

CONTEXTS: Final = ("paper", "domain")  # what second-type instances are drawn from; see sampling.py
STARTS: Final = ("torch", "normal")
DEVICES: Final = ("cpu", "cuda", "mps")
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
_PLAIN = re.compile(r"[\w .+-]{1,100}")  # a recipe's name becomes a folder's and stands in figures and cards


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
        if not _PLAIN.fullmatch(self.name):
            raise AlgaError(f"a recipe's name has 1 to 100 letters, digits, spaces and .+-_, got {self.name!r}")
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
        tokens = Tokens.of(tasks.find(self.task).domain)
        return self.shape(len(tokens.vocabulary), tokens.input_length, tokens.output_length)

    def shape(self, vocabulary: int, input_length: int, output_length: int) -> ModelConfig:
        """Return the shape of the network that it trains for a task with these tokens."""
        return ModelConfig(
            vocabulary=vocabulary,
            input_length=input_length,
            output_length=output_length,
            width=self.width,
            heads=self.heads,
            layers=self.layers,
            hidden=self.hidden,
            dropout=self.dropout,
            **self.options,
        )

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


def check(training: dict[str, Any], model: ModelConfig) -> None:
    """Refuse what does not say how a network of that shape is trained: by which recipe, seed, threads and device."""
    names = ("recipe", "seed", "threads", "device")
    if set(training) != set(names) or not isinstance(training["recipe"], dict):
        raise AlgaError(f"expected a training with {', '.join(names)}, got {str(list(training))[:200]}")
    for name, least, most in (("threads", 1, 1024), ("seed", 0, 2**63 - 1)):
        if type(training[name]) is not int or not least <= training[name] <= most:
            raise AlgaError(f"{name} must lie in {least} to {most:,}, got {training[name]!r}")
    if training["device"] not in DEVICES:
        raise AlgaError(f"unknown device {training['device']!r}; there are {', '.join(DEVICES)}")
    try:
        recipe = Recipe(**training["recipe"])
    except TypeError as problem:
        raise AlgaError(f"expected the settings of a recipe ({problem})") from None
    if recipe.shape(model.vocabulary, model.input_length, model.output_length) != model:
        raise AlgaError("its recipe trains a network of another shape than its own")
