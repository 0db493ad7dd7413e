"""The checkpoint: everything the next training step depends on, and its hash, in one atomically replaced file."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Sequence
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
from alga.training.optimisers import ADAMW_SLOTS, MUON_SLOTS, Muon

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
        learner = self.learner
        tensors = {f"model.{name}": tensor.cpu() for name, tensor in learner.model.state_dict().items()}
        if learner.averaged is not learner.model:
            tensors |= {f"average.{name}": tensor.cpu() for name, tensor in learner.averaged.state_dict().items()}
        if learner.shared is not None:
            tensors["shared.trained"] = learner.shared.trained_N.detach()
        for optimizer, first in _numbered(learner.optimisers):
            for index, slots in optimizer.state_dict()["state"].items():
                tensors |= {f"optimizer.{first + index}.{slot}": tensor.cpu() for slot, tensor in slots.items()}
        tensors |= {f"random.{name}": state for name, state in self.random.items()}
        state = json.dumps([self.counters, self.settings])
        folder.write(name, safetensors.torch.save(tensors, {"state": state, "sha256": _hash(state, tensors)}))

    def load(self, folder: Folder, name: str) -> None:
        """Restore a checkpoint of a training with the same settings; refuse a damaged or oversized file."""
        path = folder.path / name
        header = MAX_HEADER_BYTES + MAX_LOSS_BYTES * self.max_losses
        weights = sum(tensor.numel() * tensor.element_size() for tensor in self.learner.model.state_dict().values())
        data = folder.read(name, 4 * weights + header + MAX_OTHER_BYTES)  # with their average and AdamW's two moments
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
        parts: dict[str, dict[str, Tensor]] = {"model": {}, "average": {}, "shared": {}, "optimizer": {}, "random": {}}
        for name, tensor in tensors.items():
            part, _, rest = name.partition(".")
            parts[part][rest] = tensor
        slots: dict[int, dict[str, Tensor]] = {}
        for name, tensor in parts["optimizer"].items():
            number, _, slot = name.partition(".")
            slots.setdefault(int(number), {})[slot] = tensor
        self._check_slots(slots)
        learner = self.learner
        learner.model.load_state_dict(parts["model"])
        if learner.averaged is not learner.model:
            learner.averaged.load_state_dict(parts["average"])
        if learner.shared is not None:
            learner.shared.restore(parts["shared"]["trained"])
        for optimizer, first in _numbered(learner.optimisers):
            own = {place: slots[first + place] for place in range(_size(optimizer)) if first + place in slots}
            optimizer.load_state_dict({**optimizer.state_dict(), "state": own})
        self.random = {name: parts["random"][name] for name in self.random}
        for random_state in self.random.values():
            torch.Generator().set_state(random_state)  # raises if it is invalid
        self._check_counters(counters)
        self.counters = {name: counters[name] for name in self.counters}

    def _check_slots(self, slots: dict[int, dict[str, Tensor]]) -> None:
        """Refuse state that the optimiser cannot use; a parameter may have no slots yet."""
        parameters: list[tuple[Tensor, tuple[str, ...]]] = [
            (parameter, MUON_SLOTS if isinstance(optimizer, Muon) else ADAMW_SLOTS)
            for optimizer in self.learner.optimisers
            for group in optimizer.param_groups
            for parameter in group["params"]
        ]
        for place, held in slots.items():
            if not 0 <= place < len(parameters):
                raise ValueError(f"there is optimiser state for parameter {place} of {len(parameters)}")
            parameter, names = parameters[place]
            shapes = {slot: torch.Size([]) if slot == "step" else parameter.shape for slot in names}
            if {slot: tensor.shape for slot, tensor in held.items()} != shapes:
                raise ValueError(f"the optimiser's state of parameter {place} has other names or another shape")
            if any(tensor.dtype != torch.float32 for tensor in held.values()):
                raise ValueError(f"the optimiser's state of parameter {place} is not float32")

    def _check_counters(self, counters: dict[str, Any]) -> None:
        """Refuse counters of another type, and negative ones."""
        for name, now in self.counters.items():
            value = counters[name]
            if type(value) is not type(now) or (type(value) is int and value < 0):
                raise TypeError(f"{name} is {value!r}")
            if type(value) is list and not all(type(each) is float for each in value):
                raise TypeError(f"{name} are not all numbers")


def _size(optimizer: torch.optim.Optimizer) -> int:
    return sum(len(group["params"]) for group in optimizer.param_groups)


def _numbered(optimizers: Sequence[torch.optim.Optimizer]) -> list[tuple[torch.optim.Optimizer, int]]:
    """Return each optimiser with the number of its first parameter, counted over all of them."""
    sizes = map(_size, optimizers)
    return list(zip(optimizers, itertools.accumulate(sizes, initial=0), strict=False))


def _hash(state: str, tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256(state.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}".encode())
        digest.update(tensor.detach().contiguous().numpy().tobytes())
    return digest.hexdigest()
