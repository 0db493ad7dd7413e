"""Each bound of the proof on its own: samples stay inside it, but not inside a thousandth of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from alga import runs
from alga.runs import config
from alga.trust.proof import bounds, lemmas
from alga.trust.proof.bounds import FLOAT32, FLOAT64, MAX_GRAM_SIZE, REAL, SLACK, NumberFormat, norms
from alga.trust.proof.lemmas import Ball
from alga.trust.proof.parameters import Affine
from alga.trust.proof.rounding import Rounding, SoftmaxRounding
from tests.sloppy import Array, Sloppy
from tests.trust.sampled_errors import DTYPES

RNG = np.random.default_rng
SIX = SoftmaxRounding(8 * 7, np.array(6))


def ball(mid: Array, radius: float = 0.0) -> Ball:
    return Ball(mid, np.ones(mid.shape[-1]), np.full((1, *mid.shape[:2]), radius))


def nearby(rng: np.random.Generator, mid: Array, radius: float) -> Array:
    """Return vectors on the sphere around each midpoint."""
    step = rng.normal(size=mid.shape)
    return mid + radius * step / np.linalg.norm(step, axis=-1, keepdims=True)


def embedding_case() -> float:
    rows, places = (RNG(0).normal(size=(50, 4, 64)).astype(np.float32) for _ in range(2))
    places = places[0] * np.float32(0.3)
    found = lemmas.embedding(rows.astype(float), places.astype(float), Rounding((FLOAT32,)))
    return float((np.linalg.norm((rows + places) - found.mid_BLD, axis=-1) / found.radius_ABL[0]).max())


def linear_case() -> float:
    rng = RNG(1)
    x, matrix = rng.normal(size=(20, 4, 64)).astype(np.float32), rng.normal(size=(9, 64)).astype(np.float32)
    mid, own, _ = lemmas.linear(ball(x.astype(float)), Affine(matrix.astype(float), np.zeros(9)), Rounding((FLOAT32,)))
    terms = x[..., None, :] * matrix
    return float((np.abs(np.add.accumulate(terms, axis=-1)[..., -1] - mid) / own[0]).max())


def moments_case() -> float:
    """Numbers far from zero, where variance by sums of squares loses most."""
    rng = RNG(2)
    x = (30 + rng.normal(size=(40, 2, 64))).astype(np.float32)
    one = Affine(np.ones(64), np.zeros(64))
    found = lemmas.norm(ball(x.astype(float)), one, Rounding((FLOAT32,)))
    _, _, off = lemmas.linear(found, Affine(np.eye(64), np.zeros(64)), Rounding((REAL,)))
    shape = runs.load("parity").config.model
    sloppy = Sloppy(shape, {}, np.float32, rng)
    return max(float((np.abs(sloppy.norm(x, "", True) - found.mid_BLD) / off[0]).max()) for _ in range(12))


def attention_maps(rng: np.random.Generator, sharp: float) -> tuple[tuple[Affine, Affine, Affine], Affine]:
    q, k, v, out = (Affine(rng.normal(size=(4, 4)), rng.normal(size=4)) for _ in range(4))
    return (Affine(sharp * q.matrix, q.bias), k, v), Affine(out.matrix, out.bias)


def attention_case(arithmetic: NumberFormat, radius: float, sharp: float) -> float:
    rng = RNG(3)
    maps, out = attention_maps(rng, sharp)
    y = rng.normal(size=(30, 3, 4)).astype(np.float32).astype(float)
    x = np.zeros_like(y)
    hidden = np.zeros((3, 3), dtype=bool)
    found = lemmas.attention(ball(x), ball(y, radius), maps, out, hidden, 1, Rounding((arithmetic,)))
    dtype = DTYPES.get(arithmetic, np.float64)

    def exactly(y: Array) -> Array:
        q, k, v = ((y.astype(dtype) @ m.matrix.T.astype(dtype)) + m.bias.astype(dtype) for m in maps)
        scores = (q @ k.swapaxes(1, 2)) / dtype(2)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = weights / weights.sum(axis=-1, keepdims=True)
        return np.asarray((weights @ v) @ out.matrix.T.astype(dtype) + out.bias.astype(dtype), float)

    moved = (np.linalg.norm(exactly(nearby(rng, y, radius)) - found.mid_BLD, axis=-1) for _ in range(200))
    return max(float((distance / found.radius_ABL[0]).max()) for distance in moved)


def softmax_case() -> float:
    """Values far larger than their inputs, so that only the weights' rounding matters."""
    rng = RNG(4)
    gap = np.abs(rng.normal(size=(1, 500, 1, 6)))
    gap[..., 0] = 0
    exact = np.exp(-gap) / np.exp(-gap).sum(axis=-1, keepdims=True)
    grown = np.exp(-gap.astype(np.float32).astype(float)).astype(np.float32)
    found = grown / np.add.accumulate(grown, axis=-1)[..., -1:]
    return float((np.abs(found - exact) / exact / lemmas.weight_errors(gap, exact, SIX, Rounding((FLOAT32,)))).max())


def feed_forward_case(arithmetic: NumberFormat, radius: float, width: int, shift: float = 0.0) -> float:
    rng = RNG(5)
    hidden = Affine(rng.normal(size=(3 * width, width)), rng.normal(size=3 * width))
    out = Affine(rng.normal(size=(width, 3 * width)), np.zeros(width))
    if width == 1:  # one unit at GELU's minimum
        hidden, out = Affine(np.ones((1, 1)), np.zeros(1)), Affine(np.ones((1, 1)), np.zeros(1))
    y = shift + 0 * rng.normal(size=(30, 2, width)) if width == 1 else rng.normal(size=(30, 2, width))
    x = np.zeros_like(y)
    found = lemmas.feed_forward(ball(x), ball(y, radius), hidden, out, Rounding((arithmetic,)))

    def exactly(y: Array) -> Array:
        h = y @ hidden.matrix.T + hidden.bias
        erf = torch.erf(torch.from_numpy(h * math.sqrt(0.5))).numpy()
        return np.asarray((h * (1 + erf) / 2) @ out.matrix.T, float)

    moved = (np.linalg.norm(exactly(nearby(rng, y, radius)) - found.mid_BLD, axis=-1) for _ in range(200))
    return max(float((distance / found.radius_ABL[0]).max()) for distance in moved)


def gelu_case() -> float:
    h = RNG(6).normal(size=(1, 1, 1, 4000)).astype(np.float32) * 3
    erf = torch.erf(torch.from_numpy(h * np.float32(math.sqrt(0.5)))).numpy()
    exact = h * (1 + torch.erf(torch.from_numpy(h.astype(float) * math.sqrt(0.5))).numpy()) / 2
    found = np.float32(0.5) * h * (1 + erf)
    return float((np.abs(found - exact) / lemmas.gelu_error(np.abs(h.astype(float)), Rounding((FLOAT32,)))).max())


def slope_case() -> float:
    rng = RNG(7)
    x = rng.normal(size=(60, 2, 4))
    found = lemmas.norm(ball(x, 0.1), Affine(np.ones(4), np.zeros(4)), Rounding((REAL,)))
    moved = nearby(rng, x, 0.1)
    moved = moved - moved.mean(axis=-1, keepdims=True)
    normed = moved / np.sqrt((moved**2).mean(axis=-1, keepdims=True) + 1e-5)
    return float((np.linalg.norm(normed - found.mid_BLD, axis=-1) / found.radius_ABL[0]).max())


def head_case() -> float:
    rng = RNG(8)
    y, head = rng.normal(size=(50, 1, 4)), rng.normal(size=(5, 4))
    right = rng.integers(5, size=(50, 1))
    mid, off = lemmas.margins(ball(y, 0.1), head, right, Rounding((REAL,)))
    logits = nearby(rng, y, 0.1) @ head.T
    found = np.take_along_axis(logits, right[..., None], -1) - logits
    return float((np.abs(found - mid) / off[0]).max())


def scaled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose bounds are a thousand times too small."""

    def smaller(*arguments: object) -> object:
        found = function(*arguments)
        return tuple(part * 1e-3 for part in found) if isinstance(found, tuple) else found * 1e-3

    return smaller


CASES: dict[str, Callable[[], float]] = {
    "embedding_error": embedding_case,
    "sum_error": linear_case,
    "moment_errors": moments_case,
    "weight_errors": softmax_case,
    "gelu_error": gelu_case,
    "norm_slope": slope_case,
    "score_slopes": lambda: attention_case(REAL, 0.01, 5.0),
    "weight_changes": lambda: attention_case(REAL, 0.01, 5.0),
    "gelu_bend": lambda: feed_forward_case(REAL, 0.4, 1),
    "sandwich_norms": lambda: feed_forward_case(REAL, 0.01, 4),
    "norms": lambda: attention_case(REAL, 0.01, 0.1),
    "lengths": head_case,
}


@pytest.mark.parametrize("bound", CASES)
def test_samples_stay_inside_each_bound(bound: str) -> None:
    assert 0 < CASES[bound]() <= 1


@pytest.mark.parametrize("bound", CASES)
def test_bound_that_is_too_small_is_detected(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lemmas, bound, scaled(getattr(lemmas, bound)))
    assert CASES[bound]() > 1


def test_attention_in_float32_stays_inside_its_bound() -> None:
    assert 0 < attention_case(FLOAT32, 0.0, 1.0) <= 1
    assert 0 < feed_forward_case(REAL, 0.3, 4) <= 1


@pytest.mark.parametrize("width", [64, 33, 35, 66, 130, 1024])
@pytest.mark.parametrize("shift", [0.0, 30.0])
def test_torch_norm_stays_inside_the_bound_at_other_widths(width: int, shift: float) -> None:
    x = (RNG(10).normal(size=(40, 3, width)) + shift).astype(np.float32)
    found = lemmas.norm(ball(x.astype(float)), Affine(np.ones(width), np.zeros(width)), Rounding((FLOAT32,)))
    _, _, off = lemmas.linear(found, Affine(np.eye(width), np.zeros(width)), Rounding((REAL,)))
    normed = torch.nn.functional.layer_norm(torch.from_numpy(x), (width,)).numpy()
    assert 0 < float((np.abs(normed - found.mid_BLD) / off[0]).max()) < 1


@pytest.mark.parametrize(("side", "longer"), [(2, 3), (16, 16), (64, 256), (160, 200)])
@pytest.mark.parametrize("powers", [3, 6])
def test_gram_powers_lose_no_more_than_the_slack(side: int, longer: int, powers: int) -> None:
    """One large singular value, the others equal: the worst case for the powers' own rounding."""
    rng = RNG(11)
    left, right = (np.linalg.qr(rng.normal(size=(size, side)))[0] for size in (side, longer))
    for second in (0.0, 0.5, 0.99):
        matrix = (left * np.array([1.0, *[second] * (side - 1)])) @ right.T
        power = matrix.astype(np.longdouble) @ matrix.T.astype(np.longdouble)
        for _ in range(powers):
            power = power @ power
        exact = np.sqrt((power**2).sum()) ** (np.longdouble(0.5) / 2**powers)
        lost = abs(float(norms(matrix, powers) / SLACK / exact - 1))
        assert lost < max(8, side * (side + longer)) * FLOAT64.unit < SLACK - 1


def test_slack_covers_the_largest_gram_powers() -> None:
    assert MAX_GRAM_SIZE * FLOAT64.unit < SLACK - 1
    for name in runs.shipped():
        shape = config.load(runs.SHIPPED / name).model
        side, longer = sorted((shape.width, max(shape.hidden, shape.vocabulary)))
        assert side * (side + longer) < MAX_GRAM_SIZE / 400
    ones = np.ones((2, 3, 5_000_000))  # too large for Gram powers: uses the Frobenius norm
    assert (norms(ones) > math.sqrt(15_000_000)).all()
    assert norms(ones) == pytest.approx(math.sqrt(15_000_000), rel=5e-9)


@pytest.mark.parametrize("most", [0, 10**9])
def test_norms_of_products_with_diagonals_are_those_of_the_products(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_PRODUCTS", most)
    monkeypatch.setattr(bounds, "NORMS_AT_ONCE", 4)
    rng = RNG(5)
    left, middles, right = rng.normal(size=(3, 6)), rng.normal(size=(5, 2, 6)), rng.normal(size=(6, 4))
    found = bounds.sandwich_norms(left, middles, right)
    assert found == pytest.approx(norms((left * middles[..., None, :]) @ right), rel=1e-13)
    assert found.shape == (5, 2)


def test_norms_are_tight_upper_bounds() -> None:
    matrices = RNG(9).normal(size=(50, 16, 24))
    exact = np.linalg.norm(matrices, 2, axis=(-2, -1))
    assert (norms(matrices) >= exact).all()
    assert (norms(matrices) <= 1.2 * exact).all()
    assert float(norms(np.zeros((3, 3)))) < 1e-100


@pytest.mark.parametrize("power", [-100, -140, -149, -155, -160, -200, -290, -305])
def test_norms_of_matrices_whose_squares_underflow_are_finite_bounds(power: int) -> None:
    matrix = np.array([[3.0, 0.0], [0.0, 4.0]]) * 10.0**power
    assert 4 * 10.0**power <= float(norms(matrix)) < max(1e-100, 4.1 * 10.0**power)
