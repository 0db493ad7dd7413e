"""Weights made of fewer trained numbers: each entry of a matrix is a sum of trained numbers times fixed coefficients.

Some options of `ModelConfig` place several entries by one trained number: digits on a parabola, tokens that are zero,
positions that mirror each other, a diagonal map to values. The weight file still holds the whole matrices, so that
whatever reads weights needs nothing new; this file says which of their entries belong together. Two uses: training
moves the trained numbers alone (`training/shared_numbers.py`), and a weight file whose matrices are not of that form is
refused, because its configuration states how many numbers were trained.

The coefficients are constants that nobody trained. A digit d of the parabola is at (a d, b + c d²/10), stop at d = -1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from alga.network.config import ModelConfig

    Array = NDArray[np.float32]
    Exact = NDArray[np.float64]

SHARING: Final = ("parabola", "silent", "alike", "mirrored", "values")  # the options of `ModelConfig`
TOKENS: Final = "token_embedding.weight"
POSITIONS: Final = "position_embedding.weight"
PROJECTION: Final = "layers.0.attention.project_in.weight"
INTO: Final = "layers.0.feed_forward.0.weight"
BIAS: Final = "layers.0.feed_forward.0.bias"
OUT_OF: Final = "layers.0.feed_forward.2.weight"

X, Y = 0, 1  # the two coordinates
STOP: Final = 1  # the token that is the digit -1 on the parabola
FLATTER: Final = 10.0  # squares are divided by this, so that the three numbers of a parabola are alike in size
ROUNDING: Final = 2.0**-21  # of the largest entry: how far a stored matrix may be from its form

Entry = tuple[str, int, int]  # a tensor's name, row and column


@dataclass(frozen=True)
class Number:
    """A trained number: the entries it is part of, with its coefficient in each."""

    entries: Mapping[Entry, float]


@dataclass(frozen=True)
class Sharing:
    """The trained numbers of a network and the shapes of its tensors."""

    numbers: tuple[Number, ...]
    shapes: Mapping[str, tuple[int, ...]]

    def matrix(self) -> Exact:
        """Return the coefficients: a row for each entry of the tensors, one after another, a column for each number."""
        import numpy as np

        starts, size = {}, 0
        for name, shape in self.shapes.items():
            starts[name], size = size, size + math.prod(shape)
        found = np.zeros((size, len(self.numbers)))
        for place, number in enumerate(self.numbers):
            for (name, row, column), coefficient in number.entries.items():
                found[starts[name] + row * (*self.shapes[name], 1)[1] + column, place] = coefficient
        return found

    def weights(self, trained: Exact) -> dict[str, Array]:
        """Return the tensors of given trained numbers, computed in float64 and rounded once."""
        import numpy as np

        flat, found, at = (self.matrix() @ trained).astype(np.float32), dict[str, "Array"](), 0
        for name, shape in self.shapes.items():
            found[name] = flat[at : at + math.prod(shape)].reshape(shape)
            at += math.prod(shape)
        return found

    def trained(self, weights: Mapping[str, Array]) -> Exact:
        """Return the trained numbers that fit given tensors best."""
        import numpy as np

        flat = np.concatenate([np.asarray(weights[name], np.float64).ravel() for name in self.shapes])
        fitted: Exact = np.linalg.lstsq(self.matrix(), flat, rcond=None)[0]
        return fitted

    def stray(self, weights: Mapping[str, Array]) -> str:
        """Return the name of a tensor that is further from this form than rounding explains; empty if there is none."""
        import numpy as np

        for name, made in self.weights(self.trained(weights)).items():
            largest = float(np.abs(made).max(initial=0.0))
            if float(np.abs(made - weights[name]).max(initial=0.0)) > ROUNDING * largest:
                return name
        return ""


@lru_cache(maxsize=64)
def sharing(config: ModelConfig) -> Sharing:
    """Return how a network shares trained numbers (`config.shares`)."""
    assert config.shares
    numbers = [*_tokens(config), *_positions(config), *_projection(config)]
    numbers += [_one(INTO, row, side) for row in range(config.hidden) for side in (X, Y)]
    numbers += [_one(BIAS, row, 0) for row in range(config.hidden)]
    numbers += [_one(OUT_OF, side, unit) for side in (X, Y) for unit in range(config.hidden)]
    return Sharing(tuple(numbers), config.tensors())


def _one(name: str, row: int, column: int) -> Number:
    return Number({(name, row, column): 1.0})


def _tokens(config: ModelConfig) -> list[Number]:
    """Return the numbers of the tokens: three for stop and digits, two for tokens alike, two for each other token."""
    place = {STOP + 1 + d: float(d) for d in range(-1, config.parabola)} if config.parabola else {}
    alike, silent = config.ids("alike"), config.ids("silent")
    found = [
        Number({(TOKENS, token, X): d for token, d in place.items()}),
        Number({(TOKENS, token, Y): 1.0 for token in place}),
        Number({(TOKENS, token, Y): d * d / FLATTER for token, d in place.items()}),
    ]
    found = found if place else []
    if alike:
        found += [Number({(TOKENS, token, side): 1.0 for token in alike}) for side in (X, Y)]
    others = [token for token in range(config.vocabulary) if token not in {*place, *alike, *silent}]
    return found + [_one(TOKENS, token, side) for token in others for side in (X, Y)]


def _positions(config: ModelConfig) -> list[Number]:
    """Return the numbers of the rows: two each; if mirrored, row 0 is row 1 with its first coordinate negated."""
    found: list[Number] = []
    for row in range(1 if config.mirrored else 0, config.tensors()[POSITIONS][0]):
        mirror = config.mirrored and row == 1
        for side, sign in ((X, -1.0), (Y, 1.0)):
            found.append(Number({(POSITIONS, row, side): 1.0} | ({(POSITIONS, 0, side): sign} if mirror else {})))
    return found


def _projection(config: ModelConfig) -> list[Number]:
    """Return the numbers of queries and keys, two each, and of values: four, two or one."""
    first = config.tensors()[PROJECTION][0] - config.width  # the row at which values begin
    asked = [_one(PROJECTION, row, side) for row in range(first) for side in (X, Y)]
    at = {(a, b): (PROJECTION, first + a, b) for a in (X, Y) for b in (X, Y)}
    if config.values == "scalar":
        return [*asked, Number({at[X, X]: 1.0, at[Y, Y]: 1.0})]
    sides = [(X, X), (Y, Y)] if config.values == "diagonal" else [*at]
    return asked + [Number({at[side]: 1.0}) for side in sides]
