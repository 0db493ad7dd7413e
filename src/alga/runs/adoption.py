"""Weights from elsewhere -> a run of a given task and shape; neither is guessed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from alga import tasks
from alga.base.errors import AlgaError, Blaming, Naming
from alga.network.config import ModelConfig
from alga.network.tokens import Tokens
from alga.runs import foreign
from alga.runs.config import Config
from alga.runs.run import Run
from alga.runs.weights import Weights, checked
from alga.tasks import Task

THE_AUTHORS: Final = "addition-padded"  # the task of the author's published weights


def adopt(source: Path, task: Task | None = None, shape: ModelConfig | None = None) -> Run:
    """Return a run of the weights in a file; it has no certificate.

    Our weight files state their task and shape. Weights under the names of the paper's author have the paper's shape
    unless another is given. Under ours the shape must be given: the number of heads does not show in weights.
    """
    found = foreign.read(source)
    if found.identity is not None:
        config = _identified(found.identity, source, task)
    elif found.ours and shape is None:
        raise AlgaError(
            f"{source} does not say the shape of its network: name it by --like or --recipe, or use its run folder"
        )
    else:
        config = _shaped(task, shape)
    if shape is not None and shape != config.model:
        raise AlgaError(f"{source} is for a network of another shape than the given one")
    weights = checked(found.weights, config.model, source)
    return Run(name=source.name, config=config, weights=Weights.holding(config, weights))


def _identified(identity: str, source: Path, task: Task | None) -> Config:
    """Return the configuration that one of our weight files states; it must match the current task."""
    with Naming(source), Blaming(f"{source} does not say what it is for"):
        content = json.loads(identity)
        name, model = content["task"], ModelConfig(**content["model"])
    if task is not None and task.name != name:
        raise AlgaError(f"{source} says that it is for the task {name!r}, not {task.name!r}")
    config = Config(task=task or tasks.known(name), model=model)
    if config.identity != identity:
        raise AlgaError(f"{source} was written for another version of the task {config.task.name}")
    return config


def _shaped(task: Task | None, shape: ModelConfig | None) -> Config:
    """Return the configuration of a task and a shape, by default the paper's."""
    task = task or tasks.find(THE_AUTHORS)
    tokens = Tokens.of(task.domain)
    sizes = (len(tokens.vocabulary), tokens.input_length, tokens.output_length)
    model = shape or ModelConfig(vocabulary=sizes[0], input_length=sizes[1], output_length=sizes[2])
    if sizes != (model.vocabulary, model.input_length, model.output_length):
        raise AlgaError(f"the given shape is for other tokens than those of {task.name}")
    return Config(task=task, model=model)
