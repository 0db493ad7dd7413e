"""Rigorous upper bounds in float64: what lemmas compute with.

A bound is made of sums, products, quotients and roots of numbers that are not negative. Each operation errs by a
relative 2^-53, so SLACK covers millions of them in a row. Only where signs differ can more be lost; the functions here
add a bound of that loss.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from alga.proof.arithmetic import FLOAT64

Array = NDArray[np.float64]
Ids = NDArray[np.int64]

SLACK: Final = 1 + 1e-9
POWERS: Final = 3  # how often a Gram matrix is squared
LOST: Final = 4 * FLOAT64.unit  # relative to the magnitudes, for each term of a sum of either sign


def gamma(terms: int, unit: Array) -> Array:
    """Return the relative error of a sum of so many terms, in any order."""
    share = terms * unit
    if bool((share > 0.01).any()):
        raise ValueError(f"sums of {terms} terms are too long for a bound")
    return share / (1 - share) * SLACK


def lengths(vectors: Array) -> Array:
    """Return upper bounds of the lengths of the vectors along the last axis."""
    found: Array = np.sqrt(np.einsum("...d,...d->...", vectors, vectors)) * SLACK
    return found


def applied(vectors: Array, matrix: Array) -> tuple[Array, Array]:
    """Return vectors times a matrix, and by how much each product's length may be off."""
    return vectors @ matrix, len(matrix) * LOST * lengths(vectors) * lengths(matrix.ravel())


def norms(matrices: Array, powers: int = POWERS) -> Array:
    """Return upper bounds of the spectral norms of matrices.

    The largest eigenvalue of a Gram matrix G is at most the Frobenius norm of G^p, to the power of 1/p. Rounding moves
    that by less than SLACK says, as long as the side is below some thousand.

    >>> float(norms(np.array([[3.0, 0.0], [0.0, 4.0]])).round(3))
    4.0
    """
    side = min(matrices.shape[-2:])
    size: Array = np.sqrt(np.einsum("...ij,...ij->...", matrices, matrices)) + 1e-300
    if side > 2048:
        return size * SLACK
    scaled = matrices / size[..., None, None]
    turned = scaled.swapaxes(-1, -2)
    power = scaled @ turned if matrices.shape[-2] == side else turned @ scaled
    log = np.zeros_like(size)  # of the factor that was taken out of the power, per power
    for step in range(powers):
        power = power @ power
        factor = np.sqrt(np.einsum("...ij,...ij->...", power, power)) + 1e-300
        power, log = power / factor[..., None, None], log + np.log(factor) / 2 ** (step + 1)
    return size * np.exp(log / 2) * SLACK
