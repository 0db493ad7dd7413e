"""Shared trained numbers: the count, the form of the matrices, and the refusal of matrices of another form."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alga import tasks
from alga.base.errors import AlgaError
from alga.network.config import ModelConfig
from alga.network.forward import forward
from alga.network.generation import unfolded
from alga.network.sharing import TOKENS, sharing
from alga.network.tokens import START, Tokens
from alga.runs.weights import checked
from alga.training import recipes
from tests.training.small_runs import few_numbers


def shape(**changes: Any) -> ModelConfig:
    found = few_numbers(**changes).network()
    assert isinstance(found, ModelConfig)
    return found


def drawn(config: ModelConfig) -> dict[str, Any]:
    numbers = np.random.default_rng(3).normal(size=config.parameters)
    return sharing(config).weights(numbers)


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({}, 3 + 2 + 10 + 4 + 1 + 5),
        ({"hidden": 2}, 3 + 2 + 10 + 4 + 1 + 10),
        ({"values": "diagonal"}, 3 + 2 + 10 + 4 + 2 + 5),
        ({"values": "full"}, 3 + 2 + 10 + 4 + 4 + 5),
        ({"alike": ""}, 3 + 4 + 10 + 4 + 1 + 5),
        ({"silent": "", "alike": "0 12 13"}, 3 + 2 + 10 + 4 + 1 + 5),
        ({"mirrored": True, "shared_keys": True}, 3 + 2 + 8 + 2 + 1 + 5),
        ({"parabola": 0, "alike": "", "silent": ""}, 28 + 10 + 4 + 1 + 5),
    ],
)
def test_every_trained_number_is_counted_once(changes: dict[str, Any], count: int) -> None:
    config = shape(**changes)
    assert config.parameters == count
    matrix = sharing(config).matrix()
    assert np.linalg.matrix_rank(matrix) == count  # no number is redundant
    assert {name: array.shape for name, array in drawn(config).items()} == config.tensors()


def test_a_network_without_such_options_shares_nothing() -> None:
    config = recipes.smallest().network()
    assert isinstance(config, ModelConfig)
    assert not config.shares
    assert config.parameters == 59


def test_digits_lie_on_a_parabola_and_stop_is_the_digit_before_zero() -> None:
    points = drawn(shape())[TOKENS].astype(float)
    a, b = points[3][0], points[2][1]
    c = points[3][1] - b
    for digit in range(-1, 10):
        assert points[digit + 2] == pytest.approx([a * digit, b + c * digit**2], abs=1e-5)
    assert (points[12] == 0).all()
    assert (points[0] == points[13]).all()
    assert (points[0] != 0).all()


def test_mirrored_rows_and_values() -> None:
    weights = drawn(shape(mirrored=True, values="diagonal"))
    rows = weights["position_embedding.weight"]
    assert rows[0].tolist() == [-rows[1][0], rows[1][1]]
    assert weights["layers.0.attention.project_in.weight"][-2:][[0, 1], [1, 0]].tolist() == [0, 0]


def test_matrices_give_back_their_numbers_and_another_form_is_refused() -> None:
    config = shape()
    weights = drawn(config)
    assert sharing(config).trained(weights) == pytest.approx(np.random.default_rng(3).normal(size=25), abs=1e-6)
    assert checked(weights, config, Path("w")).keys() == weights.keys()
    for name, array in drawn(config).items():
        damaged = array.copy()
        damaged[-1] += np.float32(1e-3)
        other = drawn(config) | {name: damaged}
        alone = array.size == 1 or name.startswith(("position", "layers.0.feed_forward"))
        if alone:  # each entry is a number of its own
            checked(other, config, Path("w"))
        else:
            with pytest.raises(AlgaError, match=f"w: {name} is not made of the 25 trained numbers of its shape"):
                checked(other, config, Path("w"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 4, "query_width": 0}, "only by tied networks of width 2"),
        ({"norms": "feed-forward"}, "only by tied networks of width 2"),
        ({"positions": ""}, "only by tied networks of width 2"),
        ({"hidden": 65}, "only by tied networks of width 2"),
        ({"parabola": 13}, "parabola must be 0 to 12 digits, got 13"),
        ({"parabola": 11}, "only one of these"),
        ({"silent": "0"}, "only one of these"),
        ({"silent": "14"}, "silent must be ids below 14, got '14'"),
        ({"alike": "0,13"}, "alike must be token ids such as '0 12', got '0,13'"),
        ({"values": "none"}, "values must be one of"),
        ({"mirrored": True, "positions": "..000000"}, "mirrored positions need two rows"),
    ],
)
def test_what_sharing_is_not_defined_for_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(AlgaError, match=message):
        shape(**changes)


def test_options_are_part_of_the_settings_that_are_saved() -> None:
    config = shape()
    assert ModelConfig(**config.settings()) == config
    assert dataclasses.replace(config, silent="", alike="0 12 13").settings() != config.settings()


@pytest.mark.parametrize("without", ["positions", "queries", "values"])
def test_lower_bound_without_any_of_these_the_order_of_a_prompt_is_lost(without: str) -> None:
    config = shape(shared_keys=True, silent="")
    weights = drawn(config)
    tokens = Tokens.of(tasks.find("addition-padded").domain)

    def first_token(prompt: str) -> Any:
        ids = np.array([[*tokens.prompts([prompt])[0], tokens.ids[START]]])
        return forward(unfolded(weights, config), config, ids)[0][0, 0]

    assert abs(first_token("1C20") - first_token("2C10")).max() > 1e-3
    projection = weights["layers.0.attention.project_in.weight"]
    place = {"positions": weights["position_embedding.weight"], "queries": projection[:1], "values": projection[1:]}
    place[without][:] = 0
    assert first_token("1C20") == pytest.approx(first_token("2C10"), abs=1e-6)
