"""Slow: the quick reproduction, the quick lab and the tutorial."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from alga.research.studies import lab
from alga.research.studies.paper_page import page
from tests.conftest import ROOT, Result

pytestmark = pytest.mark.slow


def test_quick_reproduction_writes_its_page_and_repeats_nothing(
    alga: Callable[..., Result], tmp_path: Path, curves: None
) -> None:
    done = alga("lab", "paper", "--quick", "--out", tmp_path / "paper")
    assert done.code == 0, done.err
    written = (tmp_path / "paper" / "paper.md").read_text()
    assert "| the same |" in written
    assert "NOT" not in written
    assert "20 random sums" in written
    assert (tmp_path / "paper" / "paper-curves.png").exists()
    results = (tmp_path / "paper" / "paper.json").read_bytes()
    again = alga("lab", "paper", "--quick", "--out", tmp_path / "paper", "--page", tmp_path / "page.md")
    assert again.err == ""
    assert (tmp_path / "paper" / "paper.json").read_bytes() == results
    assert (tmp_path / "page.md").read_text() == written


def test_author_weights_are_certified(alga: Callable[..., Result], tmp_path: Path, reference: Path) -> None:
    results = json.loads((ROOT / "results" / "paper.json").read_text())
    stated = results.pop("author")
    (tmp_path / "paper.json").write_text(json.dumps(results))  # the other stages are done
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "curves.png").write_bytes(b"curves")
    done = alga("lab", "paper", "--out", tmp_path, "--author", reference / "alga_r_Model.pt")
    assert done.code == 0, done.err
    found = json.loads((tmp_path / "paper.json").read_text())["author"]
    assert found["least_margin"] == pytest.approx(stated.pop("least_margin"), abs=1e-3)
    assert found == stated | {"least_margin": found["least_margin"]}
    assert "all right, least margin 10.18" in (tmp_path / "paper.md").read_text()


def test_page_shows_failures() -> None:
    results = json.loads((ROOT / "results" / "paper.json").read_text())
    results["traces"]["same"]["65785+8765"] = False
    results["training"] |= {"certified": False, "least_margin": None}
    assert page(results, "x.png").count("NOT") == 3


def test_committed_paper_page_matches_the_results() -> None:
    results = json.loads((ROOT / "results" / "paper.json").read_text())
    assert (ROOT / "docs" / "paper.md").read_text() == page(results, "paper-curves.png")


def test_quick_lab_runs_and_reports_every_study(alga: Callable[..., Result], tmp_path: Path) -> None:
    done = alga("lab", "study", "--quick", "--out", tmp_path, "--results", tmp_path)
    assert done.code == 0, done.err
    reported = alga("lab", "report", "--results", tmp_path, "--page", tmp_path / "lab.md")
    assert reported.code == 0, reported.err
    written = (tmp_path / "lab.md").read_text()
    assert written.count("From a quick run") == len(lab.STUDIES)
    assert len(list((tmp_path / "figures").glob("lab-*.png"))) == len(lab.STUDIES)
    lines = {path.name: path.read_text() for path in tmp_path.glob("*.jsonl")}
    assert alga("lab", "study", "--quick", "--out", tmp_path, "--results", tmp_path).code == 0
    assert {path.name: path.read_text() for path in tmp_path.glob("*.jsonl")} == lines  # nothing was run twice
