"""The number formats that a proof covers, and rigorous upper bounds computed in float64, for the lemmas.

In a format each operation has a relative error of at most `unit`, or an absolute error of at most `least` on underflow.
A sum of n terms is then off by at most gamma(n) times the sum of their magnitudes, in any order, fused or not.

Bounds are sums, products, quotients and roots of non-negative numbers. Each operation has a relative error of 2^-53, so
SLACK covers millions of them. Only cancellation between terms of different sign loses more; `applied` bounds that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ids = NDArray[np.int64]


@dataclass(frozen=True)
class NumberFormat:
    """A floating-point format: its unit roundoff and least positive normal number."""

    name: str
    unit: float
    least: float


REAL: Final = NumberFormat("real", 0.0, 0.0)
FLOAT64: Final = NumberFormat("float64", 2.0**-53, 2.0**-1022)
FLOAT32: Final = NumberFormat("float32", 2.0**-24, 2.0**-126)
FORMATS: Final = (REAL, FLOAT64, FLOAT32)

MAX_MAGNITUDE: Final = 1e30  # bound on intermediate results, so that nothing overflows
SLACK: Final = 1 + 1e-9
MOST_ROUNDING: Final = 0.01  # relative, of a sum
POWERS: Final = 3  # times a Gram matrix is squared
MAX_GRAM_SIZE: Final = 9_000_000  # side * (side + longer side) up to which SLACK covers Gram powers
NORMS_AT_ONCE: Final = 64  # matrices: those of a network 64 wide stay in the cache
MOST_PRODUCTS: Final = 2**22  # of pairs of numbers, kept at once: 32 MB
TINY: Final = 1e-150  # squares of less are not normal numbers
NEGLIGIBLE: Final = 1e-130
LOST: Final = 4 * FLOAT64.unit  # relative to the magnitudes, for each term of a sum of either sign


def gamma(terms: int | Ids, unit: Array) -> Array:
    """Return the relative error of a sum of `terms` terms, in any order.

    Too many are a mistake if the network's shape says how many there are, and unbounded if its weights do.
    """
    share = terms * unit
    if isinstance(terms, int) and bool((share > MOST_ROUNDING).any()):
        raise ValueError(f"sums of {terms} terms are too long for a bound")
    found: Array = np.where(share > MOST_ROUNDING, np.inf, share / (1 - share) * SLACK)
    return found


def lengths(vectors: Array) -> Array:
    """Return upper bounds of vector lengths along the last axis."""
    return _roots(vectors) * SLACK


def _roots(vectors: Array) -> Array:
    """Return vector lengths along the last axis, as products of matrices: einsum takes up to three times as long."""
    found: Array = np.sqrt((vectors[..., None, :] @ vectors[..., :, None])[..., 0, 0])
    return found


def applied(vectors: Array, matrix: Array) -> tuple[Array, Array]:
    """Return vectors times a matrix, and a bound of the length of each product's rounding error."""
    return vectors @ matrix, len(matrix) * LOST * lengths(vectors) * lengths(matrix.ravel())


def norms(matrices: Array, powers: int = POWERS) -> Array:
    """Return upper bounds of the spectral norms of matrices.

    The largest eigenvalue of a Gram matrix G is at most the Frobenius norm of G^p, to the power of 1/p. Rounding moves
    the result by a share of at most s (s + l) 2^-53, where s is the shorter side and l the longer (docs/rounding.md):
    less than SLACK allows up to MAX_GRAM_SIZE. Larger matrices are bounded by their Frobenius norm.

    >>> float(norms(np.array([[3.0, 0.0], [0.0, 4.0]])).round(3))
    4.0
    """
    side, longer = sorted(matrices.shape[-2:])
    # Squares of less than TINY underflow. Such a matrix is divided by too much, and its norm is below NEGLIGIBLE.
    size = _roots(matrices.reshape(*matrices.shape[:-2], -1)) + TINY
    if side * (side + longer) > MAX_GRAM_SIZE:
        whole: Array = size * (SLACK + side * longer * FLOAT64.unit)
        return whole
    scaled = matrices / size[..., None, None]
    turned = scaled.swapaxes(-1, -2)
    power = scaled @ turned if matrices.shape[-2] == side else turned @ scaled
    log = np.zeros_like(size)  # of the factors taken out of the powers
    for step in range(powers):
        power = power @ power
        factor = _roots(power.reshape(*power.shape[:-2], -1)) + TINY
        power /= factor[..., None, None]
        log += np.log(factor) / 2 ** (step + 1)
    return size * np.exp(log / 2) * SLACK + NEGLIGIBLE


def sandwich_norms(left: Array, middles: Array, right: Array) -> Array:
    """Return upper bounds of the norms of `left` times a diagonal times `right`, as far as these are not rounded.

    A diagonal lies along the last axis of `middles`. Products of single numbers of `left` and `right` are made once, so
    that each matrix is a row of one product of matrices.

    >>> float(sandwich_norms(np.array([[1.0, 2.0]]), np.array([3.0, 4.0]), np.array([[5.0], [6.0]])).round(3))
    63.0
    """
    (side, inner), longer = left.shape, right.shape[1]
    rows = middles.reshape(-1, inner)
    products = (
        (left.T[:, :, None] * right[:, None, :]).reshape(inner, -1) if left.size * longer <= MOST_PRODUCTS else None
    )
    found = np.empty(len(rows))
    for start in range(0, len(rows), NORMS_AT_ONCE):
        part = rows[start : start + NORMS_AT_ONCE]
        matrices = (left * part[:, None]) @ right if products is None else part @ products
        found[start : start + NORMS_AT_ONCE] = norms(matrices.reshape(-1, side, longer))
    return found.reshape(middles.shape[:-1])
