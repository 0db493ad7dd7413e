"""Evolution of one network's trained numbers: the matrix adaptation strategy (Beyer and Sendhoff 2017).

Each generation is drawn from a normal distribution around the mean. The better half moves the mean and shapes the
distribution, so that steps follow a narrow, bent valley where a gradient would go back and forth. Unlike CMA-ES it
keeps a factor of the covariance and decomposes nothing; `einsum` computes the products, because threads of BLAS may
change the last bit.

Shapes: T trained numbers, N networks of a generation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Exact = NDArray[np.float64]

LEAST_SPREAD: Final = 1e-6  # of a number that is zero
MOST_GROWTH: Final = 1.0  # logarithm of how much longer the steps of a generation may be than those before


class Evolution:
    """The distribution of the next generation, and the best network of the last: values of two may not compare."""

    def __init__(self, numbers: int, networks: int) -> None:
        better = networks // 2
        weights = math.log(better + 0.5) - np.log(np.arange(1, better + 1))
        self._weights_N: Exact = weights / weights.sum()
        self._numbers, self._networks = numbers, networks
        self._mass = float(1 / (self._weights_N**2).sum())
        mass, rank_one = self._mass, 2 / ((numbers + 1.3) ** 2 + self._mass)
        self._fading = (mass + 2) / (numbers + mass + 5)
        self._damping = 1 + 2 * max(0.0, math.sqrt((mass - 1) / (numbers + 1)) - 1) + self._fading
        self._learning = (rank_one, min(1 - rank_one, 2 * (mass - 2 + 1 / mass) / ((numbers + 2) ** 2 + mass)))
        self.begin(np.zeros(numbers), 0.0)

    def begin(self, mean_T: Exact, spread: float) -> None:
        """Begin around these numbers, each with a deviation of `spread` times its size."""
        self._mean_T, self._scale_T = mean_T.copy(), spread * np.abs(mean_T) + LEAST_SPREAD
        self._matrix_TT, self._path_T = np.eye(self._numbers), np.zeros(self._numbers)
        self._length = np.ones(1)
        self.best_T, self.least = mean_T.copy(), np.full(1, np.inf)

    def ask(self, generator: np.random.Generator) -> Exact:
        """Draw the networks of the next generation (TN)."""
        self._drawn_TN = generator.standard_normal((self._numbers, self._networks))
        moved = np.einsum("ij,jn->in", self._matrix_TT, self._drawn_TN)
        self._steps_TN: Exact = self._length * self._scale_T[:, None] * moved
        found: Exact = self._mean_T[:, None] + self._steps_TN
        return found

    def tell(self, values_N: Exact) -> None:
        """Take the values of those networks, the less the better, and move the distribution."""
        order = np.argsort(values_N, kind="stable")[: len(self._weights_N)]
        self.best_T = self._mean_T + self._steps_TN[:, order[0]]
        self.least = values_N[order[:1]].astype(np.float64)
        drawn_TN, weights_N, identity = self._drawn_TN[:, order], self._weights_N, np.eye(self._numbers)
        self._mean_T = self._mean_T + np.einsum("tn,n->t", self._steps_TN[:, order], weights_N)
        fading, (rank_one, rank_many) = self._fading, self._learning
        push = math.sqrt(self._mass * fading * (2 - fading))
        self._path_T = (1 - fading) * self._path_T + push * np.einsum("tn,n->t", drawn_TN, weights_N)
        one = np.einsum("i,j->ij", self._path_T, self._path_T) - identity
        many = np.einsum("in,jn,n->ij", drawn_TN, drawn_TN, weights_N) - identity
        change = identity + rank_one / 2 * one + rank_many / 2 * many
        self._matrix_TT = np.einsum("ij,jk->ik", self._matrix_TT, change)
        typical = math.sqrt(self._numbers) * (1 - 1 / (4 * self._numbers) + 1 / (21 * self._numbers**2))
        growth = fading / self._damping * (math.sqrt((self._path_T**2).sum()) / typical - 1)
        self._length = self._length * math.exp(min(growth, MOST_GROWTH))

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what the next generation depends on, except its generator."""
        return {
            "mean": self._mean_T, "scale": self._scale_T, "matrix": self._matrix_TT, "path": self._path_T,
            "length": self._length, "best": self.best_T, "least": self.least,
        }  # fmt: skip

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a state."""
        self._mean_T, self._scale_T, self._matrix_TT = (state[name] for name in ("mean", "scale", "matrix"))
        self._path_T, self._length = state["path"], state["length"]
        self.best_T, self.least = state["best"], state["least"]
