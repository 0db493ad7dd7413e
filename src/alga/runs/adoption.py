"""Weights from elsewhere -> a run: which task they are for, in a network of which shape. Nothing of that is guessed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from alga import tasks
from alga.base.errors import AlgaError
from alga.network.config import ModelConfig
from alga.network.tokens import Tokens
from alga.runs import foreign, weight_file
from alga.runs.config import Config
from alga.runs.run import Run
from alga.runs.weights import Weights
from alga.tasks import Task

THE_AUTHORS: Final = "addition-padded"  # the task of the author's published weights


def adopt(source: Path, task: Task | None = None, shape: ModelConfig | None = None) -> Run:
    """Return a run of the weights in a file; it has no certificate.

    A weight file of ours says itself what it is for. In the names of the paper's author, weights are of the paper's
    shape unless another is named. In ours they may be of any, and it must be named: heads leave no trace in weights.
    """
    found = foreign.read(source)
    if found.identity is not None:
        config = _identified(found.identity, source, task)
    elif found.ours and shape is None:
        name = "name it by --like or --recipe, or use its run folder"
        raise AlgaError(f"{source} does not say the shape of its network: {name}")
    else:
        config = _shaped(task, shape)
    if shape is not None and shape != config.model:
        raise AlgaError(f"{source} is for a network of another shape than the one that was named")
    weights = weight_file.checked(found.weights, config.model, source)
    return Run(name=source.name, config=config, weights=Weights.holding(config, weights))


def _identified(identity: str, source: Path, task: Task | None) -> Config:
    """Return the configuration that a weight file of ours names, for the task as it is here and no other."""
    try:
        content = json.loads(identity)
        name, model = content["task"], ModelConfig(**content["model"])
    except AlgaError as problem:
        raise AlgaError(f"{source}: {problem}") from None
    except (ValueError, TypeError, KeyError, RecursionError) as problem:
        raise AlgaError(f"{source} does not say what it is for ({type(problem).__name__}: {problem})") from None
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
        raise AlgaError(f"the shape that was named is that of a network for other tokens than those of {task.name}")
    return Config(task=task, model=model)
