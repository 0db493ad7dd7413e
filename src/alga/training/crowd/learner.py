"""The learner of a recipe with a crowd: many random starts, each trained a little, and the best of them evolved.

The first `crowd / LANES * start_steps` steps are AdamW's, for one group of LANES networks after another. Each later
step is a generation of an evolution of one network: the `evolved` networks with the fewest wrong prompts have a turn
each, then the best of them continues. What evolution lowers is the missing margin: how far output tokens are from
leading by AIM times the recipe's margin, and by what their lead changes if every weight is disturbed a little, so that
rounding matters little. Its logarithm is taken, because without it a few rows that are very wrong decide, and all
margins shrink to zero; and with a cap instead those rows are given up. Once all are right, large numbers have a price,
for the sake of rounding too.

Every draw is from a generator of its own, seeded by the training's seed and what is drawn, so a checkpoint holds no
random state. Computed on the CPU by one thread.

Shapes: T trained numbers, N lanes, P all starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alga.base.errors import AlgaError
from alga.network.model import Transformer
from alga.network.reader import Reader
from alga.runs.config import Recipe
from alga.training.crowd.crowd import Crowd, Numbers
from alga.training.crowd.evolution import Evolution
from alga.training.crowd.kernel import LANES

GENERATIONS: Final = 1  # the first part of the seeds of generations; batches have another
AIM: Final = 1.15  # times the recipe's margin, because the last few rows to reach an aim take long
DISTURBANCE: Final = 1e-6  # of a weight, relative to it: some sixteen units of float32's rounding
LARGE: Final = 100.0  # numbers of this size leave float32 little room
PRICE: Final = 1e-3  # of the mean square of a network's numbers, as multiples of LARGE
# Settings that the compiled steps do not have, each with the only value that they can have.
WITHOUT: Final = {
    "shown": 1.0, "weight_decay": 0.0, "dropout": 0.0, "matrix_rate": 0.0, "averaging": 0.0, "check_below": 0.0,
}  # fmt: skip


class CrowdLearner:
    """Takes the steps of a crowd; `checked` is the best network so far."""

    def __init__(self, model: Transformer | Reader, recipe: Recipe, seed: int) -> None:
        _check(recipe)
        self.checked, self._recipe, self._seed = model, recipe, seed
        self._crowd = Crowd(recipe, self._first_seed(0))
        numbers = self._crowd.numbers
        self._starts_TP: Numbers = np.zeros((numbers, recipe.crowd), np.float32)
        self._wrong_P = np.full(recipe.crowd, self._crowd.prompts)
        self._evolutions = [Evolution(numbers, LANES) for _ in range(recipe.evolved)]
        self._show(self._crowd.trained_TN[:, 0])

    @property
    def _descending(self) -> int:
        """The number of steps before the first generation."""
        return self._recipe.crowd // LANES * self._recipe.start_steps

    def rate(self, step: int) -> float:
        """Return the learning rate of a step; generations have none."""
        return self._recipe.rate(self._within(step)) if step <= self._descending else 0.0

    def learn(self, step: int) -> float:
        """Take the step of this number, from 1; return the best network's loss: its missing margins in a generation."""
        return self._descend(step) if step <= self._descending else self._evolve(step - self._descending)

    def _descend(self, step: int) -> float:
        group, within = (step - 1) // self._recipe.start_steps, self._within(step)
        if within == 1:
            self._crowd.begin(self._first_seed(group))
        loss = float(np.nan_to_num(self._crowd.train(1), nan=np.inf).min())
        if within % self._recipe.check_every == 0 or within == self._recipe.start_steps:
            self._crowd.wrong()
            lanes = slice(group * LANES, (group + 1) * LANES)
            self._starts_TP[:, lanes], self._wrong_P[lanes] = self._crowd.best_TN, self._crowd.fewest_wrong
            self._show(self._starts_TP[:, int(self._wrong_P.argmin())])
        return loss

    def _evolve(self, generation: int) -> float:
        recipe, crowd = self._recipe, self._crowd
        if generation == 1:
            best = np.argsort(self._wrong_P, kind="stable")
            for evolution, place in zip(self._evolutions, best, strict=False):
                evolution.begin(self._starts_TP[:, place].astype(np.float64), recipe.first_spread)
        turn = (generation - 1) // recipe.turn
        if turn < len(self._evolutions):
            evolution = self._evolutions[turn]
        else:
            evolution = min(self._evolutions, key=lambda each: float(each.least[0]))
        generator = np.random.default_rng((GENERATIONS, self._seed, generation))
        asked_TN = evolution.ask(generator)
        margins_RN = crowd.margins(asked_TN.astype(np.float32))
        moved_RN = np.abs(crowd.margins(asked_TN.astype(np.float32), DISTURBANCE, generator) - margins_RN)
        missing_RN = np.maximum(0, AIM * recipe.margin + moved_RN - margins_RN)
        values_N = np.log1p(missing_RN).mean(axis=0, dtype=np.float64)
        if (margins_RN[:, values_N.argmin()] > 0).all():  # before, large numbers are a way out of dead ends
            values_N += PRICE * ((asked_TN / LARGE) ** 2).mean(axis=0)
        evolution.tell(values_N)
        best_of_all = min(self._evolutions, key=lambda each: float(each.least[0]))
        if best_of_all is evolution:
            self._show(evolution.best_T.astype(np.float32))
        return float(evolution.least[0])

    def state(self) -> dict[str, Tensor]:
        """Return what the next step depends on, by name."""
        return {name: torch.from_numpy(array.copy()) for name, array in self._arrays().items()}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Continue from a state; refuse one of other names, shapes or types."""
        now, found = self._arrays(), {name: tensor.numpy().copy() for name, tensor in tensors.items()}
        if {name: (a.shape, a.dtype) for name, a in now.items()} != {n: (a.shape, a.dtype) for n, a in found.items()}:
            raise ValueError("the state of the crowd has other names, shapes or types")
        self._crowd.restore(_part(found, "crowd"))
        self._starts_TP, self._wrong_P = found["starts.trained"], found["starts.wrong"]
        for place, evolution in enumerate(self._evolutions):
            evolution.restore(_part(found, f"evolution.{place}"))
        self._show(found["shown.trained"])

    @property
    def most_bytes(self) -> int:
        """The bytes of its state."""
        return sum(array.nbytes for array in self._arrays().values())

    def _arrays(self) -> dict[str, NDArray[Any]]:
        parts = {"crowd": self._crowd.state(), "starts": {"trained": self._starts_TP, "wrong": self._wrong_P}}
        parts |= {f"evolution.{place}": each.state() for place, each in enumerate(self._evolutions)}
        parts["shown"] = {"trained": self._shown_T}
        return {f"{part}.{name}": array for part, arrays in parts.items() for name, array in arrays.items()}

    def _first_seed(self, group: int) -> int:
        """Return the seed of a group's first network; no two seeds of a training share a start."""
        return self._seed * self._recipe.crowd + group * LANES

    def _within(self, step: int) -> int:
        """Return the number of a step within its group, from 1."""
        return (step - 1) % self._recipe.start_steps + 1

    @torch.no_grad()
    def _show(self, trained_T: Numbers) -> None:
        """Write the weights that are checked and saved."""
        self._shown_T, weights = trained_T.copy(), dict(self.checked.named_parameters())
        for name, array in self._crowd.shared.weights(trained_T.astype(np.float64)).items():
            weights[name].copy_(torch.tensor(array))


def _part(arrays: Mapping[str, NDArray[Any]], part: str) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(f"{part}."): array for name, array in arrays.items() if name.startswith(f"{part}.")}


def _check(recipe: Recipe) -> None:
    """Refuse a recipe that cannot be a crowd."""
    if recipe.crowd % LANES:
        raise AlgaError(f"a crowd is a multiple of {LANES} networks, got {recipe.crowd}")
    if recipe.evolved > recipe.crowd:
        raise AlgaError(f"a crowd of {recipe.crowd} has no {recipe.evolved} networks to evolve")
    for name, value in WITHOUT.items():
        if getattr(recipe, name) != value:
            raise AlgaError(f"a crowd is trained with {name} {value:g}, got {getattr(recipe, name):g}")
