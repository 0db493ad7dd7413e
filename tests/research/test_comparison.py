"""The comparison of baselines: search, tests by length, records and page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from alga.research import baselines
from alga.research.baselines import comparison, page
from alga.research.baselines.contract import Attempt, Scale
from tests.conftest import ROOT, Result

TINY = Scale(digits=2, width=16, heads=2, layers=1, hidden=32, tokens=3000, batch_tokens=512)


OWN = '''
from alga.research.baselines.contract import Attempt, Learned, Baseline


class Zero(Baseline):
    """Always answers 0, in no time."""

    name, title, source, given = "zero", "always zero", "nobody", "nothing"
    parameters = 1

    def train(self, watch=None):
        return Learned(examples=0, tokens=0, steps=0)

    def answer(self, problems):
        return [Attempt("0", "0") for _ in problems]
'''


@pytest.mark.slow
def test_a_new_method_is_one_file(tmp_path: Path, alga: Callable[..., Result]) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    done = alga(
        "lab", "compare", f"{tmp_path}/mine.py:Zero", "reversed", "--setting", "quick", "--out", tmp_path / "out"
    )
    assert done.code == 0, done.err
    written = (tmp_path / "out" / "compare.md").read_text()
    assert "| always zero | nobody | 0.0 % † |" in written
    assert (tmp_path / "out" / "figures" / "compare.png").is_file()
    again = alga("lab", "compare", "--report", "--out", tmp_path / "out")
    assert again.code == 0
    assert (tmp_path / "out" / "compare.md").read_text() == written


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody"], "unknown method 'nobody'; there are plain, markers"),
        (["--setting", "huge"], "unknown setting 'huge'; there are small, quick, large"),
        (["{}/none.py:Mine"], "none.py: no such file"),
        (["{}/mine.py:Nothing"], "has no class Nothing that is a Baseline"),
        (["--report", "--out", "{}"], "no such file"),
        (["--report", "--results", "{}/other.json"], "other.json holds no comparison of methods (KeyError: 'scale')"),
        (["--results", "{}/nowhere/compare.json", "--out", "{}/out"], "nowhere is not a folder"),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, alga: Callable[..., Result], arguments: list[str], message: str) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    (tmp_path / "other.json").write_text("{}")
    result = alga("lab", "compare", *(argument.format(tmp_path) for argument in arguments))
    assert result.code == 2
    assert message in result.err
    assert len(result.err.splitlines()) == 1


def test_barren_lengths_end_the_test_of_a_method() -> None:
    class Short(baselines.find("plain")):  # type: ignore[misc]
        def answer(self, problems: list[tuple[str, str]]) -> list[Attempt]:
            return [Attempt(str(int(a) + int(b)) if len(a) < 3 else None, "") for a, b in problems]

    found = comparison._by_length(Short(TINY, 1e-3, 0), [1, 2, 3, 4, 5, 6, 7], 4, Random(0))
    assert found == {"1": [4, 4], "2": [4, 4], "3": [0, 4], "4": [0, 4], "5": [0, 4], "6": None, "7": None}


def test_ties_are_ties_and_failures_are_told() -> None:
    runs = [{"lengths": {"2": [4, 4], "3": [1, 4], "4": [1, 4]}}]
    weak = [{"lengths": {"2": [1, 4], "3": [0, 4], "4": None}}]
    records = [{"title": name, "runs": each} for name, each in (("a", runs), ("b", runs), ("c", weak))]
    assert page._order(records, 2) == ["1. 25.0 %: a (25.0), b (25.0)", "2. 0.0 %: c (0.0)"]
    assert page._inside(records, 2)[1] == "- Did not get there: c (25.0 %: 25.0)."


def test_a_seed_that_was_given_up_counts_as_wrong() -> None:
    assert page._shares([None, None, [30, 100]]) == [0.0, 0.0, 0.3]
    record = {"runs": [{"lengths": {"6": pair, "7": None}} for pair in (None, None, [30, 100])]}
    assert page.accuracy(record, 6) == pytest.approx(0.1)
    assert page.accuracy(record, 7) is None


def test_a_changed_file_is_another_method(tmp_path: Path) -> None:
    def settings() -> Any:
        return comparison._settings(f"{tmp_path}/mine.py:Zero", TINY, 1e-3, 0, comparison.quick())

    (tmp_path / "mine.py").write_text(OWN)
    before = settings()
    assert before == settings()
    (tmp_path / "mine.py").write_text(OWN.replace('"0"', '"1"'))
    assert before != settings()


def test_a_method_of_a_later_version_is_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def settings() -> Any:
        return comparison._settings("plain", TINY, 1e-3, 0, comparison.quick())

    before = settings()
    monkeypatch.setattr(baselines.find("plain"), "version", 2)
    assert before != settings()


def test_the_committed_pages_say_what_the_records_say() -> None:
    content = json.loads((ROOT / "results" / "compare.json").read_text())
    said = page.page(content, "figures/compare.png", "figures/compare-carries.png")
    assert (ROOT / "docs" / "compare.md").read_text() == said
    assert content["setting"] == "small"
    assert [record["method"] for record in content["records"]] == list(baselines.METHODS)
    assert all(len(record["runs"]) >= 3 and len(record["search"]) >= 4 for record in content["records"])
    brief = page.table(content["records"], content["scale"]["digits"], brief=True)
    assert "\n".join(brief) in (ROOT / "docs" / "results.md").read_text()
