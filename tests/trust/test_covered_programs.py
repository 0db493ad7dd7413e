"""What docs/proof.md says about the covered programs: their exp, GELU and moments are within what is assumed."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from alga import runs
from alga.network.compiled import erf
from alga.network.config import ModelConfig
from alga.runs import config
from alga.trust.assumptions import EXP_UNITS, GAP_UNITS
from alga.trust.proof import lemmas
from alga.trust.proof.bounds import FLOAT32
from alga.trust.proof.rounding import Rounding

UNIT = 2.0**-24
SHAPES = {name: config.load(runs.SHIPPED / name).model for name in runs.shipped()}


def test_gelu_error_is_within_budget_in_torch_and_compiled_code() -> None:
    x = torch.linspace(-12, 12, 1_000_001)
    x = x[x != 0]
    exact = x.double() / 2 * torch.erfc(-x.double() * math.sqrt(0.5))

    def units(found: torch.Tensor) -> float:
        return float(((found.double() - exact) / x.double()).abs().max()) / UNIT

    places = x[::100] * 0.5**0.5
    fitted = torch.tensor([erf(place) for place in places.numpy()])
    budget = lemmas.gelu_error(np.ones((1, 1, 1, 1)), Rounding((FLOAT32,))).item() / UNIT
    assert budget == pytest.approx(13)
    assert 1 < units(torch.nn.functional.gelu(x)) < 6.5 < budget
    assert float((fitted - torch.erf(places.double())).abs().max()) < 6e-8


def test_only_bitwise_softmaxes_see_as_few_as_three_positions() -> None:
    steps = {name: shape for name, shape in SHAPES.items() if isinstance(shape, ModelConfig)}
    seen = {name: shape.input_length + 1 for name, shape in steps.items()}  # the prompt and the start token
    assert {name.partition("-")[0] for name, count in seen.items() if count == 3} == {"and", "or", "xor"}
    assert min(seen.values()) == 3
    assert min(shape.input_length + shape.output_length for shape in steps.values()) == 4  # what the bounds assume


@pytest.mark.parametrize("positions", [3, 4, 8])
def test_exp_error_is_within_budget_in_torch_and_with_exp2(positions: int) -> None:
    budget = EXP_UNITS * (positions + 1)
    scores = -80 * torch.rand(100_000, positions, generator=torch.Generator().manual_seed(0))
    scores[:, 0] = 0
    exact = torch.softmax(scores.double(), -1)
    assert float(((torch.softmax(scores, -1) - exact) / exact).abs().max()) / UNIT < budget
    gaps, powers = -scores.double(), torch.exp2(scores * torch.tensor(math.log2(math.e)))
    wrong = (powers.double() / torch.exp(-gaps) - 1).abs() / UNIT
    assert float(wrong.max()) > 32  # what three positions allow where the score is the largest
    assert bool((wrong <= budget + GAP_UNITS * gaps).all())
    assert not bool((wrong <= GAP_UNITS / 3 * gaps + 2).all())  # a third would not do


def merged_as_assumed(width: int, vector: int) -> bool:
    """Tell whether torch never merges a larger part into a smaller one at this width."""
    lanes, rest = divmod(width, vector)
    return not 0 < rest < lanes and width <= 32 * vector


def test_torch_merges_moments_as_assumed_at_every_shipped_width() -> None:
    widths = {shape.width for shape in SHAPES.values() if shape.norms != "none"}
    assert widths == {8, 16, 32, 64}
    assert all(merged_as_assumed(width, vector) for width in widths for vector in (2, 4, 8, 16))
    assert not merged_as_assumed(33, 16)
    assert not merged_as_assumed(1024, 16)
