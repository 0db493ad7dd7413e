"""Recipes: named ones have the documented settings, invalid settings are refused."""

from __future__ import annotations

import dataclasses

import pytest

from alga import runs
from alga.base.errors import AlgaError
from alga.runs.config import Recipe
from alga.training import recipes
from tests.conftest import tiny


def test_paper_recipe_has_the_papers_settings() -> None:
    recipe = recipes.find("paper")
    assert (recipe.task, recipe.batch_size, recipe.learning_rate, recipe.weight_decay) == (
        "addition-padded", 512, 5e-4, 0.01,
    )  # fmt: skip
    assert (recipe.dropout, recipe.second_type_share, recipe.contexts) == (0.2, 0.5, "paper")
    assert (recipe.width, recipe.heads, recipe.layers, recipe.hidden) == (64, 2, 2, 256)


def test_learning_rate_rises_falls_and_stays() -> None:
    recipe = tiny(learning_rate=1.0, warmup_steps=10, decay_steps=100, final_rate=0.1)
    rates = [recipe.rate(step) for step in range(1, 300)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[9] == 1.0
    assert rates[59] == pytest.approx(0.55)
    assert rates[109:] == [pytest.approx(0.1)] * 190
    assert dataclasses.replace(recipe, steps=7).rate(60) == recipe.rate(60)  # more --steps do not change earlier rates


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"contexts": "none"}, "contexts must be one of paper, domain"),
        ({"second_type_share": 1.5}, r"second_type_share must be a number from 0\.0 to 1\.0, got 1\.5"),
        ({"batch_size": 0}, "batch_size must be a whole number from 1 to"),
        ({"batch_size": 10**12}, "batch_size must be a whole number from 1 to"),
        ({"steps": -3}, "steps must be a whole number from 1 to"),
        ({"learning_rate": float("nan")}, "learning_rate must be a number"),
        ({"learning_rate": "high"}, "learning_rate must be a number"),
        ({"warmup_steps": "x"}, "warmup_steps must be a whole number"),
        ({"beta1": 2}, "beta1 must be a number"),
        ({"margin": "x"}, "margin must be a number"),
    ],
)
def test_impossible_recipe_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(AlgaError, match=message):
        tiny(**change)


def test_release_recipe_matches_the_shipped_config() -> None:
    for name in runs.shipped():
        trained = Recipe(**runs.load(name).config.training["recipe"])
        if trained.name == "release":
            assert recipes.release(name) == trained
    assert recipes.release("addition-padded") == dataclasses.replace(recipes.release(), task="addition-padded")
