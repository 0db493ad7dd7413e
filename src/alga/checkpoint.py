"""The checkpoint: all that the next training step depends on, and its hash, in one file that is replaced whole."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from alga import files
from alga.errors import AlgaError
from alga.model import Transformer


@dataclass
class Checkpoint:
    """Weights and optimiser are restored into the given objects; random states and counters are handed back."""

    model: Transformer
    optimizer: torch.optim.Optimizer
    random: dict[str, Tensor]
    counters: dict[str, Any]
    settings: str  # of the training, which must be the same when it goes on

    def save(self, path: Path) -> None:
        """Write the checkpoint atomically."""
        tensors = {f"model.{name}": tensor.cpu() for name, tensor in self.model.state_dict().items()}
        for index, slots in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{index}.{slot}": tensor.cpu() for slot, tensor in slots.items()}
        tensors |= {f"random.{name}": state for name, state in self.random.items()}
        state = json.dumps([self.counters, self.settings])
        files.write(path, safetensors.torch.save(tensors, {"state": state, "sha256": _hash(state, tensors)}))

    def load(self, path: Path) -> None:
        """Read a checkpoint of a training with the same configuration; refuse what is damaged."""
        try:
            with safetensors.safe_open(path, framework="pt") as file:
                metadata = file.metadata()
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - a file, not a dict
            if metadata["sha256"] != _hash(metadata["state"], tensors):
                raise AlgaError(f"{path} is damaged: its content has another hash than it states")
            counters, settings = json.loads(metadata["state"])
            if settings != self.settings:
                raise AlgaError(f"{path} belongs to other settings than config.json has now")
            self._restore(counters, tensors)
        except AlgaError:
            raise
        except (SafetensorError, RuntimeError, LookupError, ValueError, TypeError, AttributeError) as problem:
            raise AlgaError(f"{path} is damaged: {problem}") from None

    def _restore(self, counters: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        parts: dict[str, dict[str, Tensor]] = {"model": {}, "optimizer": {}, "random": {}}
        for name, tensor in tensors.items():
            part, _, rest = name.partition(".")
            parts[part][rest] = tensor
        slots: dict[int, dict[str, Tensor]] = {}
        for name, tensor in parts["optimizer"].items():
            index, _, slot = name.partition(".")
            slots.setdefault(int(index), {})[slot] = tensor
        parameters = list(self.model.parameters())
        for place, held in slots.items():
            if any(tensor.shape not in (parameters[place].shape, torch.Size([])) for tensor in held.values()):
                raise ValueError(f"the optimiser's state of parameter {place} has another shape")
        self.model.load_state_dict(parts["model"])
        self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": slots})
        self.random = {name: parts["random"][name] for name in self.random}
        for name, now in self.counters.items():
            if type(counters[name]) is not type(now):
                raise TypeError(f"{name} is {counters[name]!r}")
        self.counters = {name: counters[name] for name in self.counters}


def _hash(state: str, tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256(state.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}".encode())
        digest.update(tensor.detach().contiguous().numpy().tobytes())
    return digest.hexdigest()
