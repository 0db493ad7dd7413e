"""From a recipe, a seed and a machine to the configuration of a run."""

from __future__ import annotations

from typing import Any, Final

import torch

from alga import tasks
from alga.base.errors import AlgaError
from alga.network.kinds import AnyShape
from alga.runs import Run
from alga.runs.config import Config, Recipe

DEVICE_CHOICES: Final = ("auto", "cpu", "cuda", "mps")


def configuration(recipe: Recipe, seed: int, threads: int, device: str, init: Run | None, checkpoints: int) -> Config:
    """Return the configuration of a new run; it says which weights the run began from, and how often it keeps some."""
    shape = recipe.network()
    training: dict[str, Any] = {"recipe": recipe.settings(), "seed": seed, "threads": threads}
    training["device"] = available(device)
    if init is not None:
        if recipe.crowd:
            raise AlgaError("a crowd begins from random numbers, not from another network")
        _check_fits(init, shape)
        training["init"] = {"run": init.name, "sha256": init.sha256}
    if checkpoints:
        training["checkpoints"] = checkpoints
    return Config(task=tasks.find(recipe.task), model=shape, training=training)


def available(device: str) -> str:
    """Return the name of a device that is there; `auto` is the fastest one."""
    if device not in DEVICE_CHOICES:
        raise AlgaError(f"unknown device {device!r}; there are {', '.join(DEVICE_CHOICES)}")
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if device == "auto":
        return next(name for name in ("cuda", "mps", "cpu") if there[name])
    if not there[device]:
        raise AlgaError(f"the device {device} is not available here; cpu always is")
    return device


def _check_fits(run: Run, shape: AnyShape) -> None:
    """Refuse to begin a training from the weights of a network of another shape; dropout is not part of a shape."""
    wanted, found = shape.settings(), run.config.model.settings()
    for name in wanted | found:
        if name != "dropout" and wanted.get(name) != found.get(name):
            differs = f"{name} is {found.get(name)!r} there, and {wanted.get(name)!r} here"
            raise AlgaError(f"cannot begin from {run.name}, a network of another shape: {differs}")
