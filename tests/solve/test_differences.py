"""Two runs side by side: settings, curves and the prompts that they answer differently."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import alga as package
from alga.base.errors import AlgaError
from alga.runs import SHIPPED, Weights
from alga.solve.solver import Solver
from tests.conftest import Alga
from tests.training.small_runs import trained


def test_settings_curves_and_answers_of_two_runs(tmp_path: Path) -> None:
    trained(tmp_path / "right")
    trained(tmp_path / "early", steps=10, width=16)
    found = package.diff(tmp_path / "right", str(tmp_path / "early"))
    assert found.settings == {"width": (8, 16), "recipe.steps": (400, 10)}
    assert found.certified == (True, False)
    assert not found.same_weights
    right, early = (Solver.load(tmp_path / name) for name in ("right", "early"))
    exact = right.trained.domain
    differ = {prompt for prompt in exact if early.table.outputs[prompt] != exact[prompt].output}
    assert differ
    assert {answer.prompt for answer in found.answers} == differ
    for answer in found.answers:
        assert answer.expected == answer.a == exact[answer.prompt].output
        assert answer.b == early.table.outputs[answer.prompt]
    assert not found.same_answers
    left, other = found.curves
    assert left is not None
    assert other is not None
    rows = [json.loads(line) for line in (tmp_path / "right" / "metrics.jsonl").read_text().splitlines()]
    assert (left.checks, left.steps, left.least_margin) == (len(rows), rows[-1]["step"], rows[-1]["least_margin"])
    assert list(left.rows) == rows
    assert found.as_dict()["curves"][0]["rows"] == rows
    assert left.all_right_at == next(row["step"] for row in rows if row["wrong"] == 0)
    assert (other.checks, other.steps, other.all_right_at) == (1, 10, None)
    text = str(found)
    assert f"b: {tmp_path}/early (not certified)" in text
    assert "recipe.steps  400  10" in text
    assert f"{6 - len(differ)} of 6 prompts answered alike" in text
    assert json.loads(json.dumps(found.as_dict()))["settings"]["width"] == [8, 16]


def test_a_network_and_its_copy_do_not_differ(tmp_path: Path, alga: Alga) -> None:
    shutil.copytree(SHIPPED / "parity", tmp_path / "copy")
    found = package.diff("parity", tmp_path / "copy")
    assert (found.settings, found.same_weights, found.same_answers) == ({}, True, True)
    assert "the same settings\n" in str(found)
    assert "the same weights\n6 of 6 prompts answered alike" in str(found)
    done = alga("diff", "parity", tmp_path / "copy")
    assert (done.code, done.out) == (0, f"{found}\n")


def test_one_changed_weight_shows_the_prompts_that_it_changes() -> None:
    """Calculators are compared as they are now, hooks and changes included."""
    import torch

    changed = package.load("addition")
    with torch.no_grad():
        changed.network.run.model.head.weight[7] *= -1  # type: ignore[union-attr]
    found = package.diff(package.load(), changed)
    assert found.certified == (True, False)
    assert found.curves == (None, None)
    assert found.answers
    assert all("5" in str(answer.expected) for answer in found.answers)  # row 7 writes the digit 5
    assert Weights.of(changed.network.run.config, changed.network.run.model).sha256 != package.load().network.run.sha256


def test_networks_of_different_tasks_share_some_prompts(alga: Alga) -> None:
    done = alga("diff", "addition", "smallest", "--json")
    content = json.loads(done.out)
    assert (done.code, content["prompts"], content["only"], content["answers"]) == (1, 2100, [200, 0], [])
    assert content["settings"]["task"] == ["addition", "addition-padded"]
    other = alga("diff", "addition", "addition-base-16")
    assert "right for a" in other.out
    assert "… and " in other.out


def test_settings_that_an_older_file_leaves_out_do_not_differ() -> None:
    """The shipped adder's file does not have every setting of a recipe."""
    found = package.diff("addition", "parity")
    assert "recipe.shown" not in found.settings
    assert found.settings["layers"] == (2, 1)


def test_mistake_is_one_line(alga: Alga) -> None:
    refused = alga("diff", "addition", "nowhere")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("alga: no model 'nowhere'")
    with pytest.raises(AlgaError, match="unknown task 'dancing'"):
        package.diff("addition", "parity", task="dancing")
