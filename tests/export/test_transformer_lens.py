"""The folder for TransformerLens without the package: its weights, by the formulas of its native network.

`test_tools.py` opens such folders with the real package.
"""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import torch
from safetensors.torch import load
from torch import Tensor
from torch.nn import functional as F

from alga.export import transformer_lens
from alga.network.kinds import module_of
from alga.solve.solver import Solver
from tests.export.networks import STEP_SHAPES, random_steps


def forward(files: dict[str, bytes], ids: Tensor) -> Tensor:
    """Compute the logits as TransformerLens does, from a folder's files."""
    settings, weights = json.loads(files["config.json"]), load(files["model.safetensors"])
    bridge, length = settings["bridge"], ids.shape[1]

    def linear(name: str, x: Tensor) -> Tensor:
        return F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def norm(name: str, x: Tensor) -> Tensor:
        if bridge["normalization_type"] is None:
            plain = settings["norms"] == "feed-forward" and name.endswith("ln2")
            return F.layer_norm(x, x.shape[-1:]) if plain else x
        return F.layer_norm(x, x.shape[-1:], weights[f"{name}.weight"], weights[f"{name}.bias"], bridge["eps"])

    hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
    hidden[:, : settings["input_length"] + 1] = False
    x = weights["tok_embed.weight"][ids] + weights["pos.weight"][:length]
    for i in range(bridge["n_layers"]):
        layer = f"layers.{i}"
        normed = norm(f"{layer}.ln1", x)
        split = (*x.shape[:2], bridge["n_heads"], bridge["d_head"])
        q, k, v = (linear(f"{layer}.attn.{part}", normed).view(split).transpose(1, 2) for part in "qkv")
        scores = (q @ k.transpose(2, 3) / settings["attention_divisor"]).masked_fill(hidden, -math.inf)
        x = x + linear(f"{layer}.attn.o", (scores.softmax(dim=-1) @ v).transpose(1, 2).flatten(2))
        x = x + linear(f"{layer}.mlp.fc_out", F.gelu(linear(f"{layer}.mlp.fc_in", norm(f"{layer}.ln2", x))))
    return F.linear(norm("ln_out", x), weights["head.weight"])


@pytest.mark.parametrize("options", STEP_SHAPES.values(), ids=STEP_SHAPES)
def test_weights_of_every_shape_compute_the_networks_logits(options: dict[str, Any]) -> None:
    solver = random_steps(**options)
    tokens, prompts = solver.run.config.step_tokens, list(solver.trained.domain)
    ids = torch.tensor([[*row, tokens.ids["\n"], tokens.ids["1"]] for row in tokens.prompts(prompts)])
    ours = module_of(solver.run.weights.arrays, solver.run.config.model)
    with torch.no_grad():
        found = forward(transformer_lens.folder(solver), ids)[:, tokens.input_length :]
        expected = ours(ids)
    largest = max(1.0, float(expected.abs().max()))  # without norms, they and the scores before are large
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5 * largest)


@pytest.mark.parametrize("name", ["parity", "smallest"])
def test_folder_says_where_it_comes_from(name: str) -> None:
    solver = Solver.load(name)
    files = transformer_lens.folder(solver)
    assert [*files] == ["model.safetensors", "load_lens.py", "config.json"]  # the last one makes it a folder that opens
    settings = json.loads(files["config.json"])
    assert settings["format"] == "alga-transformer-lens-1"
    assert (settings["certified"], settings["weights_sha256"]) == (True, solver.run.sha256)
    assert settings["vocabulary"] == [*solver.run.config.tokens.vocabulary]
    assert settings["bridge"]["n_ctx"] == settings["input_length"] + settings["output_length"]
