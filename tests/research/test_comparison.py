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
    """Always answers 0, without training."""

    name, title, source, given = "zero", "always zero", "nobody", "nothing"
    parameters = 1

    def train(self, watch=None):
        return Learned(examples=0, tokens=0, steps=0)

    def answer(self, problems):
        return [Attempt("0", "0") for _ in problems]
'''


@pytest.mark.slow
def test_own_method_in_one_file_is_compared(tmp_path: Path, alga: Callable[..., Result]) -> None:
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
        (["--report", "--results", "{}/other.json"], "other.json has no valid comparison results (KeyError: 'scale')"),
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


def test_testing_stops_after_three_lengths_with_nothing_right() -> None:
    class Short(baselines.find("plain")):  # type: ignore[misc]
        def answer(self, problems: list[tuple[str, str]]) -> list[Attempt]:
            return [Attempt(str(int(a) + int(b)) if len(a) < 3 else None, "") for a, b in problems]

    found = comparison._by_length(Short(TINY, 1e-3, 0), [1, 2, 3, 4, 5, 6, 7], 4, Random(0))
    assert found == {"1": [4, 4], "2": [4, 4], "3": [0, 4], "4": [0, 4], "5": [0, 4], "6": None, "7": None}


def test_equal_methods_share_a_place_and_weak_ones_are_listed() -> None:
    runs = [{"lengths": {"2": [4, 4], "3": [1, 4], "4": [1, 4]}}]
    weak = [{"lengths": {"2": [1, 4], "3": [0, 4], "4": None}}]
    records = [{"title": name, "runs": each} for name, each in (("a", runs), ("b", runs), ("c", weak))]
    assert page._order(records, 2) == "1. 25.0 %: a (25.0), b (25.0)\n2. 0.0 %: c (0.0)"
    assert page._inside(records, 2).splitlines()[1] == "- Below: c (25.0 %: 25.0)."


def test_untested_seed_counts_as_wrong() -> None:
    assert page._shares([None, None, [30, 100]]) == [0.0, 0.0, 0.3]
    record = {"runs": [{"lengths": {"6": pair, "7": None}} for pair in (None, None, [30, 100])]}
    assert page.accuracy(record, 6) == pytest.approx(0.1)
    assert page.accuracy(record, 7) is None


def test_changed_file_is_another_method(tmp_path: Path) -> None:
    def settings() -> Any:
        return comparison._settings(f"{tmp_path}/mine.py:Zero", TINY, 1e-3, 0, comparison.quick())

    (tmp_path / "mine.py").write_text(OWN)
    before = settings()
    assert before == settings()
    (tmp_path / "mine.py").write_text(OWN.replace('"0"', '"1"'))
    assert before != settings()


def test_new_version_is_another_method(monkeypatch: pytest.MonkeyPatch) -> None:
    def settings() -> Any:
        return comparison._settings("plain", TINY, 1e-3, 0, comparison.quick())

    before = settings()
    monkeypatch.setattr(baselines.find("plain"), "version", 2)
    assert before != settings()


def test_committed_pages_match_the_records() -> None:
    content = json.loads((ROOT / "results" / "compare.json").read_text())
    said = page.page(content, "figures/compare.png", "figures/compare-carries.png")
    assert (ROOT / "docs" / "compare.md").read_text() == said
    assert content["setting"] == "small"
    assert [record["method"] for record in content["records"]] == list(baselines.METHODS)
    assert all(len(record["runs"]) >= 3 and len(record["search"]) >= 4 for record in content["records"])
    brief = page.table(content["records"], content["scale"]["digits"], brief=True)
    assert brief in (ROOT / "docs" / "results.md").read_text()
