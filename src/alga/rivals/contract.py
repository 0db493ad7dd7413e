"""The contract of a rival: train on problems up to a length, answer a batch of problems, say what it generated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from alga.progress import Watch, unwatched

Problem = tuple[str, str]  # two numbers without leading zeros


@dataclass(frozen=True, kw_only=True)
class Scale:
    """What every method gets alike: how long problems are in training, the network's size, and the compute.

    The compute is counted in tokens of the texts that are learned from, padding included.
    """

    digits: int = 5
    width: int = 64
    heads: int = 4
    layers: int = 2
    hidden: int = 256
    tokens: int = 6_000_000
    batch_tokens: int = 2048
    device: str = "cpu"


@dataclass(frozen=True)
class Attempt:
    """What a method made of one problem: its answer, None where it wrote none, and what it generated (or how much)."""

    answer: str | None
    generated: str


@dataclass(frozen=True)
class Learned:
    """What training took."""

    examples: int
    tokens: int
    steps: int


class Rival(ABC):
    """A method that learns to add. One is made for each training, with its scale, learning rate and seed."""

    title: ClassVar[str]
    source: ClassVar[str]  # who described it
    given: ClassVar[str]  # what it is told that a plain sum does not say
    published: ClassVar[str] = "-"  # what its authors report, with the source that was read
    rates: ClassVar[tuple[float, ...]] = (5e-4, 1e-3, 2e-3, 3e-3)  # among which the best is searched
    version: ClassVar[int] = 1  # raised when what the method does changes: earlier runs of it count no more

    def __init__(self, scale: Scale, rate: float, seed: int) -> None:
        self.scale, self.rate, self.seed = scale, rate, seed

    @property
    @abstractmethod
    def parameters(self) -> int:
        """The number of trained numbers."""

    @abstractmethod
    def train(self, watch: Watch = unwatched) -> Learned:
        """Learn from problems of up to `scale.digits` digits, within `scale.tokens`; `watch` is told of tokens."""

    @abstractmethod
    def answer(self, problems: Sequence[Problem]) -> list[Attempt]:
        """Answer problems of any length."""
