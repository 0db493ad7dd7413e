"""The network that learns, its optimisers, and the running average of its weights, which is checked and saved."""

from __future__ import annotations

import copy
from typing import Final

import torch
from torch import Tensor

from alga.network.model import Transformer
from alga.network.reader import Reader
from alga.runs.config import Recipe
from alga.training.optimisers import optimisers
from alga.training.shared_numbers import SharedNumbers

HEAD_START: Final = 9  # the average follows the weights closely at first: after n steps its decay is at most n/(n + 9)


class Learner:
    """Takes training steps. Without averaging, `averaged` is the network that learns."""

    def __init__(self, model: Transformer | Reader, recipe: Recipe) -> None:
        self.model, self._recipe = model, recipe
        self.shared: SharedNumbers | None = None
        if isinstance(model, Transformer) and model.config.shares:
            self.shared = SharedNumbers(model)  # which writes the model's weights
        self.averaged = copy.deepcopy(model).requires_grad_(False) if recipe.averaging else model
        self.optimisers = optimisers(model, recipe, None if self.shared is None else self.shared.trained_N)

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
