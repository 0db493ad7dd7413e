"""The lab: the page comes from the records alone, without torch."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from alga import tasks
from alga.base.errors import AlgaError
from alga.research.studies import lab
from alga.research.studies.information import conflicts
from alga.research.studies.size import Size
from alga.tasks import validation
from alga.training import recipes
from tests.conftest import ROOT

RESULTS, PAGE = ROOT / "results" / "lab", ROOT / "docs" / "lab.md"


def test_committed_page_matches_the_records(tmp_path: Path) -> None:
    written = lab.report(RESULTS, tmp_path / "lab.md")
    assert (tmp_path / "lab.md").read_text() == PAGE.read_text()
    assert len(written) == 1 + len(lab.STUDIES) - len(UNDER_WAY)
    for figure in written[1:]:
        assert (PAGE.parent / "figures" / figure.name).is_file()
        assert f"(figures/{figure.name})" in PAGE.read_text()
    assert "quick run" not in PAGE.read_text()


UNDER_WAY: set[str] = set()  # studies whose runs are not complete, so that their records are not committed


def test_every_study_has_at_least_ten_seeds() -> None:
    assert {study.name for study in lab.STUDIES if not (RESULTS / f"{study.name}.json").exists()} == UNDER_WAY
    for study in (study for study in lab.STUDIES if study.name not in UNDER_WAY):
        records = json.loads((RESULTS / f"{study.name}.json").read_text())["records"]
        assert len(records) == len(study.plan(quick=False)), study.name
        assert len({record["seed"] for record in records} - {None}) >= 10, study.name


def test_changed_record_changes_the_page(tmp_path: Path) -> None:
    content = json.loads((RESULTS / "size.json").read_text())
    content["records"][0]["certified_at"] = None
    (tmp_path / "size.json").write_text(json.dumps(content))
    lab.report(tmp_path, tmp_path / "lab.md")
    section = (tmp_path / "lab.md").read_text().partition("## ")[2].strip()
    assert section.startswith("How small")
    assert "9 of 10" in section
    assert section not in PAGE.read_text()


def test_size_study_answers_for_columns_and_for_whole_sums() -> None:
    records = json.loads((RESULTS / "size.json").read_text())["records"]
    readers = [record for record in records if record["task"] == recipes.whole().task]
    columns = [record for record in records if record not in readers]
    answer = Size().findings(records)["answer"]
    assert "reads columns needs no more than 26 parameters" in answer
    assert "reads whole sums needs no more than 69 parameters" in answer
    assert "whole sums" not in Size().findings(columns)["answer"]
    uncertified = [{**record, "certified_at": None} for record in readers]
    assert Size().findings([*columns, *uncertified])["answer"].endswith("that read whole sums none was certified.")


@pytest.mark.slow
def test_report_needs_no_torch(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from alga.research.studies import lab; "
        f"lab.report(Path({str(RESULTS)!r}), Path({str(tmp_path / 'lab.md')!r})); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_missing_or_invalid_results_are_refused(tmp_path: Path, alga: Callable[..., Any]) -> None:
    with pytest.raises(AlgaError, match="has no study results"):
        lab.report(tmp_path, tmp_path / "lab.md")
    (tmp_path / "share.json").write_text("[]")
    with pytest.raises(AlgaError, match=r"share\.json has no valid study results"):
        lab.report(tmp_path, tmp_path / "lab.md")
    assert "unknown study 'dance'" in alga("lab", "study", "dance").err


@pytest.mark.parametrize(
    ("name", "prompt", "situations"),
    [
        ("addition-context-last-digit", "5C77", [("5", "14"), ("15", "15")]),
        ("addition-context-first-digit", "1C77", [("1", "14"), ("10", "15")]),
        ("addition-context-nothing", "C77", [("0", "14"), ("10", "15")]),
        ("addition-no-separator", "125", [("1", "7"), ("12", "6")]),
    ],
)
def test_too_little_information_gives_conflicts(name: str, prompt: str, situations: list[tuple[str, str]]) -> None:
    found = conflicts(tasks.find(name))[prompt]
    assert [(instance.context, instance.output) for instance in found] == situations
    with pytest.raises(AlgaError, match="is ambiguous"):
        _ = tasks.find(name).domain


@pytest.mark.parametrize(
    ("name", "prompts"),
    [
        ("addition-context-carry", 320),
        ("addition-padded-no-separator", 2100),
        ("addition-one-token", 2300),
        ("addition-blocks-of-2", 20_000),
    ],
)
def test_sufficient_variants_agree_with_addition(name: str, prompts: int) -> None:
    task, addition = tasks.find(name), tasks.find("addition")
    assert len(task.domain) == prompts
    assert not conflicts(task)
    for operands in (("65785", "8765"), ("0", "0"), ("999", "1"), ("1", "9999"), ("50", "50"), ("007", "3")):
        outputs = [step.output for step in task.steps(*operands)]
        assert task.read(outputs) == task.oracle(*operands) == addition.oracle(*operands)
    assert all(step.prompt in task.domain for step in task.steps("98765432109876", "1234567"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["addition-context-carry", "addition-one-token", "addition-blocks-of-2"])
def test_variants_pass_validation(name: str) -> None:
    assert validation.check(tasks.find(name)) > 10_000


@pytest.mark.slow
def test_wrong_carried_value_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    task = type(tasks.find("addition-blocks-of-2"))(2)
    monkeypatch.setattr(task, "carried", lambda output: "0")
    with pytest.raises(AlgaError, match=r"'0', carried from '001', is not equivalent|outside the domain"):
        validation.check(task)
