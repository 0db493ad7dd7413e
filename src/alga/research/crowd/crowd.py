"""Training many tiny networks at once: the same shape and batches, different first numbers.

For searching, not for certificates: what it finds right on all rows is float32 with other roundings, so `as_run` hands
it to the real decoder. A seed's network is the same whichever other seeds are trained beside it.

Shapes: E entries of the weights as the kernel orders them, T trained numbers, N lanes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from alga import tasks
from alga.base.errors import AlgaError
from alga.network.config import ModelConfig
from alga.network.sharing import BIAS, INTO, OUT_OF, POSITIONS, PROJECTION, TOKENS, Sharing, sharing
from alga.network.tokens import Tokens
from alga.research.crowd.gradient import add_gradient
from alga.research.crowd.kernel import LANES, Floats, margins
from alga.research.crowd.rows import Rows
from alga.runs import Run, Weights
from alga.runs.config import Config, Recipe

Numbers = NDArray[np.float32]
TINY = 1e-8


def shape_of(recipe: Recipe) -> tuple[ModelConfig, Sharing]:
    """Return the shape of a recipe's network, and its shared numbers; refuse one that the kernel does not compute."""
    shape = recipe.network()
    if not isinstance(shape, ModelConfig) or not shape.shares or shape.query_width != 1:
        raise AlgaError("many networks at once must share trained numbers and have queries of width 1")
    return shape, sharing(shape)


def coefficients(shape: ModelConfig, shared: Sharing) -> Floats:
    """Return the matrix from trained numbers to the kernel's weights (ET)."""
    whole, parts, at = shared.matrix().astype(np.float32), dict[str, Floats](), 0
    for name, size in shared.shapes.items():
        parts[name] = whole[at : at + math.prod(size)].reshape(*size, -1)
        at += math.prod(size)
    rows, nothing = parts[POSITIONS], np.zeros((2, len(shared.numbers)), np.float32)
    positions = [nothing if row == "." else rows[int(row)] for row in shape.positions]
    asked = parts[PROJECTION]
    key = asked[0] if shape.shared_keys else asked[1]
    found = [parts[TOKENS], np.stack(positions), asked[:1], key, asked[-2:], parts[INTO], parts[BIAS], parts[OUT_OF]]
    return np.concatenate([part.reshape(-1, len(shared.numbers)) for part in found])


@dataclass
class Crowd:
    """LANES networks of one recipe, whose first numbers are drawn from consecutive seeds."""

    recipe: Recipe
    first_seed: int
    step: int = 0
    fewest_wrong: NDArray[np.int64] = field(init=False)
    best_TN: Numbers = field(init=False)  # when the fewest were wrong

    def __post_init__(self) -> None:
        self._shape, self._shared = shape_of(self.recipe)
        self._task = tasks.find(self.recipe.task)
        self._rows = Rows.of(self._task.domain, Tokens.of(self._task.domain), self.recipe.second_type_share)
        self._matrix_ET = coefficients(self._shape, self._shared)
        seeds = range(self.first_seed, self.first_seed + LANES)
        drawn = [np.random.default_rng(seed).standard_normal(self._matrix_ET.shape[1]) for seed in seeds]
        self.trained_TN = np.stack(drawn, axis=1).astype(np.float32) * np.float32(self.recipe.embedding_scale)
        self._mean_TN, self._square_TN = np.zeros_like(self.trained_TN), np.zeros_like(self.trained_TN)
        self._sizes = (self._shape.vocabulary, self._rows.positions, self._shape.hidden)
        self.fewest_wrong = np.full(LANES, len(self._task.domain))
        self.best_TN = self.trained_TN.copy()
        self._batches = self._rows.batches(self.recipe.batch_size, 0)

    def train(self, steps: int) -> Floats:
        """Take training steps with AdamW's rule and the recipe's rates; return each network's mean loss."""
        losses = np.zeros(LANES, np.float32)
        for batch in islice(self._batches, steps):
            self.step += 1
            gradient_TN, loss_N = self.gradient(batch)
            losses += loss_N
            self._move(gradient_TN)
        return losses / np.float32(steps)

    def gradient(self, batch: NDArray[np.int32]) -> tuple[Numbers, Floats]:
        """Return the gradient of the mean cross-entropy on a batch of rows, and that loss, of each network."""
        rows, weights = self._rows, self.weights()
        found = np.zeros(weights.size + LANES, np.float32)
        share = np.float32(1 / len(batch))
        given = (rows.keys, rows.counts, rows.own, rows.targets)
        add_gradient(weights.ravel(), *self._sizes, batch, share, *given, found)
        return _product(self._matrix_ET.T, found[:-LANES].reshape(-1, LANES)), found[-LANES:]

    def weights(self) -> Floats:
        """Return the weights in the kernel's order (EN)."""
        return _product(self._matrix_ET, self.trained_TN)

    def wrong(self) -> NDArray[np.int64]:
        """Return how many prompts each network gets wrong, and remember the best numbers so far."""
        rows = self._rows
        found = np.empty(len(rows.targets) * LANES, np.float32)
        margins(self.weights().ravel(), *self._sizes, rows.keys, rows.counts, rows.own, rows.targets, found)
        least = np.full((len(self._task.domain), LANES), np.inf, np.float32)
        np.minimum.at(least, rows.prompts, np.nan_to_num(found.reshape(-1, LANES), nan=-np.inf))
        wrong: NDArray[np.int64] = (least <= 0).sum(axis=0)
        better = wrong < self.fewest_wrong
        self.fewest_wrong = np.where(better, wrong, self.fewest_wrong)
        self.best_TN[:, better] = self.trained_TN[:, better]
        return wrong

    def as_run(self, lane: int) -> Run:
        """Return a lane's best network as a run, for the real decoder and certificate."""
        config = Config(task=self._task, model=self._shape)
        weights = Weights.holding(config, self._shared.weights(self.best_TN[:, lane].astype(np.float64)))
        return Run(name=f"{self.recipe.name}-{self.first_seed + lane}", config=config, weights=weights)

    def _move(self, gradient_TN: Numbers) -> None:
        recipe, step = self.recipe, self.step
        gradient_TN = np.nan_to_num(gradient_TN)
        if recipe.clip:
            norms = np.sqrt(_product(np.ones((1, len(gradient_TN)), np.float32), gradient_TN**2))
            gradient_TN = gradient_TN * np.minimum(1, np.float32(recipe.clip) / (norms + np.float32(TINY)))
        self._mean_TN += np.float32(1 - recipe.beta1) * (gradient_TN - self._mean_TN)
        self._square_TN += np.float32(1 - recipe.beta2) * (gradient_TN**2 - self._square_TN)
        mean = self._mean_TN / np.float32(1 - recipe.beta1**step)
        root = np.sqrt(self._square_TN / np.float32(1 - recipe.beta2**step))
        self.trained_TN -= np.float32(recipe.rate(step)) * mean / (root + np.float32(TINY))


def _product(matrix: Floats, columns: Floats) -> Floats:
    """Return a matrix product whose columns do not depend on each other's number: BLAS may sum in another order."""
    found: Floats = np.einsum("ij,jn->in", matrix, columns)
    return found
