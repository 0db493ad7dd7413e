"""What a training says as it goes: loss, wrong prompts, margin, and the time to the certificate if it can be told."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from alga import runs
from alga.base.folders import Folder
from alga.base.progress_bar import Watch
from alga.runs import config as configs
from alga.runs.config import Config, Recipe
from alga.training import metrics
from alga.training.metrics import Progress

if TYPE_CHECKING:
    from alga.training.trainer import Training

FEWEST: Final = 3  # checks with every prompt right before their margins tell anything
MOST: Final = 8  # of the latest such checks count
LARGEST: Final = 100.0  # logarithm of a number of steps that no recipe has


def follow(training: Training, watch: Watch, should_stop: Callable[[], bool] = lambda: False) -> Progress | None:
    """Run a training and report every check; return the last one."""
    left, latest = TimeLeft(training.recipe, example_of(training.config)), None
    for latest in training.run(should_stop):
        state = f"loss {latest.loss:.4f}, {latest.wrong:,} wrong, margin {latest.least_margin:.2f}"
        told = left.after(latest)
        watch(latest.step, training.recipe.steps, f"{state}; {told}" if told else state)
    return latest


class Example(NamedTuple):
    """A shipped network that was trained by the same recipe, and its steps to the certificate."""

    name: str
    steps: int


def example_of(config: Config) -> Example | None:
    """Return the shipped network that was trained by a run's recipe on its task, if there is one."""
    recipe = Recipe(**config.training["recipe"])
    for name in {config.task.name, recipe.name} & {*runs.shipped()}:
        folder = Folder(runs.SHIPPED / name)
        trained = configs.load(folder)
        if "init" not in config.training and trained.task.name == config.task.name and trained.training:
            alike = dataclasses.replace(Recipe(**trained.training["recipe"]), steps=recipe.steps, task=recipe.task)
            rows = metrics.rows(folder)
            if alike == recipe and rows and rows[-1]["step"]:
                return Example(name, int(rows[-1]["step"]))
    return None


class TimeLeft:
    """The time to the certificate: as a shipped network took it, or by the growth of the margin once all is right.

    If neither tells it, nothing is said; the recipe's number of steps is a limit, not an end.
    """

    def __init__(self, recipe: Recipe, example: Example | None = None) -> None:
        self._recipe, self._example = recipe, example
        self._right: list[tuple[float, float]] = []  # logarithm of the step and margin of the latest checks, all right

    def after(self, check: Progress) -> str:
        """Return the time left after one more check, in words; empty if it cannot be told."""
        point = (math.log(check.step), check.least_margin)
        self._right = [*self._right, point][-MOST:] if check.wrong == 0 else []
        if self._example is not None and self._example.steps > check.step:
            end: float | None = self._example.steps
            why = f"if it takes {self._example.steps:,} steps as the shipped {self._example.name} did"
        else:
            end, why = self._by_growth(), f"to margin {self._recipe.margin:g}, as it has grown so far"
        if end is None or end > self._recipe.steps:
            return ""
        return f"about {(end - check.step) * check.seconds / check.step:.0f} s {why}"

    def _by_growth(self) -> float | None:
        """Return the step at which the margin reaches the recipe's if it grows with the logarithm of the steps.

        docs/decisions.md says how well that foretold the end for the shipped networks.
        """
        if len(self._right) < FEWEST:
            return None
        mean_step = sum(step for step, _ in self._right) / len(self._right)
        mean_margin = sum(margin for _, margin in self._right) / len(self._right)
        growth = sum((step - mean_step) * (margin - mean_margin) for step, margin in self._right) / sum(
            (step - mean_step) ** 2 for step, _ in self._right
        )
        last = self._right[-1][0]
        missing = self._recipe.margin - (mean_margin + growth * (last - mean_step))
        return math.exp(min(last + missing / growth, LARGEST)) if growth > 0 and missing > 0 else None
