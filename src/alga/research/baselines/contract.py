"""The contract of a baseline, a published method of addition: train up to a length, then answer problems.

A method is one class (docs/rivals.md), known by its name here; `mine.py:Method` names your own.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import ClassVar

from alga.base.errors import AlgaError
from alga.tasks import own

METHODS = {
    "plain": "formats:Plain",
    "markers": "formats:Markers",
    "scratchpad": "formats:Scratchpad",
    "reversed": "formats:Reversed",
    "simplified": "formats:Simplified",
    "detailed": "formats:Detailed",
    "abacus": "formats:Abacus",
    "looped-abacus": "formats:LoopedAbacus",
    "coupling": "formats:Coupling",
    "reader": "whole_reader:WholeReader",
    "concatenated": "columns:Concatenated",
    "first-type": "columns:FirstType",
    "alga": "columns:Alga",
}

Problem = tuple[str, str]  # two numbers without leading zeros


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Training lengths, network size, and the most tokens of text to train on."""

    digits: int = 5
    width: int = 64
    heads: int = 4
    layers: int = 2
    hidden: int = 256
    tokens: int = 40_000_000  # at most
    settle_tokens: int = 0  # of these, the last ones, over which the learning rate falls to zero
    on_tokens: int = 8_000_000  # to which a method that extrapolates trains on; its rate falls over the same share
    batch_tokens: int = 2048
    check_tokens: int = 250_000  # between two checks of the validation sums
    device: str = "cpu"


@dataclass(frozen=True)
class Attempt:
    """A method's answer to one problem, None if it wrote none, and the generated text."""

    answer: str | None
    generated: str


@dataclass(frozen=True)
class Learned:
    """The cost of a training, and how it went."""

    examples: int
    tokens: int
    steps: int
    passed: int | None = None  # tokens after which all validation sums had been right at several checks in a row
    curve: Sequence[tuple[int, int, int]] = ()  # tokens, validation sums right, of how many


class Baseline(ABC):
    """A method that learns to add; one instance per training, with its scale, learning rate and seed."""

    title: ClassVar[str]
    source: ClassVar[str]  # who described it
    given: ClassVar[str]  # information that a plain sum does not contain
    published: ClassVar[str] = "-"  # what its authors report, with the source that was read
    rates: ClassVar[tuple[float, ...]] = (5e-4, 1e-3, 2e-3, 3e-3)  # learning rates to search
    extrapolates: ClassVar[bool] = False  # trained on longer sums, with more seeds, and on after it has passed
    looped: ClassVar[bool] = False  # whether a loop feeds it columns
    shape: ClassVar[Mapping[str, int]] = {}  # the sizes of a scale that this method changes
    version: ClassVar[int] = 1  # raised when the method changes, so that earlier runs are not reused

    def __init__(self, scale: Scale, rate: float, seed: int) -> None:
        self.scale, self.rate, self.seed = scale, rate, seed
        self.trains_on = self.extrapolates  # after it has passed; a search stops there

    @property
    def longest(self) -> float:
        """The most digits that a method has places for."""
        return math.inf

    @property
    def certified(self) -> bool | None:
        """Whether the trained network is proven right at every length; None where nothing of the kind is known."""
        return None

    @property
    @abstractmethod
    def parameters(self) -> int:
        """The number of trained numbers."""

    @abstractmethod
    def train(self) -> Learned:
        """Train on problems of up to `scale.digits` digits, with at most `scale.tokens` tokens."""

    def rewind(self) -> bool:
        """Go back to the weights at which a training passed that went on; False if there are none."""
        return False

    @abstractmethod
    def answer(self, problems: Sequence[Problem]) -> list[Attempt]:
        """Answer problems of any length."""


def find(name: str) -> type[Baseline]:
    """Return the method of that name, or the class that `mine.py:Method` names."""
    if own.FILE_AND_CLASS.fullmatch(name):
        return own.read(name, Baseline)[0]
    if name not in METHODS:
        raise AlgaError(f"unknown method {name!r}; there are {', '.join(METHODS)}; your own as FILE.py:CLASS")
    module, _, kind = METHODS[name].partition(":")
    found: type[Baseline] = getattr(import_module(f"alga.research.baselines.{module}"), kind)
    return found


Rival = Baseline  # its name in 0.1, for users' own files; to be removed in 0.3
