"""The second method: an adversary stays inside its bounds and comes near them; it proves what the first leaves open."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alga import runs
from alga.network.config import ModelConfig
from alga.network.tokens import STOP_ID
from alga.runs import Run
from alga.trust.proof import adjoint, adjoint_attention, adjoint_errors, adjoint_feed_forward, prove
from alga.trust.proof.adjoint_errors import Units
from alga.trust.proof.bounds import FLOAT32, FLOAT64, FORMATS, REAL
from alga.trust.proof.margins import bounded, laid_out, margins, tighter_margins
from alga.trust.proof.rounding import Rounding
from tests.sloppy import Array, Sloppy
from tests.trust.adversary import Adversary
from tests.trust.sampled_errors import DTYPES, ratio, weights_of

# One network of each shipped shape; the adversary costs them this share of the proven bound, at least.
SIZES = (
    "smallest-26",
    "smallest",
    "comparison",
    "parity",
    "xor-base-8",
    "subtraction",
    "division-by-a-digit",
    "addition",
    "arithmetic",
)
LARGE = ("addition", "arithmetic", "division-by-a-digit")  # seconds each
FLOOR = 1 / 8


def some_prompts(run: Run, count: int, seed: int = 0) -> list[str]:
    domain = list(run.config.task.domain)
    return [domain[i] for i in np.random.default_rng(seed).permutation(len(domain))[:count]]


def bounds(run: Run, prompts: list[str], units: Units) -> tuple[Array, Array, Array, Array]:
    ids, right = laid_out(run.config.task.domain, prompts, run.config.tokens)  # type: ignore[arg-type]
    with np.errstate(all="ignore"):
        mid, off = adjoint.bounded(run.config.model, weights_of(run), ids, right, units)  # type: ignore[arg-type]
    return ids, right, mid, off


def adversary_shares(name: str, count: int, units: Units | None = None, first: bool = False) -> Array:
    """Return which share of its bound the adversary takes from margins over the nearest token, at every output.

    The bound is the second method's, or the first's.
    """
    run = runs.load(name)
    ids, right, mid, off = bounds(run, some_prompts(run, count), units or Units.of((FLOAT32,)))
    if first:
        _, off = bounded(run.config.model, weights_of(run), ids, right, Rounding((FLOAT32,)))  # type: ignore[arg-type]
    adversary, rows = Adversary(run.config.model, weights_of(run)), np.arange(len(ids))  # type: ignore[arg-type]
    shares = []
    for at in range(right.shape[1]):
        margin = np.where(np.arange(mid.shape[-1]) == right[:, at, None], np.inf, mid[:, at])
        other = margin.argmin(axis=-1)
        exact, low = adversary.lowered(ids, right, np.full(len(ids), at), other)
        assert exact == pytest.approx(mid[rows, at, other], rel=1e-13, abs=1e-8)
        generated = (right[:, :at] != STOP_ID).all(axis=1)
        shares.append(((exact - low) / off[0, rows, at, other])[generated])
    return np.concatenate(shares)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LARGE else name for name in SIZES]
)
def test_adversary_stays_inside_the_bound_and_comes_near_it(name: str) -> None:
    shares = adversary_shares(name, 6)
    assert shares.min() > FLOOR
    assert shares.max() < 1


@pytest.mark.parametrize("name", ["smallest", "parity", "xor-base-8", "subtraction"])
def test_adversary_stays_far_inside_the_first_method(name: str) -> None:
    shares = adversary_shares(name, 6, first=True)
    assert shares.min() > 1 / 2000
    assert shares.max() < 1 / 5


def test_sizes_are_those_of_the_shipped_step_networks() -> None:
    shapes = {name: runs.config.load(runs.SHIPPED / name).model for name in runs.shipped()}

    def size(name: str) -> tuple[int, ...]:
        return shapes[name].width, shapes[name].layers, shapes[name].hidden

    assert {size(name) for name in SIZES} == {size(name) for name in shapes if isinstance(shapes[name], ModelConfig)}


@pytest.mark.parametrize("name", SIZES[:6])
def test_adversary_detects_units_of_a_tenth(name: str) -> None:
    tenth = Units.of((FLOAT32,))
    assert adversary_shares(name, 3, units=Units(tenth.unit / 10, tenth.least)).min() > 1


@pytest.mark.parametrize("name", ["subtraction", "division-by-a-digit"])  # wide enough for sums to matter most
def test_adversary_detects_sums_bounded_by_a_twentieth(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for part in (adjoint, adjoint_attention, adjoint_feed_forward):
        monkeypatch.setattr(part, "sum_error", lambda *given, **named: 0.05 * adjoint_errors.sum_error(*given, **named))
    assert adversary_shares(name, 3).max() > 1


# --- whole networks ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arithmetic", DTYPES)
@pytest.mark.parametrize("name", ["parity", "smallest", "xor-base-8"])
def test_shuffled_evaluations_stay_inside(name: str, arithmetic: Any) -> None:
    run = runs.load(name)
    ids, right, mid, off = bounds(run, some_prompts(run, 12), Units.of((arithmetic,)))
    sloppy = Sloppy(run.config.model, weights_of(run), DTYPES[arithmetic], np.random.default_rng(2))  # type: ignore[arg-type]
    generated = (np.cumsum(right == STOP_ID, axis=1) - (right == STOP_ID) == 0)[..., None]
    found = [ratio(mid, np.where(generated, off[0], np.inf), sloppy.logits(ids), right) for _ in range(8)]
    assert 0 < max(found) < 1


@pytest.mark.parametrize("name", ["parity", "smallest", "comparison", "xor-base-8", "division-by-a-digit"])
def test_second_method_is_tighter_than_the_first(name: str) -> None:
    run = runs.load(name)
    arguments = (run.config.task.domain, run.config.model, weights_of(run), some_prompts(run, 16), FORMATS)
    first, second = margins(*arguments), tighter_margins(*arguments)  # type: ignore[arg-type]
    real = FORMATS.index(REAL)
    assert second[real] == pytest.approx(first[real], abs=1e-6)
    lost = [(first[real] - each[FORMATS.index(FLOAT32)]).max() for each in (first, second)]
    assert 0 < lost[1] < lost[0] / 3


def test_prompts_that_the_first_method_leaves_open_are_proven_by_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    run = runs.load("parity")
    arguments = (run.config.task.domain, run.config.model, weights_of(run))
    before = prove(*arguments, threads=1)  # type: ignore[arg-type]
    module = importlib.import_module("alga.trust.proof.margins")

    def loose(*given: Any) -> tuple[Array, Array]:
        mid, off = bounded(*given)
        return mid, off + np.array([0.0, 0.0, 100.0])[:, None, None, None]

    monkeypatch.setattr(module, "bounded", loose)
    found = prove(*arguments, threads=1)  # type: ignore[arg-type]
    assert [bound.margin for bound in found.bounds[:2]] == [bound.margin for bound in before.bounds[:2]]
    assert before.bounds[2].margin < found.bounds[2].margin < before.bounds[0].margin  # type: ignore[operator]
    monkeypatch.setattr(adjoint, "MOST_LAYERS", 0)
    assert not prove(*arguments, threads=1).covers("float32")  # type: ignore[arg-type]


@pytest.mark.slow
def test_arithmetic_is_proven_in_float32() -> None:
    run = runs.load("arithmetic")
    found = prove(run.config.task.domain, run.config.model, weights_of(run))  # type: ignore[arg-type]
    assert found.covers("float32")
    assert found.bounds[2].margin == pytest.approx(6.977, abs=1e-3)


def test_asking_for_tighter_bounds_runs_the_second_method() -> None:
    run = runs.load("comparison-base-2")
    arguments = (run.config.task.domain, run.config.model, weights_of(run))
    first, both = (prove(*arguments, threads=1, tighter=tighter) for tighter in (False, True))  # type: ignore[arg-type]
    assert first.bounds[2].margin < both.bounds[2].margin < both.bounds[0].margin  # type: ignore[operator]


def test_weights_that_overflow_prove_nothing() -> None:
    run = runs.load("parity")
    weights = weights_of(run)
    weights["layers.0.feed_forward.2.weight"] *= 1e31
    prompts = some_prompts(run, 4)
    found = tighter_margins(run.config.task.domain, run.config.model, weights, prompts, (FLOAT32, FLOAT64))  # type: ignore[arg-type]
    assert np.isneginf(found).all()


# --- independence -----------------------------------------------------------------------------------------------------


def test_methods_share_no_bounds() -> None:
    shared = {
        "alga.trust.proof.bounds": {"Array", "Ids", "NumberFormat"},
        "alga.trust.proof": {"parameters"},
        "alga.trust.proof.parameters": {"Affine", "Weights"},
        "alga.trust.assumptions": {"ERF_UNITS", "EXP_UNITS", "GAP_UNITS"},
        "alga.network.config": {"ModelConfig"},
        "alga.network.forward": {"erf"},
    }
    folder = Path(adjoint.__file__).parent
    for path in sorted(folder.glob("adjoint*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            assert not isinstance(node, ast.Import) or {alias.name for alias in node.names} <= {"math", "numpy"}
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("alga"):
                names = {alias.name for alias in node.names}
                own = (node.module or "").rpartition(".")[2].startswith("adjoint")
                assert own or names <= shared.get(node.module or "", set()), f"{path.name} imports {names}"
    for name in ("rounding", "lemmas", "bounds", "readers", "outside"):
        assert "adjoint" not in (folder / f"{name}.py").read_text()
