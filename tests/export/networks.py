"""Small networks with random weights, of every shape: what the tests of exported folders share."""

from __future__ import annotations

from typing import Any

import torch

from alga import tasks
from alga.network.config import ModelConfig
from alga.network.kinds import new_module, tokens_of
from alga.network.reader_config import ReaderConfig
from alga.runs import Run, Weights
from alga.runs.config import Config
from alga.solve.solver import Solver

STEP_SHAPES: dict[str, dict[str, Any]] = {
    "paper": {},
    "tied": {"tied": True},
    "norm of the feed-forward network": {"norms": "feed-forward"},
    "no norms": {"norms": "none"},
    "biases of hidden units": {"biases": "hidden"},
    "narrow queries": {"query_width": 3},
    "narrow queries without biases": {"query_width": 1, "biases": "hidden"},
    "keys are queries": {"shared_keys": True},
    "narrow keys are queries": {"shared_keys": True, "query_width": 2},
    "no output projection": {"out": False},
    "shared positions": {"positions": "0.120"},
    "all of it": {
        "tied": True, "norms": "none", "biases": "hidden", "query_width": 1, "shared_keys": True, "out": False,
        "positions": "..012", "heads": 1, "layers": 1,
    },
}  # fmt: skip
READER_SHAPES: dict[str, dict[str, Any]] = {
    "usual": {},
    "two layers": {"layers": 2},
    "window without keys": {"window": True, "keys": False},
    "far reach": {"reach": 4},
}


def random_steps(**options: Any) -> Solver:
    """Return a network for parity."""
    task = tasks.find("parity")
    return _random(task, ModelConfig(**{**tokens_of(task).sizes, "width": 8, "hidden": 12, "dropout": 0.1, **options}))


def random_reader(**options: Any) -> Solver:
    """Return a network that reads whole sums in base 2."""
    task = tasks.find(tasks.in_base("addition-whole", 2))
    return _random(task, ReaderConfig(**{**tokens_of(task).sizes, "width": 8, "hidden": 12, **options}))


def _random(task: tasks.Task, shape: ModelConfig | ReaderConfig) -> Solver:
    config, network, draw = Config(task=task, model=shape), new_module(shape), torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=draw) * 0.7)
            if "slopes" in name:
                parameter.abs_()
    arrays = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    return Solver(Run(name="random", config=config, weights=Weights.holding(config, arrays)))
