"""The reader `whole`, its situations, and readers like it with other weights: what tests of readers share."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from random import Random

import numpy as np

from alga.network.texts import Texts
from alga.runs import Run, Weights
from alga.tasks.whole import Whole
from alga.trust.proof.readers import ReaderBounds

Array = np.ndarray
TASK = Whole()
TEXTS = Texts.of(TASK)
SOME = [*Random(0).sample(list(TASK.domain), 60), "+=1", "9+9=", "0+0=0"]


def numbers(run: Run) -> dict[str, Array]:
    return {name: array.astype(float) for name, array in run.weights.arrays.items()}


def changed(run: Run, change: Callable[[dict[str, Array]], None]) -> Run:
    """Return the run with other weights."""
    arrays = {name: array.copy() for name, array in run.weights.arrays.items()}
    change(arrays)
    return dataclasses.replace(run, weights=Weights.holding(run.config, arrays))


def margins(run: Run, prompts: list[str]) -> Array:
    return ReaderBounds(TEXTS, run.config.model, numbers(run)).margins(prompts)[0]
