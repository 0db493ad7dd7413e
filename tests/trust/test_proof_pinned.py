"""Every bound of the proof on a small case, pinned: sampling cannot tell a bound that is a little too small.

The numbers are what the code computed when this was written: they detect a change, they do not show that a bound is
right. If you change one, say in docs/rounding.md why the new bound holds.
"""

from __future__ import annotations

import numpy as np
import pytest

from alga.trust.assumptions import EXP_UNITS, GAP_UNITS
from alga.trust.proof import bounds, lemmas, rounding
from alga.trust.proof.bounds import FLOAT32, FLOAT64, FORMATS, MAX_MAGNITUDE, REAL
from alga.trust.proof.lemmas import Ball
from alga.trust.proof.parameters import Affine
from alga.trust.proof.rounding import Rounding, SoftmaxRounding
from tests.sloppy import Array

ROUNDING = Rounding(FORMATS)
U = 2.0**-24 + 2.0**-53  # the unit of float32 and of the midpoint together
TINY = 2.0**-126 + 2.0**-1022
TWO = SoftmaxRounding(EXP_UNITS * 3, np.array(2))


def wave(*shape: int, phase: float = 0.0, size: float = 1.0) -> Array:
    """Return random-looking numbers of both signs that are the same on every machine."""
    return size * np.sin(1.7 * np.arange(1, np.prod(shape) + 1) ** 1.1 + phase).reshape(shape)


def near(expected: object, rel: float) -> object:
    """Match a number up to a relative error, however small the number."""
    return pytest.approx(expected, rel=rel, abs=0)


def weighted(values: Array) -> list[float]:
    """Return one number per format, with a different weight for every entry."""
    flat = values.reshape(len(values), -1)
    return [float(value) for value in flat @ (1 + np.arange(flat.shape[1]) / 7)]


def ball(phase: float, radius: float, *, width: int = 4, drifts: bool = True) -> Ball:
    radii = radius * (1 + np.arange(3 * 2 * 3).reshape(3, 2, 3) / 10)
    moves = ((wave(2, 3, width, phase=phase + 1), radii / 3), (wave(2, 3, width, phase=phase + 2), radii / 5))
    return Ball(wave(2, 3, width, phase=phase), np.linspace(0.5, 2, width), radii, moves if drifts else ())


def affine(outputs: int, inputs: int, phase: float, size: float = 1.0) -> Affine:
    return Affine(wave(outputs, inputs, phase=phase, size=size), wave(outputs, phase=phase + 0.5))


def test_formats_match_numpy() -> None:
    for known, dtype in ((FLOAT32, np.float32), (FLOAT64, np.float64)):
        info = np.finfo(dtype)
        assert (known.name, known.unit, known.least) == (info.dtype.name, info.eps / 2, info.smallest_normal)
    assert (REAL.name, REAL.unit, REAL.least) == ("real", 0, 0)
    assert FORMATS == (REAL, FLOAT64, FLOAT32)
    assert MAX_MAGNITUDE**1.2 < float(np.finfo(np.float32).max) < MAX_MAGNITUDE**1.3


def test_units_include_the_midpoints_rounding() -> None:
    assert ROUNDING.unit.shape == ROUNDING.least.shape == (3, 1, 1)
    assert ROUNDING.unit.ravel().tolist() == [2.0**-53, 2.0**-52, U]
    assert ROUNDING.least.ravel().tolist() == [2.0**-1022, 2.0**-1021, TINY]


def test_gamma_matches_the_textbook_and_refuses_long_sums() -> None:
    assert bounds.gamma(100, np.array([1e-4]))[0] == near(0.01 / 0.99 * bounds.SLACK, rel=1e-14)
    with pytest.raises(ValueError, match="sums of 101 terms are too long"):
        bounds.gamma(101, np.array([1e-9, 1e-4]))


def test_norms_and_products_are_rounded_up() -> None:
    assert bounds.lengths(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist() == [5 * (1 + 1e-9), 0]
    found, lost = bounds.applied(np.array([[3.0, 4.0]]), np.array([[2.0, 0.0, 1.0], [0.0, 2.0, 0.0]]))
    assert found.tolist() == [[6, 8, 3]]
    assert lost[0] == near(2 * 2.0**-51 * 5 * 3, rel=1e-8)


def test_norms_by_powers_are_pinned() -> None:
    matrix = np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 1.0]])
    gram = np.array([[5.0, 6.0], [6.0, 10.0]])
    for powers in (1, 2, 3):
        whole = np.linalg.norm(np.linalg.matrix_power(gram, 2**powers)) ** (0.5 / 2**powers)
        assert float(bounds.norms(matrix, powers)) == near(whole * (1 + 1e-9), rel=1e-13)
        assert float(bounds.norms(matrix.T, powers)) == near(whole * (1 + 1e-9), rel=1e-13)
    assert float(bounds.norms(matrix)) == float(bounds.norms(matrix, 3))
    assert float(bounds.norms(np.zeros((2, 3)))) == 1e-130


def test_too_large_matrix_uses_its_frobenius_norm(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.array([[3.0, 0.0, 0.0], [0.0, 4.0, 0.0]])
    monkeypatch.setattr(bounds, "MAX_GRAM_SIZE", 10)  # 2 * (2 + 3)
    assert float(bounds.norms(matrix)) == near(4, rel=1e-2)
    monkeypatch.setattr(bounds, "MAX_GRAM_SIZE", 9)
    assert float(bounds.norms(matrix)) == near(5 * (1 + 1e-9 + 6 * 2.0**-53), rel=1e-15)


def test_bounds_of_single_operations_match_the_docs() -> None:
    one = Rounding((FLOAT32,))
    three_four = np.array([[[3.0, 4.0]], [[0.0, 0.0]]])
    assert rounding.embedding_error(three_four, one)[0, 0, 0] == near(5 * U, rel=1e-8)
    assert rounding.embedding_error(three_four, one)[0, 1, 0] == near(2 * TINY, rel=1e-12)
    sums = rounding.sum_error(10, np.array([[[[2.0, 0.0, 1e30, 9e29]]]]), one)[0, 0, 0]
    assert sums[0] == near(2 * 10 * U / (1 - 10 * U), rel=1e-8)
    assert sums[1] == near(40 * TINY, rel=1e-12)
    assert (sums[2], sums[3] < 1e25) == (np.inf, True)
    gelu = rounding.gelu_error(np.array([[[[3.0, 0.0]]]]), one)[0, 0, 0]
    assert gelu[0] == near((rounding.ERF_UNITS / 2 + 5) * U * 3, rel=1e-12)
    assert gelu[1] == near(8 * TINY, rel=1e-12)
    assert rounding.norm_slope(np.array([4.0]))[0] == near(0.25 * (1 + 1e-9), rel=1e-14)
    assert rounding.gelu_bend(np.array([3.0]))[0] == near(3.6, rel=1e-14)
    assert rounding.EPSILON == 1e-5


def test_weight_changes_exclude_their_linear_part() -> None:
    found = rounding.weight_changes(np.array([0.5, 0.5, 1e-3]), np.array([0.2, 0.9, 0.0]))
    assert found[0] == near(np.expm1(0.5) - 0.2, rel=1e-9)
    assert found[1] == near(0.5e-15, rel=1e-9)
    assert found[2] == near(np.expm1(1e-3), rel=1e-11)


def test_attention_weight_errors_are_pinned_up_to_one_percent() -> None:
    one, weights = Rounding((FLOAT32,)), np.array([[[[0.25, 0.75]]]])
    gap = np.array([[[[0.0, 2.0]]]])
    own = (1 + GAP_UNITS) * U * gap[0, 0, 0] + EXP_UNITS * 3 * U + 12 * U / (1 - 12 * U)
    expected = 1.03 * (own + (weights[0, 0, 0] * own).sum())
    assert rounding.weight_errors(gap, weights, TWO, one)[0, 0, 0] == near(expected, rel=1e-8)
    far = rounding.weight_errors(np.array([[[[0.0, 20_000.0]]]]), np.array([[[[1.0, 0.0]]]]), TWO, one)[0, 0, 0]
    assert far[1] == near(1.03 * 4 * 20_000 * U, rel=1e-2)
    assert rounding.weight_errors(np.array([[[[0.0, 42_500.0]]]]), weights * 0, TWO, one)[0, 0, 0, 1] == np.inf


@pytest.mark.parametrize("n", [1, 4, 64])
def test_errors_of_moments_follow_the_docs(n: int) -> None:
    one = Rounding((FLOAT32,))
    mean, spread, root = 3.0, 2.0, 1.5
    share = max(n + 1, 0.67 * (n + 2) + 3.7 * n**0.5)
    off_mean = 1.1 * U * ((n + 1) * mean + share * spread) + 4 * n * TINY
    squares = (n + 8) * U / (1 - (n + 8) * U) * (mean**2 + spread**2) + 2 * mean * off_mean + off_mean**2
    part = np.log2(max(n, 2)) ** 0.5 / 2 * 1.1 * (2 * off_mean + 2 * U * n**0.5 * spread)
    merged = 2 * spread * part + part**2 + (n + 10) * U / (1 - (n + 10) * U) * (spread + part) ** 2
    off = max(squares, merged) / root**2
    found = rounding.moment_errors(n, *(np.full((1, 1, 1), value) for value in (mean, spread, root)), one)
    assert found[0].item() == near(off_mean, rel=1e-8)
    assert found[1].item() == near(off / 2 * (1 + 1.5 * off) + 8 * U, rel=1e-8)


def test_moments_with_unbounded_error_have_no_bound() -> None:
    one = Rounding((FLOAT32,))

    def relative(mean: float, root: float) -> float:
        return rounding.moment_errors(4, *(np.full((1, 1, 1), value) for value in (mean, 1.0, root)), one)[1].item()

    assert relative(1e3, 2.0) < 1
    assert relative(1e3, 0.2) == np.inf  # the error exceeds half of the variance
    assert relative(1e16, 1e16) == np.inf  # the squares may overflow


PINNED = {
    "embedding": [
        1.54961723556e-15, 3.09923447113e-15, 8.31944420057e-07,
    ],
    "after": [
        0.641428571429, 0.932857142857, 1.22428571429, 0.21380952381, 0.310952380952, 0.408095238095,
        -0.0786334721133, 0.757085367633,
    ],
    "norm": [
        0.164270458156, 0.241469350454, 0.319425126632, 3.78025031678e-14, 7.67983171239e-14,
        2.09420662561e-05, 1.32669179719e-14, 2.68118584887e-14, 7.27261455339e-06, 1.0, 0.5, 2.0, 0.25,
        1.14652291543, 2.11529415876, 36.0949420499, 37.0637132932,
    ],
    "norm of points": [
        3.84111212904e-14, 7.68222425807e-14, 2.06218404437e-05, 3.65507265238e-14, 7.31014530476e-14,
        1.96231357174e-05, 1.29708442604e-14, 2.59416885208e-14, 6.96368578749e-06, 1.0, 0.5, 2.0, 0.25,
        1.14652291543, 2.11529415876, 36.0949420499, 37.0637132932,
    ],
    "norm of a wide ball": [
        9893.41159399, 14528.407269, np.inf, 2.21749120295e-08, 8.13591672189e-08, np.inf, 1.26011621439e-11,
        3.44968108365e-11, np.inf, 1.0, 0.5, 2.0, 0.25, 1.14652291543, 2.11529415876, 36.0949420499,
        37.0637132932,
    ],
    "linear": [
        -6.74825887336, -8.25061369521, 0.813516490761, 1.19073236142, 1.56801848564, 2.85769426183,
        4.16529592318, 5.47296783809,
    ],
    "linear of points": [
        -6.74825887336, -8.25061369521, 1.26852197099e-13, 2.53704394198e-13, 6.81032792283e-05,
        1.26852197226e-13, 2.53704394452e-13, 6.81032792964e-05,
    ],
    "attention": [
        -4.70729603097, -4.4158829438, 0.321086490589, 0.476389354511, 0.633534184687, 0.5, 1.0, 1.5, 2.0,
    ],
    "attention of points": [
        -4.70729603097, -4.4158829438, 7.28505310699e-13, 1.4570106214e-12, 0.000391117770954, 0.5, 1.0, 1.5, 2.0,
    ],
    "sharp attention": [
        -9.17632889677, -7.06817847081, 52.4495938389, 120.15836974, 253.278352617, 0.5, 1.0, 1.5, 2.0,
    ],
    "feed-forward": [
        9.11086522778, 3.33354579062, 1.90038161543, 2.80292239875, 3.71549690133,
    ],
    "feed-forward of points": [
        9.11086522778, 3.33354579062, 2.22144675295e-13, 4.44289350591e-13, 0.000119263180758,
    ],
    "feed-forward of a wide ball": [
        9.11086522778, 3.33354579062, 416.670753736, 765.042381869, 1212.45503207,
    ],
    "margins": [
        -60.4033871393, 45.1671333048, 4.17049086915, 6.07089020429, 7.97140932958,
    ],
    "margins of points": [
        -60.4033871393, 45.1671333048, 3.19291450801e-12, 3.40626757848e-12, 0.000114543101682,
    ],
}  # fmt: skip


def embedding_case() -> list[float]:
    found = lemmas.embedding(wave(2, 3, 4), wave(3, 4, phase=1), ROUNDING)
    assert np.array_equal(found.mid_BLD, wave(2, 3, 4) + wave(3, 4, phase=1))
    assert found.scale_D.tolist() == [1, 1, 1, 1]
    return weighted(found.radius_ABL)


def after_case() -> list[float]:
    x = ball(0, 0.1).after(1)
    return [*weighted(x.radius_ABL), *weighted(x.drifts[0][1]), float(x.mid_BLD.sum()), float(x.drifts[1][0].sum())]


def norm_case(radius: float) -> list[float]:
    found = lemmas.norm(ball(0, radius, drifts=False), Affine(np.array([1.0, -0.5, 2.0, 0.01]), wave(4)), ROUNDING)
    sizes = [*weighted(found.radius_ABL), *(number for _, times in found.drifts for number in weighted(times))]
    return [*sizes, *found.scale_D, *weighted(found.mid_BLD), *weighted(found.drifts[0][0] + 3 * found.drifts[1][0])]


def linear_case(radius: float) -> list[float]:
    mid, own, off = lemmas.linear(ball(0, radius), affine(5, 4, 1), ROUNDING)
    return [*weighted(mid), *weighted(own), *weighted(off)]


def attention_case(radius: float, size: float) -> list[float]:
    maps, hidden = tuple(affine(4, 4, phase, size) for phase in (1, 2, 3)), np.array([[0, 0, 1], [0, 0, 0]], dtype=bool)
    x, y = ball(5, 10 * radius, drifts=False), ball(0, radius)
    found = lemmas.attention(x, y, maps, affine(4, 4, 4), hidden, 2, ROUNDING)  # type: ignore[arg-type]
    return [*weighted(found.mid_BLD), *weighted(found.radius_ABL), *found.scale_D]


def feed_forward_case(radius: float) -> list[float]:
    x, y = ball(5, 10 * radius, drifts=False), ball(0, radius)
    found = lemmas.feed_forward(x, y, affine(6, 4, 1), affine(4, 6, 2), ROUNDING)
    return [*weighted(found.mid_BLD), *weighted(found.radius_ABL)]


def margins_case(radius: float) -> list[float]:
    right = np.array([[0, 1, 2], [4, 3, 0]])
    mid, off = lemmas.margins(ball(0, radius), wave(5, 4, phase=3), right, ROUNDING)
    return [*weighted(mid), *weighted(off)]


CASES = {
    "embedding": embedding_case,
    "after": after_case,
    "norm": lambda: norm_case(0.01),
    "norm of points": lambda: norm_case(0.0),
    "norm of a wide ball": lambda: norm_case(3.0),
    "linear": lambda: linear_case(0.01),
    "linear of points": lambda: linear_case(0.0),
    "attention": lambda: attention_case(0.001, 1.0),
    "attention of points": lambda: attention_case(0.0, 1.0),
    "sharp attention": lambda: attention_case(0.01, 3.0),
    "feed-forward": lambda: feed_forward_case(0.01),
    "feed-forward of points": lambda: feed_forward_case(0.0),
    "feed-forward of a wide ball": lambda: feed_forward_case(1.0),
    "margins": lambda: margins_case(0.01),
    "margins of points": lambda: margins_case(0.0),
}


@pytest.mark.parametrize("name", CASES)
def test_bound_is_unchanged(name: str) -> None:
    assert CASES[name]() == near(PINNED[name], rel=1e-11)


def test_slope_of_gelu_is_below_its_bound() -> None:
    x = np.linspace(-6, 6, 100_001)
    slope = np.abs(np.gradient(x * (1 + lemmas.erf(x * 0.5**0.5)) / 2, x)).max()
    assert slope < lemmas.GELU_SLOPE < slope + 2e-3
