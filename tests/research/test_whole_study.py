"""The lab's study of whole sums: its runs, records and page."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from alga.research.studies import lab
from alga.research.studies.whole import LENGTHS, OTHERS, WholeStudy, measure
from alga.training import recipes

STUDY = WholeStudy()
TINY = {"width": 8, "hidden": 8, "batch_size": 8, "steps": 2, "check_every": 1}


def test_plan_has_ten_seeds_of_every_kind() -> None:
    plan = STUDY.plan(quick=False)
    kinds = [f"up to {digits} digits" for digits in LENGTHS] + list(OTHERS)
    assert sorted({(each["kind"], each["seed"]) for each in plan}) == sorted((k, s) for k in kinds for s in range(10))
    assert [each["kind"] for each in plan[: len(kinds)]] == kinds  # seed by seed, so that a part of it covers all kinds


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        pytest.param({}, marks=pytest.mark.slow),
        pytest.param({"layers": 2}, marks=pytest.mark.slow),
        {"price": 0.0, "options": {"window": True}},
    ],
)
def test_one_run_is_measured(change: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alga.research.studies.whole.SAMPLED", {3: 2})
    recipe = dataclasses.replace(recipes.whole(), **{**TINY, **change})
    found = measure({"kind": "tiny", "recipe": recipe.settings(), "seed": 1})
    assert not found["certified"]
    assert found["wrong"] > 20_000
    assert found["right"] == {"3": 0}
    json.dumps(found, allow_nan=False)


def test_page_is_written_from_records(tmp_path: Path) -> None:
    records = []
    for given in STUDY.plan(quick=False):
        certified = given["kind"] in ("up to 5 digits", "up to 10 digits")
        result = {
            "wrong": 0 if certified else 300, "least_margin": 4.0, "certified": certified, "seconds": 100.0,
            "bounds": {"float32": 3.9} if certified else {}, "outside": 1e-12 if certified else None,
            "right": {"20": 40, "100": 20 if certified else 10}, "parameters": 51_920,
        }  # fmt: skip
        records.append(STUDY.record(given, result))
    content = {"study": "whole", "quick": False, "records": records}
    (tmp_path / "whole.json").write_text(json.dumps(content))
    lab.report(tmp_path, tmp_path / "lab.md")
    page = (tmp_path / "lab.md").read_text()
    assert "Certified from sums of up to 5 digits on; without the price 0 of 10." in page
    assert "| up to 5 digits | 51,920 | 10 of 10 | 0 | 1e-12 | 100 % | 100 % | 100 |" in page
    assert "| no price | 51,920 | 0 of 10 | 300 | no bound | 100 % | 50 % | 100 |" in page
    assert (tmp_path / "figures" / "lab-whole.png").is_file()
