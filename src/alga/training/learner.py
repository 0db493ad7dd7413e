"""What learns: one network and its optimisers, or a crowd of networks (`crowd/learner.py`).

A learner takes steps, holds the network that is checked and saved, and gives its state to the checkpoint and back. The
one here draws batches and follows gradients by torch.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import torch
from torch import Tensor

from alga.network.model import Transformer
from alga.network.reader import Reader
from alga.runs.config import Recipe
from alga.training.optimisers import ADAMW_SLOTS, MUON_SLOTS, Muon, optimisers
from alga.training.sampling import Sampler
from alga.training.shared_numbers import SharedNumbers
from alga.training.sums import SumSampler

HEAD_START: Final = 9  # the average follows the weights closely at first: after n steps its decay is at most n/(n + 9)


class Learner(Protocol):
    """What a training asks of whatever learns."""

    @property
    def checked(self) -> Transformer | Reader:
        """The network that is checked, certified and saved."""

    @property
    def most_bytes(self) -> int:
        """An upper bound of the bytes of its state."""

    def learn(self, step: int) -> float:
        """Take the step of this number, from 1; return its loss."""

    def rate(self, step: int) -> float:
        """Return the learning rate of a step."""

    def state(self) -> dict[str, Tensor]:
        """Return what the next step depends on, by name."""

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Continue from a state; raise a ValueError if it is not one."""


class GradientLearner:
    """One network that follows gradients. Without averaging, `averaged` is the network that learns."""

    def __init__(
        self, model: Transformer | Reader, recipe: Recipe, sampler: Sampler | SumSampler, sampling: torch.Generator
    ) -> None:
        self.model, self._recipe = model, recipe
        self._sampler, self._sampling = sampler, sampling
        self.shared: SharedNumbers | None = None
        if isinstance(model, Transformer) and model.config.shares:
            self.shared = SharedNumbers(model)  # which writes the model's weights
        self.averaged = copy.deepcopy(model).requires_grad_(False) if recipe.averaging else model
        self.optimisers = optimisers(model, recipe, None if self.shared is None else self.shared.trained_N)

    @property
    def checked(self) -> Transformer | Reader:
        """The average, which is checked and saved."""
        return self.averaged

    @property
    def most_bytes(self) -> int:
        """The bytes of weights, their average and AdamW's two moments."""
        weights: dict[str, Tensor] = self.model.state_dict()
        return 4 * sum(tensor.numel() * tensor.element_size() for tensor in weights.values())

    def rate(self, step: int) -> float:
        """Return the recipe's learning rate of a step."""
        return self._recipe.rate(step)

    def learn(self, step: int) -> float:
        """Draw a batch and take the step of this number, from 1; return the batch's loss."""
        if not self.model.training:
            self.model.train()
        batch = self._sampler.draw(self._recipe.batch_size, self._sampling)
        loss = self._sampler.loss(self.model, batch)  # type: ignore[arg-type]
        self.take_step(loss, step)
        return loss.item()

    def take_step(self, loss: Tensor, step: int) -> None:
        """Take the step of this number, counted from 1, down a batch's loss."""
        for optimiser in self.optimisers:
            for group in optimiser.param_groups:
                group["lr"] = self._recipe.rate(step) * group["times"]
            optimiser.zero_grad()
        if self.shared is not None:
            self.model.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        if self.shared is not None:
            self.shared.gather()
        if self._recipe.clip:
            trained = self.model.parameters() if self.shared is None else [self.shared.trained_N]
            torch.nn.utils.clip_grad_norm_(trained, self._recipe.clip)
        for optimiser in self.optimisers:
            optimiser.step()
        if self.shared is not None:
            self.shared.write()
        if isinstance(self.model, Reader):
            self.model.keep_slopes_positive()
        if self.averaged is not self.model:
            self._average(step)

    @torch.no_grad()
    def _average(self, step: int) -> None:
        decay = min(self._recipe.averaging, step / (step + HEAD_START))
        for mean, weight in zip(self.averaged.parameters(), self.model.parameters(), strict=True):
            mean.lerp_(weight, 1 - decay)

    def state(self) -> dict[str, Tensor]:
        """Return weights, their average, shared numbers and the optimisers' slots."""
        tensors = {f"model.{name}": tensor.cpu() for name, tensor in self.model.state_dict().items()}
        if self.averaged is not self.model:
            tensors |= {f"average.{name}": tensor.cpu() for name, tensor in self.averaged.state_dict().items()}
        if self.shared is not None:
            tensors["shared.trained"] = self.shared.trained_N.detach()
        for optimizer, first in _numbered(self.optimisers):
            for index, slots in optimizer.state_dict()["state"].items():
                tensors |= {f"optimizer.{first + index}.{slot}": tensor.cpu() for slot, tensor in slots.items()}
        return tensors

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Continue from a state; refuse one that the optimisers cannot use."""
        parts: dict[str, dict[str, Tensor]] = {"model": {}, "average": {}, "shared": {}, "optimizer": {}}
        for name, tensor in tensors.items():
            part, _, rest = name.partition(".")
            parts[part][rest] = tensor
        slots: dict[int, dict[str, Tensor]] = {}
        for name, tensor in parts["optimizer"].items():
            number, _, slot = name.partition(".")
            slots.setdefault(int(number), {})[slot] = tensor
        self._check_slots(slots)
        self.model.load_state_dict(parts["model"])
        if self.averaged is not self.model:
            self.averaged.load_state_dict(parts["average"])
        if self.shared is not None:
            self.shared.restore(parts["shared"]["trained"])
        for optimizer, first in _numbered(self.optimisers):
            own = {place: slots[first + place] for place in range(_size(optimizer)) if first + place in slots}
            optimizer.load_state_dict({**optimizer.state_dict(), "state": own})

    def _check_slots(self, slots: dict[int, dict[str, Tensor]]) -> None:
        """Refuse state that the optimiser cannot use; a parameter may have no slots yet."""
        parameters: list[tuple[Tensor, tuple[str, ...]]] = [
            (parameter, MUON_SLOTS if isinstance(optimizer, Muon) else ADAMW_SLOTS)
            for optimizer in self.optimisers
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


def _size(optimizer: torch.optim.Optimizer) -> int:
    return sum(len(group["params"]) for group in optimizer.param_groups)


def _numbered(optimizers: Sequence[torch.optim.Optimizer]) -> list[tuple[torch.optim.Optimizer, int]]:
    """Return each optimiser with the number of its first parameter, counted over all of them."""
    sizes = map(_size, optimizers)
    return list(zip(optimizers, itertools.accumulate(sizes, initial=0), strict=False))
