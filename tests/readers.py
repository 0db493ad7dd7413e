"""The reader `whole`, its situations, and readers like it with other weights: what tests of readers share."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import torch

from alga.network.reader import Reader
from alga.network.reader_config import ReaderConfig
from alga.network.texts import Texts
from alga.runs import Run, Weights
from alga.tasks.whole import Whole
from alga.trust.proof.readers import ReaderBounds

Array = np.ndarray
TASK = Whole()
TEXTS = Texts.of(TASK)
SMALL = ReaderConfig(vocabulary=13, width=16, heads=2, hidden=32)
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


class Source:
    """A network that is opened as a torch module only if asked for."""

    def __init__(self, model: Reader, opened: bool = False) -> None:
        self.model, self.shape = model, model.config
        self.opened = model if opened else None

    @property
    def arrays(self) -> dict[str, Any]:
        return {name: tensor.detach().numpy() for name, tensor in self.model.state_dict().items()}


def reader(shape: ReaderConfig = SMALL, slope: float = 2.0, near: float = 3.0) -> Reader:
    torch.manual_seed(3)
    model = Reader(shape).eval()
    with torch.no_grad():
        for layer in model.layers:
            layer.attention.distances[:, shape.reach : shape.reach + 2] += near
            layer.attention.distances += 0.1 * torch.randn(shape.heads, 2 * shape.reach + 1)
            layer.attention.slopes.fill_(slope)
    return model
