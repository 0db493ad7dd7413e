"""The compiled network agrees with torch, one prompt at a time."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from alga.base.errors import AlgaError
from alga.network.compiled import erf
from alga.network.config import ModelConfig
from alga.network.generation import Compiled, unfolded
from alga.network.model import Transformer
from alga.network.tokens import STOP_ID
from alga.solve.solver import Solver

SHAPES = {
    "smallest": {"vocabulary": 3, "input_length": 1, "output_length": 1, "width": 4, "heads": 1, "layers": 1},
    "width 1": {"vocabulary": 2, "input_length": 2, "output_length": 2, "width": 1, "heads": 1, "layers": 2},
    "three layers": {"vocabulary": 14, "input_length": 5, "output_length": 3, "width": 20, "heads": 4, "layers": 3},
    "hidden 7": {"vocabulary": 9, "input_length": 3, "output_length": 6, "width": 6, "heads": 3, "hidden": 7},
    "odd width": {"vocabulary": 5, "input_length": 11, "output_length": 4, "width": 33, "heads": 11, "hidden": 50},
    "tied": {"vocabulary": 14, "input_length": 5, "output_length": 3, "width": 3, "heads": 1, "layers": 1,
             "tied": True, "norms": "feed-forward", "biases": "hidden", "shared_keys": True, "query_width": 1,
             "out": False, "positions": "..011123"},
    "narrow queries": {"vocabulary": 14, "input_length": 5, "output_length": 3, "width": 8, "heads": 2, "layers": 2,
                       "norms": "none", "query_width": 3, "positions": "01234567"},
    "shared keys": {"vocabulary": 9, "input_length": 3, "output_length": 4, "width": 6, "heads": 2, "layers": 2,
                    "shared_keys": True, "biases": "hidden", "tied": True},
    "many tokens": {"vocabulary": 300, "input_length": 2, "output_length": 9, "width": 16, "heads": 16, "hidden": 1},
}  # fmt: skip


def compiled(model: Transformer) -> Compiled:
    stored = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    return Compiled(unfolded(stored, model.config), model.config)


@torch.inference_mode()
def by_torch(model: Transformer, prompts: list[bytes]) -> list[tuple[tuple[int, ...], float]]:
    """Generate naively: no cache, up to the output length, cut after the first stop."""
    ids_BL, margins = torch.tensor([[*prompt] for prompt in prompts]), []
    for _ in range(model.config.output_length):
        best_B2 = model(ids_BL)[:, -1].topk(2)
        ids_BL = torch.cat([ids_BL, best_B2.indices[:, :1]], dim=1)
        margins.append(best_B2.values[:, 0] - best_B2.values[:, 1])
    decoded = []
    for ids, row in zip(ids_BL.tolist(), torch.stack(margins, dim=1).tolist(), strict=True):
        written = ids[model.config.input_length + 1 :]
        end = [*written, STOP_ID].index(STOP_ID) + 1
        decoded.append((tuple(written[:end] + [STOP_ID] * (len(written) - end)), min(row[:end])))
    return decoded


def test_adder_matches_torch_on_every_prompt(adder: Solver) -> None:
    network, tokens, prompts = compiled(adder.run.model), adder.run.config.tokens, list(adder.trained.domain)
    decoded = [network.decode(tokens.packed([prompt])) for prompt in prompts]
    expected = adder.decoder.by_torch(prompts)
    assert len(prompts) == 2300
    assert [tokens.text(ids) for ids, _ in decoded] == [step.text for step in expected]
    assert [margin for _, margin in decoded] == pytest.approx([step.margin for step in expected], abs=1e-3)


@pytest.mark.parametrize("name", SHAPES)
def test_networks_of_any_shape_match_torch(name: str) -> None:
    torch.manual_seed(0)
    model = Transformer(ModelConfig(**{"hidden": 10, **SHAPES[name]})).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    network, random = compiled(model), np.random.default_rng(0)
    ids = random.integers(min(256, model.config.vocabulary), size=(40, model.config.input_length + 1))
    prompts = [bytes(row) for row in ids.tolist()]
    expected = by_torch(model, prompts)
    clear = [i for i, (_, margin) in enumerate(expected) if margin > 1e-3]
    assert len(clear) > 10
    for i in clear:
        written, margin = network.decode(prompts[i])
        assert written == expected[i][0]
        assert margin == pytest.approx(expected[i][1], rel=1e-3, abs=2e-5)


@pytest.mark.parametrize("value", [math.nan, math.inf, 3e38, -3e38])
@pytest.mark.parametrize(
    "name", ["head.weight", "layers.1.feed_forward.0.weight", "layers.0.attention.project_in.weight"]
)
def test_infinite_or_overflowing_weight_gives_no_finite_margin(adder: Solver, name: str, value: float) -> None:
    weights = {name: tensor.numpy().copy() for name, tensor in adder.run.model.state_dict().items()}
    weights[name][-1] = value  # reaches one logit, one hidden unit, one entry of every value
    _, margin = Compiled(weights, adder.run.model.config).decode(adder.run.config.tokens.packed(["15C77"]))
    assert not math.isfinite(margin)


def test_overflowing_variance_gives_no_finite_margin(adder: Solver) -> None:
    weights = {name: tensor.numpy().copy() for name, tensor in adder.run.model.state_dict().items()}
    weights["position_embedding.weight"][:, 0] = 1e25
    _, margin = Compiled(weights, adder.run.model.config).decode(adder.run.config.tokens.packed(["15C77"]))
    assert not math.isfinite(margin)


def test_weights_or_ids_of_the_wrong_shape_are_refused(adder: Solver) -> None:
    weights = {name: tensor.numpy() for name, tensor in adder.run.model.state_dict().items()}
    config = adder.run.model.config
    with pytest.raises(AlgaError, match=r"expected weights head.weight of shape \(14, 64\)"):
        Compiled({**weights, "head.weight": weights["head.weight"].T}, config)
    with pytest.raises(AlgaError, match=r"expected 6 ids below 14, got \[1, 2\]"):
        Compiled(weights, config).decode(bytes([1, 2]))
    with pytest.raises(AlgaError, match="expected 6 ids below 14"):
        Compiled(weights, config).decode(bytes([1, 2, 3, 4, 5, 14]))


@pytest.mark.slow
def test_damaged_machine_code_is_recompiled(tmp_path: Path) -> None:
    """Every file of numba's cache is truncated or overwritten."""
    script = "from alga import load; print(load().solve('12', '34', engine='sequential').answer)"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    for content in (None, b"", b"junk"):
        for path in tmp_path.rglob("*.nb[ci]"):
            assert content is not None
            path.write_bytes(content)
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
        )
        assert done.stdout == "46\n", done.stderr


def test_erf_is_accurate_to_float32_and_saturates_at_one() -> None:
    points = np.linspace(-6, 6, 20_001, dtype=np.float32)
    assert max(abs(erf(x) - math.erf(x)) for x in points) < 2e-7
    assert [float(erf(x)) for x in np.array([4, -50], np.float32)] == [1, -1]
