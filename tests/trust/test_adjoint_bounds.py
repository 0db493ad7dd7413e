"""Each bound of the second method alone: the worst that is admissible stays inside it, but not inside a tenth of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import torch

from alga.trust.assumptions import ERF_UNITS, EXP_UNITS, GAP_UNITS
from alga.trust.proof import adjoint_errors as errors
from alga.trust.proof.adjoint_attention import Attention, Stream
from alga.trust.proof.adjoint_errors import EPSILON, Moments, Units
from alga.trust.proof.adjoint_feed_forward import GELU_BEND, GELU_SLOPE, FeedForward
from alga.trust.proof.adjoint_norm import Norm
from alga.trust.proof.bounds import FLOAT32, REAL
from alga.trust.proof.parameters import Affine
from tests.sloppy import Array

RNG = np.random.default_rng
U = 2.0**-24
ONE = Units.of((FLOAT32,))
EXACT = Units.of((REAL,))


def up(value: Array) -> Array:
    """Return a result that is off by one unit."""
    return value * (1 + U)


# --- roundings, each elementary result one unit too large -----------------------------------------------------------


def sum_case() -> float:
    """A large term first, so that it passes through every rounding."""
    terms = np.array([1.0, *[1e-3] * 63])
    total = up(terms[0])
    for term in terms[1:]:
        total = up(total + up(term))
    bound = errors.sum_error(64, np.array([[terms.sum()]]), ONE)
    return float((total - terms.sum()) / bound.item())


def moments(x: Array) -> tuple[float, float]:
    n, mean = len(x), x.mean()
    spread = math.sqrt(((x - mean) ** 2).mean())
    known = Moments(
        size=np.array([np.abs(x).mean()]),
        apart=np.array([np.abs(x - mean).mean()]),
        spread=np.array([spread]),
        square=np.array([math.sqrt((x**2).mean())]),
        root=np.array([math.sqrt(spread**2 + EPSILON)]),
    )
    off_mean, off_root = errors.moment_errors(known, n, ONE)
    return off_mean.item(), off_root.item()


def mean_case() -> float:
    x = np.array([50.0, *RNG(0).uniform(size=63)])
    total = x[0]
    for number in x[1:]:
        total = up(total + number)
    return float((up(total / 64) - x.mean()) / moments(x)[0])


def inverse(mean: float, variance: float, x: Array) -> float:
    """Return the relative error of an inverse root, which itself errs by four units."""
    exact = 1 / math.sqrt(x.var() + EPSILON)
    sign = 1 if variance < x.var() else -1
    return abs((1 + sign * 4 * U) / math.sqrt(variance + EPSILON) / exact - 1)


def squares_case() -> float:
    """The variance from sums of squares, of numbers far from zero."""
    x = 4 + RNG(1).normal(size=64)
    total, squares = x[0], up(x[0] ** 2)
    for number in x[1:]:
        total, squares = total + number, up(squares + up(number**2))
    return inverse(total / 64, up(up(squares / 64) - (total / 64) ** 2), x) / moments(x)[1]


def welford_case() -> float:
    """Updates and merged lanes with units of random signs."""
    rng, worst = RNG(2), 0.0

    def off(value: float) -> float:
        return value * (1 + U * (-1) ** int(rng.integers(2)))

    for _ in range(200):
        x = rng.normal(size=64)
        parts = []
        for lane in np.split(x, int(rng.choice([1, 2, 8]))):
            mean, square = lane[0], 0.0
            for k, number in enumerate(lane[1:], start=2):
                step = off(number - mean)
                mean = off(mean + off(step * off(1 / k)))
                square = off(square + off(step * off(number - mean)))
            parts.append((len(lane), mean, square))
        size, mean, square = parts[0]
        for more, other, added in parts[1:]:
            step, share = off(other - mean), off(more / (size + more))
            mean = off(mean + off(share * step))
            square = off(square + off(added + off(off(off(step * step) * share) * size)))
            size += more
        off_mean, off_root = moments(x)
        worst = max(worst, abs(mean - x.mean()) / off_mean, inverse(mean, off(square / 64), x) / off_root)
    return worst


def scaling_case() -> float:
    x, mean, gain, shift = 3.0, -1.0, 2.0, 0.5
    found = up(up(up(up(x - mean) * 1.0) * gain) + shift)
    return float((found - ((x - mean) * gain + shift)) / errors.scaling_error(np.array([gain * 4 + shift]), ONE).item())


def softmax_case() -> float:
    """Errors of exp that raise every weight above and lower it below: numerator and denominator may differ."""
    gap = np.array([0.0, 1.0, 3.0])
    weights = np.exp(-gap) / np.exp(-gap).sum()
    grown = EXP_UNITS * 4 * U + (1 + GAP_UNITS) * U * gap
    found = weights * (1 + grown) / (weights * (1 - grown)).sum() * (1 + 5 * U)
    logs = errors.weight_logs(gap[:, None], 3, ONE)
    return float(((found - weights) / weights / errors.mix_shares(logs, weights[:, None], 3, ONE)[:, 0]).max())


def gelu_case() -> float:
    h = 2.0
    one = 1 + math.erf(h * math.sqrt(0.5))
    found = up(up(h * (one + ERF_UNITS * U)) * 0.5)
    return float((found - h * one / 2) / errors.gelu_error(np.array([h]), ONE).item())


# --- bends: the exact operation minus its linearisation ---------------------------------------------------------------


def boxed(x: Array, radius: float) -> Stream:
    box = np.full((*x.shape, 1), radius)
    return Stream(x, box, lambda rows, fine: np.abs(rows) @ box)


def bend_ratio(bend: Callable[[Array], Array], local: Callable[[Array], Array], like: Array, radius: float) -> float:
    """Return the largest ratio of a bend, along its own direction, to its bound; steps go to corners of the box."""
    rng, worst = RNG(7), 0.0
    for _ in range(300):
        found = bend(radius * rng.choice([-1.0, 1.0], size=like.shape))
        length = np.linalg.norm(found, axis=-1)
        rows = (found / length[..., None])[:, :, None]
        worst = max(worst, float((length / local(rows)[:, :, 0, 0]).max()))
    return worst


def normed(x: Array) -> Array:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON)


def norm_case() -> float:
    x, gain = RNG(3).normal(size=(20, 2, 4)), Affine(np.array([1.0, -2.0, 0.5, 1.0]), np.zeros(4))
    norm = Norm.of(x, boxed(x, 0.02).box_BLDA, gain, EXACT)
    slopes = norm.back(np.broadcast_to(np.eye(4), (20, 2, 4, 4)))

    def bend(step: Array) -> Array:
        return (normed(x + step) - normed(x)) * gain.matrix - (slopes @ step[..., None])[..., 0]

    return bend_ratio(bend, norm.own, x, 0.02)


def feed_forward_case() -> float:
    rng = RNG(4)
    x = 0.3 * rng.normal(size=(20, 2, 3))
    hidden, out = Affine(rng.normal(size=(5, 3)), rng.normal(size=5)), Affine(rng.normal(size=(3, 5)), np.zeros(3))
    stream = boxed(x, 0.05)
    assert stream.reach is not None
    part = FeedForward(x, stream.box_BLDA, stream.reach, Norm.none(x, stream.box_BLDA), hidden, out, EXACT)

    def exactly(x: Array) -> Array:
        h = torch.from_numpy(x @ hidden.matrix.T + hidden.bias)
        return np.asarray(x + torch.nn.functional.gelu(h).numpy() @ out.matrix.T)

    def bend(step: Array) -> Array:
        return exactly(x + step) - exactly(x) - (part.slope_BQDD @ step[..., None])[..., 0]

    def local(rows: Array) -> Array:
        assert stream.reach is not None
        return part.reach(rows, True) - stream.reach(rows @ part.slope_BQDD, True)

    return bend_ratio(bend, local, x, 0.05)


def attention_case() -> float:
    rng = RNG(5)
    x = rng.normal(size=(20, 3, 4))
    q, k, v, out = (Affine(rng.normal(size=(4, 4)), rng.normal(size=4)) for _ in range(4))
    hidden = np.array([[False, False, True], [False, False, False]])
    stream = boxed(x, 0.02)
    part = Attention(stream, Norm.none(x, stream.box_BLDA), (q, k, v), out, hidden, 2, 3, EXACT)

    def exactly(x: Array) -> Array:
        mapped = [(x @ m.matrix.T + m.bias).reshape(20, 3, 2, 2).swapaxes(1, 2) for m in (q, k, v)]
        scores = np.where(hidden, -np.inf, mapped[0][:, :, 1:] @ mapped[1].swapaxes(-1, -2) / math.sqrt(2))
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        return np.asarray(x[:, 1:] + (weights @ mapped[2]).swapaxes(1, 2).reshape(20, 2, 4) @ out.matrix.T + out.bias)

    def bend(step: Array) -> Array:
        linear = (part.slopes_BLQDD @ step[:, :, None, :, None])[..., 0].sum(axis=1)
        return exactly(x + step) - exactly(x) - linear

    def local(rows: Array) -> Array:
        assert stream.reach is not None
        back = rows[:, None] @ part.slopes_BLQDD
        return part.reach(rows, True) - stream.reach(back.reshape(20, 3, 2, 4), True).sum(axis=1).reshape(20, 2, 1, 1)

    return bend_ratio(bend, local, x, 0.02)


CASES = {
    "sum": sum_case,
    "mean": mean_case,
    "squares": squares_case,
    "scaling": scaling_case,
    "softmax": softmax_case,
    "gelu": gelu_case,
    "bend of a norm": norm_case,
    "bend of a feed-forward network": feed_forward_case,
    "bend of attention": attention_case,
}


@pytest.mark.parametrize("name", CASES)
def test_the_worst_stays_inside_but_not_inside_a_tenth(name: str) -> None:
    assert 0.1 < CASES[name]() <= 1


def test_updates_and_merging_stay_inside() -> None:
    assert 0 < welford_case() < 1


def test_gelu_constants_are_its_largest_slope_and_bend() -> None:
    x = np.linspace(-6, 6, 200_001)
    density = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    slope = np.array([(1 + math.erf(each * math.sqrt(0.5))) / 2 for each in x[::100]]) + (x * density)[::100]
    assert np.abs(slope).max() < GELU_SLOPE < np.abs(slope).max() + 2e-3
    assert np.abs(density * (2 - x**2)).max() / 2 < GELU_BEND < 0.4


def test_gelu_of_torch_is_within_budget() -> None:
    x = torch.linspace(-12, 12, 100_001)
    exact = x.double() / 2 * torch.erfc(-x.double() * math.sqrt(0.5))
    off = (torch.nn.functional.gelu(x).double() - exact).abs().numpy()
    assert (off <= errors.gelu_error(x.abs().double().numpy()[:, None], ONE)[:, 0]).all()


def test_errors_grow_with_roundings_and_end_in_none() -> None:
    found = [errors.chain(count, ONE).item() for count in (1, 2, 64, 10_000, 200_000)]
    assert all(a < b for a, b in pairwise(found))
    assert found[0] == pytest.approx(U, rel=1e-6)
    assert found[-1] == math.inf
    assert math.isinf(errors.sum_error(4, np.array([1e30]), ONE).item())
    assert math.isinf(errors.sum_error(2001, np.array([1.0]), EXACT).item())


def test_far_scores_have_no_bound() -> None:
    logs, weights = errors.weight_logs(np.array([[0.0], [2e7]]), 2, ONE), np.array([[1.0], [0.0]])
    assert np.isinf(errors.mix_shares(logs, weights, 2, ONE)[:, 0]).tolist() == [False, True]


def test_wide_box_around_a_norm_has_no_bound() -> None:
    x = RNG(6).normal(size=(1, 1, 4))
    gain = Affine(np.ones(4), np.zeros(4))
    rows = np.ones((1, 1, 1, 4))
    with np.errstate(invalid="ignore"):
        own = [Norm.of(x, np.full((1, 1, 4, 1), size), gain, ONE).own(rows).item() for size in (1e-6, 0.05, 1.0)]
    assert own[0] < own[1] < math.inf
    assert not math.isfinite(own[2])
