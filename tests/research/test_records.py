"""Results that lack something, or say something strange, are one line; so is what is no file in their place."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from alga.base import figures
from alga.base.errors import AlgaError
from alga.research import trials
from alga.research.figures import Panel, Series, study
from alga.research.studies import lab
from alga.training.metrics import curves
from tests.conftest import ROOT, Alga, tiny

RESULTS = ROOT / "results"
FORMULA = r"$\frac{1$"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A copy of the committed results."""
    return Path(shutil.copytree(RESULTS, tmp_path / "results"))


def lacking(content: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the content without each of the fields of its records, by its name."""
    for name in content["records"][0]:
        changed = json.loads(json.dumps(content))
        for record in changed["records"]:
            del record[name]
        yield name, changed


SLOW = [pytest.param(study.name, marks=pytest.mark.slow) for study in lab.STUDIES if study.name != "share"]


@pytest.mark.parametrize("study", ["share", *SLOW])
def test_a_study_whose_records_lack_a_field_is_one_line(study: str, tmp_path: Path) -> None:
    """Fields that are kept and not told may be missing; at least two of each study are told."""
    path, told = tmp_path / f"{study}.json", 0
    for name, changed in lacking(json.loads((RESULTS / "lab" / path.name).read_text())):
        path.write_text(json.dumps(changed))
        try:
            lab.report(tmp_path, tmp_path / "lab.md")
        except AlgaError as problem:
            told += 1
            assert f"{study}.json holds no study's results (KeyError: '{name}')" in str(problem)  # noqa: PT017
    assert told >= 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # matplotlib's, of numbers that it can hardly draw
@pytest.mark.parametrize("value", [None, "x", -1, 1e308, [], {}])
def test_a_study_with_strange_values_is_told_or_one_line(value: object, tmp_path: Path) -> None:
    path = tmp_path / "share.json"
    content = json.loads((RESULTS / "lab" / path.name).read_text())
    for name in content["records"][0]:
        changed = json.loads(json.dumps(content))
        changed["records"][0][name] = value
        path.write_text(json.dumps(changed))
        try:
            lab.report(tmp_path, tmp_path / "lab.md")
        except AlgaError as problem:
            assert "share.json holds no study's results" in str(problem)  # noqa: PT017


def test_a_comparison_whose_records_lack_a_field_is_one_line(results: Path, alga: Alga) -> None:
    path = results / "compare.json"
    content = json.loads(path.read_text())
    report = ("lab", "compare", "--report", "--results", path, "--page", results / "page.md")
    for name, changed in lacking(content):
        if name in {"title", "runs", "search"}:
            path.write_text(json.dumps(changed))
            result = alga(*report)
            assert (result.code, result.err.count("\n")) == (2, 1), name
            assert f"compare.json holds no comparison of methods (KeyError: '{name}')" in result.err
    content["records"][0]["title"] = FORMULA
    path.write_text(json.dumps(content))
    assert alga(*report).code == 0
    path.write_text(json.dumps({**content, "scale": {**content["scale"], "digits": 0}}))
    result = alga(*report)
    assert (result.code, result.err.count("\n")) == (2, 1), result.err


@pytest.mark.parametrize("kind", ["a pipe", "a folder", "2^40 bytes"])
def test_results_are_a_file_of_bounded_size(kind: str, results: Path, alga: Alga) -> None:
    for path in (results / "compare.json", results / "lab" / "share.json", results / "paper.json"):
        path.unlink()
        match kind:
            case "a pipe":
                os.mkfifo(path)
            case "a folder":
                path.mkdir()
            case "2^40 bytes":
                path.touch()
                os.truncate(path, 2**40)
    for command in (
        ("lab", "compare", "--report", "--results", results / "compare.json", "--page", results / "page.md"),
        ("lab", "report", "--results", results / "lab", "--page", results / "page.md"),
        ("lab", "paper", "--quick", "--out", results),
    ):
        result = alga(*command)
        assert (result.code, result.err.count("\n")) == (2, 1), result.err


def test_a_reproduction_that_lacks_a_stage_of_a_stage_is_one_line(
    results: Path, alga: Alga, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = json.loads((results / "paper.json").read_text())
    del content["training"]["parameters"]
    (results / "paper.json").write_text(json.dumps(content))
    (results / "run").mkdir()
    (results / "run" / "curves.png").write_bytes(b"drawn")
    result = alga("lab", "paper", "--quick", "--out", results)
    assert (result.code, result.err.count("\n")) == (2, 1), result.err
    assert "paper.json holds no results of a reproduction (KeyError: 'parameters')" in result.err


def test_a_sweep_whose_results_lack_a_field_is_one_line(tmp_path: Path, alga: Alga) -> None:
    plan = 'recipe = "small"\ntask = "parity"\nseeds = 1\n'
    (tmp_path / "plan.toml").write_text(plan)
    (settings,) = trials.read(tmp_path / "plan.toml")
    row = {"measure": trials.MEASURE, "settings": settings, "result": {"steps": 3}, "error": None, "attempts": 1}
    (tmp_path / "plan.jsonl").write_text(json.dumps(row) + "\n")
    result = alga("lab", "sweep", tmp_path / "plan.toml")
    assert (result.code, result.err.count("\n")) == (2, 1), result.err
    assert "plan.jsonl holds no results of this plan's runs (KeyError: 'certified_at')" in result.err


def test_figures_show_formulas_as_text() -> None:
    panel = Panel(FORMULA, FORMULA, [Series(FORMULA, [(1, (1.0, 1.0, 1.0))])] * 2, title=FORMULA, names=[FORMULA, "a"])
    rows = [dict.fromkeys(("step", "loss", "evaluation_loss", "accuracy", "edit_distance", "wrong"), 1.0)]
    for figure in (study([panel], FORMULA), curves(rows, FORMULA)):
        assert FORMULA.encode() in figures.render(figure, ".svg")
        assert figures.render(figure, ".png")


def test_a_recipe_called_by_a_formula_is_refused() -> None:
    with pytest.raises(AlgaError, match="a recipe's name has 1 to 100 letters, digits, spaces and"):
        tiny(name=FORMULA)
