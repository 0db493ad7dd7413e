"""Training many tiny networks at once: the same shape and batches, different first numbers.

What it finds right is float32 with other roundings, so a certificate is always the real decoder's. A seed's network is
the same whichever other seeds are trained beside it.

Shapes: E entries of the weights as the kernel orders them, T trained numbers, N lanes, R rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from alga import tasks
from alga.base.errors import AlgaError
from alga.network.config import ModelConfig
from alga.network.sharing import BIAS, INTO, OUT_OF, POSITIONS, PROJECTION, TOKENS, Sharing, sharing
from alga.network.tokens import Tokens
from alga.runs import Run, Weights
from alga.runs.config import Config, Recipe
from alga.training.crowd.gradient import add_gradient
from alga.training.crowd.kernel import LANES, Floats, margins
from alga.training.crowd.rows import Rows

Numbers = NDArray[np.float32]
TINY: Final = 1e-8
LARGEST: Final = 1e4  # of a margin that counts as a number


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


class Crowd:
    """LANES networks of one recipe, whose first numbers are drawn from consecutive seeds."""

    def __init__(self, recipe: Recipe, first_seed: int) -> None:
        self.recipe = recipe
        self._shape, self.shared = shape_of(recipe)
        self._task = tasks.find(recipe.task)
        self._rows = Rows.of(self._task.domain, Tokens.of(self._task.domain), recipe.second_type_share)
        self._matrix_ET = coefficients(self._shape, self.shared)
        self._sizes = (self._shape.vocabulary, self._rows.positions, self._shape.hidden)
        self.begin(first_seed)

    def begin(self, first_seed: int) -> None:
        """Draw new first numbers, from this seed on."""
        self.first_seed, self.step = first_seed, 0
        seeds = range(first_seed, first_seed + LANES)
        drawn = [np.random.default_rng(seed).standard_normal(self.numbers) for seed in seeds]
        self.trained_TN = np.stack(drawn, axis=1).astype(np.float32) * np.float32(self.recipe.embedding_scale)
        self._mean_TN, self._square_TN = np.zeros_like(self.trained_TN), np.zeros_like(self.trained_TN)
        self.fewest_wrong = np.full(LANES, self.prompts)
        self.best_TN = self.trained_TN.copy()  # when the fewest were wrong

    @property
    def numbers(self) -> int:
        """How many numbers each network trains."""
        return len(self.shared.numbers)

    @property
    def prompts(self) -> int:
        """How many prompts the domain has."""
        return len(self._task.domain)

    def train(self, steps: int) -> Floats:
        """Take training steps with AdamW's rule and the recipe's rates; return each network's mean loss."""
        losses = np.zeros(LANES, np.float32)
        for _ in range(steps):
            self.step += 1
            gradient_TN, loss_N = self.gradient(self._rows.batch(self.recipe.batch_size, self.step))
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

    def margins(
        self, trained_TN: Numbers, disturbance: float = 0.0, generator: np.random.Generator | None = None
    ) -> Floats:
        """Return how far the right token of each row leads every other (RN), with the given numbers.

        With a generator each weight is first disturbed, in all lanes alike, by about so much of itself.
        """
        rows, weights = self._rows, _product(self._matrix_ET, trained_TN)
        if generator is not None:
            drawn_E = generator.standard_normal((len(weights), 1))
            weights = weights * (1 + disturbance * drawn_E).astype(np.float32)
        found = np.empty(len(rows.targets) * LANES, np.float32)
        margins(weights.ravel(), *self._sizes, rows.keys, rows.counts, rows.own, rows.targets, found)
        finite: Floats = np.nan_to_num(found, nan=-LARGEST, posinf=LARGEST, neginf=-LARGEST)
        return finite.reshape(-1, LANES)

    def wrong(self) -> NDArray[np.int64]:
        """Return how many prompts each network gets wrong, and remember the best numbers so far."""
        least = np.full((self.prompts, LANES), np.inf, np.float32)
        np.minimum.at(least, self._rows.prompts, self.margins(self.trained_TN))
        wrong: NDArray[np.int64] = (least <= 0).sum(axis=0)
        better = wrong < self.fewest_wrong
        self.fewest_wrong = np.where(better, wrong, self.fewest_wrong)
        self.best_TN[:, better] = self.trained_TN[:, better]
        return wrong

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what the next step depends on, except the recipe."""
        return {
            "trained": self.trained_TN, "mean": self._mean_TN, "square": self._square_TN,
            "best": self.best_TN, "fewest": self.fewest_wrong, "step": np.array([self.step]),
        }  # fmt: skip

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a state."""
        self.step = int(state["step"][0])
        self.trained_TN, self._mean_TN, self._square_TN = (state[name] for name in ("trained", "mean", "square"))
        self.best_TN, self.fewest_wrong = state["best"], state["fewest"]

    def as_run(self, lane: int) -> Run:
        """Return a lane's best network as a run, for the real decoder and certificate."""
        config = Config(task=self._task, model=self._shape)
        weights = Weights.holding(config, self.shared.weights(self.best_TN[:, lane].astype(np.float64)))
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
