"""The recipe of the smallest reader: where it starts, the rates of its parts, resuming to the same bits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from alga.base.errors import AlgaError
from alga.network.reader import Reader
from alga.runs.config import Recipe
from alga.training import recipes
from alga.training.initial_weights import SCORES, VALUES, initial_network
from alga.training.trainer import Training


def quick(**changes: object) -> Recipe:
    return replace(recipes.smallest_whole(), **{"steps": 6, "check_every": 3, "batch_size": 8, **changes})  # type: ignore[arg-type]


def test_recipe_trains_fewer_than_150_parameters() -> None:
    shape = recipes.smallest_whole().network()
    assert shape.parameters == 19 + 5 * recipes.smallest_whole().hidden < 150


def test_attention_starts_at_the_two_columns() -> None:
    torch.manual_seed(0)
    model = initial_network(quick().network(), quick())
    assert isinstance(model, Reader)
    attention = model.layers[0].attention
    expected = [SCORES["elsewhere"], SCORES["own"], SCORES["next"]]
    assert attention.distances[0].tolist() == pytest.approx(expected)
    assert float(attention.sinks.detach()[0]) == pytest.approx(SCORES["sink"])
    drawn = attention.project_in.weight.detach() - torch.diag(torch.tensor(VALUES))
    assert 0 < float(drawn.abs().max()) < 5


def test_start_at_two_columns_needs_a_curve_and_no_keys() -> None:
    for recipe in (replace(recipes.whole(), start="two-columns"), replace(recipes.fast(), start="two-columns")):
        with pytest.raises(AlgaError, match="a start at two columns needs a reader of digits on a curve"):
            initial_network(recipe.network(), recipe)


def test_unknown_start_is_refused() -> None:
    with pytest.raises(AlgaError, match="start must be one of torch, normal, two-columns"):
        quick(start="somewhere")


def test_values_have_a_rate_of_their_own() -> None:
    training = Training.start(None, quick(steps=1, check_every=1))
    before = {name: tensor.clone() for name, tensor in training.model.state_dict().items()}
    list(training.run())
    moved = {n: float((t - before[n]).abs().max()) for n, t in training.model.state_dict().items()}
    rate = training.recipe.rate(1)
    assert moved["layers.0.attention.project_in.weight"] == pytest.approx(3 * rate, rel=0.02)
    assert moved["token_embedding.curve"] == pytest.approx(rate, rel=0.02)
    assert moved["layers.0.attention.distances"] == pytest.approx(3 * rate, rel=0.02)


def test_resumed_training_ends_in_the_same_bits(tmp_path: Path) -> None:
    straight = Training.start(tmp_path / "straight", quick(), threads=1)
    list(straight.run())
    part = Training.start(tmp_path / "part", quick(), threads=1)
    list(part.run(should_stop=lambda: part.step >= 3))
    again = Training.resume(tmp_path / "part")
    assert again.step == 3
    list(again.run())
    assert again.as_run().sha256 == straight.as_run().sha256


def test_rate_of_values_is_stored_only_if_set() -> None:
    assert "value_rate" not in recipes.whole().settings()
    assert recipes.smallest_whole().settings()["value_rate"] == 3.0
