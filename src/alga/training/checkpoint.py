"""The checkpoint: everything the next training step depends on, and its hash, in one atomically replaced file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Final

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from alga.base.errors import MALFORMED, AlgaError, Blaming
from alga.base.folders import Folder
from alga.runs.config import Config, Recipe
from alga.runs.weights import read_header
from alga.training.learner import Learner

MAX_HEADER_BYTES: Final = 2**22  # names and shapes, settings, counters
MAX_LOSS_BYTES: Final = 32  # of one loss as text
MAX_OTHER_BYTES: Final = 2**20  # random states and the optimiser's step counts


def settings_of(config: Config, recipe: Recipe) -> str:
    """Return everything that determines each step of a training, as text: all settings but the number of steps."""
    fixed = {key: value for key, value in recipe.settings().items() if key != "steps"}
    return json.dumps([config.identity, config.training | {"recipe": fixed}], sort_keys=True)


@dataclass
class Checkpoint:
    """The state of a training; `load` restores the learner in place and sets `random` and `counters`."""

    learner: Learner
    random: dict[str, Tensor]
    counters: dict[str, Any]
    settings: str  # must be the same when the training resumes
    max_losses: int  # in the counters

    def save(self, folder: Folder, name: str) -> None:
        """Write the checkpoint atomically."""
        tensors = self.learner.state()
        tensors |= {f"random.{name}": state for name, state in self.random.items()}
        state = json.dumps([self.counters, self.settings])
        folder.write(name, safetensors.torch.save(tensors, {"state": state, "sha256": _hash(state, tensors)}))

    def load(self, folder: Folder, name: str) -> None:
        """Restore a checkpoint of a training with the same settings; refuse a damaged or oversized file."""
        path = folder.path / name
        header = MAX_HEADER_BYTES + MAX_LOSS_BYTES * self.max_losses
        data = folder.read(name, self.learner.most_bytes + header + MAX_OTHER_BYTES)
        with Blaming(f"{path} is damaged", (*MALFORMED, SafetensorError, RuntimeError)):
            metadata = read_header(data, path, header).metadata
            tensors = safetensors.torch.load(data)
            if metadata["sha256"] != _hash(metadata["state"], tensors):
                raise AlgaError(f"{path} is damaged: its content does not match its hash")
            counters, settings = json.loads(metadata["state"])
            if settings != self.settings:
                raise AlgaError(f"{path} belongs to other settings than config.json has now")
            self._restore(counters, tensors)

    def _restore(self, counters: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        self._check_counters(counters)
        own = {name: tensor for name, tensor in tensors.items() if not name.startswith("random.")}
        self.learner.restore(own)
        self.random = {name: tensors[f"random.{name}"] for name in self.random}
        for random_state in self.random.values():
            torch.Generator().set_state(random_state)  # raises if it is invalid
        self.counters = {name: counters[name] for name in self.counters}

    def _check_counters(self, counters: dict[str, Any]) -> None:
        """Refuse counters of another type, and negative ones."""
        for name, now in self.counters.items():
            value = counters[name]
            if type(value) is not type(now) or (type(value) is int and value < 0):
                raise TypeError(f"{name} is {value!r}")
            if type(value) is list and not all(type(each) is float for each in value):
                raise TypeError(f"{name} are not all numbers")


def _hash(state: str, tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256(state.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}".encode())
        digest.update(tensor.detach().contiguous().numpy().tobytes())
    return digest.hexdigest()
