"""Missing fields, strange values and things other than files in the results are one-line errors."""

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
    """Yield each field of the records by name, with the content that lacks it."""
    for name in content["records"][0]:
        changed = json.loads(json.dumps(content))
        for record in changed["records"]:
            del record[name]
        yield name, changed


KEPT = [study.name for study in lab.STUDIES if (RESULTS / "lab" / f"{study.name}.json").exists()]
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in KEPT if name != "share"]


@pytest.mark.parametrize("study", ["share", *SLOW])
def test_study_record_without_a_field_is_one_line(study: str, tmp_path: Path) -> None:
    """Fields that the report does not use may be missing; every study uses at least two."""
    path, refused = tmp_path / f"{study}.json", 0
    for name, changed in lacking(json.loads((RESULTS / "lab" / path.name).read_text())):
        path.write_text(json.dumps(changed))
        try:
            lab.report(tmp_path, tmp_path / "lab.md")
        except AlgaError as problem:
            refused += 1
            assert f"{study}.json has no valid study results (KeyError: '{name}')" in str(problem)  # noqa: PT017
    assert refused >= 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # matplotlib warns about extreme numbers
@pytest.mark.parametrize("value", [None, "x", -1, 1e308, [], {}])
def test_strange_values_are_reported_or_one_line(value: object, tmp_path: Path) -> None:
    path = tmp_path / "share.json"
    content = json.loads((RESULTS / "lab" / path.name).read_text())
    for name in content["records"][0]:
        changed = json.loads(json.dumps(content))
        changed["records"][0][name] = value
        path.write_text(json.dumps(changed))
        try:
            lab.report(tmp_path, tmp_path / "lab.md")
        except AlgaError as problem:
            assert "share.json has no valid study results" in str(problem)  # noqa: PT017


def test_comparison_record_without_a_field_is_one_line(results: Path, alga: Alga) -> None:
    path = results / "compare.json"
    content = json.loads(path.read_text())
    report = ("lab", "compare", "--report", "--results", path, "--page", results / "page.md")
    for name, changed in lacking(content):
        if name in {"title", "runs", "search"}:
            path.write_text(json.dumps(changed))
            result = alga(*report)
            assert (result.code, result.err.count("\n")) == (2, 1), name
            assert f"compare.json has no valid comparison results (KeyError: '{name}')" in result.err
    content["records"][0]["title"] = FORMULA
    path.write_text(json.dumps(content))
    assert alga(*report).code == 0
    path.write_text(json.dumps({**content, "scale": {**content["scale"], "digits": 0}}))
    result = alga(*report)
    assert (result.code, result.err.count("\n")) == (2, 1), result.err


@pytest.mark.parametrize("kind", ["a pipe", "a folder", "2^40 bytes"])
def test_results_must_be_a_file_of_bounded_size(kind: str, results: Path, alga: Alga) -> None:
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


def test_reproduction_without_a_field_is_one_line(results: Path, alga: Alga, monkeypatch: pytest.MonkeyPatch) -> None:
    content = json.loads((results / "paper.json").read_text())
    del content["training"]["parameters"]
    (results / "paper.json").write_text(json.dumps(content))
    (results / "run").mkdir()
    (results / "run" / "curves.png").write_bytes(b"drawn")
    result = alga("lab", "paper", "--quick", "--out", results)
    assert (result.code, result.err.count("\n")) == (2, 1), result.err
    assert "paper.json has no valid reproduction results (KeyError: 'parameters')" in result.err


def test_sweep_result_without_a_field_is_one_line(tmp_path: Path, alga: Alga) -> None:
    plan = 'recipe = "small"\ntask = "parity"\nseeds = 1\n'
    (tmp_path / "plan.toml").write_text(plan)
    (settings,) = trials.read(tmp_path / "plan.toml")
    row = {"measure": trials.MEASURE, "settings": settings, "result": {"steps": 3}, "error": None, "attempts": 1}
    (tmp_path / "plan.jsonl").write_text(json.dumps(row) + "\n")
    result = alga("lab", "sweep", tmp_path / "plan.toml")
    assert (result.code, result.err.count("\n")) == (2, 1), result.err
    assert "plan.jsonl has no valid sweep results (KeyError: 'certified_at')" in result.err


def test_figures_show_formulas_as_text() -> None:
    panel = Panel(FORMULA, FORMULA, [Series(FORMULA, [(1, (1.0, 1.0, 1.0))])] * 2, names=[FORMULA, "a"])
    rows = [dict.fromkeys(("step", "loss", "evaluation_loss", "accuracy", "edit_distance", "wrong"), 1.0)]
    for figure in (study([panel], FORMULA), curves(rows, FORMULA)):
        assert FORMULA.encode() in figures.render(figure, ".svg")
        assert figures.render(figure, ".png")


def test_formula_as_a_recipe_name_is_refused() -> None:
    with pytest.raises(AlgaError, match="a recipe's name has 1 to 100 letters, digits, spaces and"):
        tiny(name=FORMULA)
