"""A search writes a line for every group, whatever came of it, and does not train a group twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alga.research.crowd import search
from alga.runs.config import Recipe
from alga.training.crowd import LANES, Crowd
from tests.training.small_runs import few_numbers


def test_every_group_has_its_line_and_is_trained_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = few_numbers(embedding_scale=1.0, batch_size=16, steps=5, check_every=3)
    log = tmp_path / "log.jsonl"
    (first,) = search.search(recipe, [0], log)
    assert (first["parameters"], first["networks"], first["first_seed"]) == (25, LANES, 0)
    assert len(first["fewest_wrong"]) == LANES
    assert first["certified"] == []
    trained: list[int] = []

    def remembered(_: Recipe, seed: int) -> dict[str, Any]:
        trained.append(seed)
        return {**first, "first_seed": seed}

    monkeypatch.setattr(search, "group", remembered)
    assert [record["first_seed"] for record in search.search(recipe, [0, LANES], log)] == [LANES]
    assert trained == [LANES]
    assert [record["first_seed"] for record in search.records(log)] == [0, LANES]
    list(search.search(few_numbers(batch_size=8), [0], log))
    assert trained == [LANES, 0]


def test_what_only_the_crowd_finds_right_is_not_called_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_right(crowd: Crowd) -> None:
        crowd.fewest_wrong = np.zeros(LANES, np.int64)

    monkeypatch.setattr(Crowd, "wrong", all_right)
    record = search.group(few_numbers(batch_size=8, steps=1, check_every=1), 0)
    assert record["fewest_wrong"] == [0] * LANES
    assert record["certified"] == []
