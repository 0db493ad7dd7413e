"""The comparison of baselines: search, tests by length, records and page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from alga.research import baselines
from alga.research.baselines import comparison, first_page, page
from alga.research.baselines.contract import Attempt, Scale
from tests.conftest import ROOT, Result

FIGURES = ("figures/compare.png", "figures/compare-carries.png")
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
    assert "| always zero | nobody | up to 2 digits | over 0 million | 0 of 2 | 0.0 % † |" in written
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


def test_lengths_without_places_are_not_tested() -> None:
    class Few(baselines.find("plain")):  # type: ignore[misc]
        longest = 2

        def answer(self, problems: list[tuple[str, str]]) -> list[Attempt]:
            return [Attempt(str(int(a) + int(b)), "") for a, b in problems]

    found = comparison._by_length(Few(TINY, 1e-3, 0), [1, 2, 3, 4], 4, Random(0))
    assert found == {"1": [4, 4], "2": [4, 4], "3": None, "4": None}


def test_best_rate_passes_with_the_fewest_tokens() -> None:
    def best(*tries: tuple[int | None, int, int]) -> int:
        tried = [{"passed": passed, "right": right, "digits": digits} for passed, right, digits in tries]
        return max(range(len(tried)), key=lambda i: comparison._goodness(tried[i]))

    assert best((None, 200, 900), (900, 199, 800), (500, 198, 800)) == 2
    assert best((None, 10, 900), (None, 11, 800)) == 1
    assert best((None, 10, 800), (None, 10, 900)) == 1


def test_methods_that_extrapolate_train_on_longer_sums_with_more_seeds() -> None:
    setting = comparison.small()
    assert setting.scale_of(baselines.find("plain")) == setting.scale
    coupling = setting.scale_of(baselines.find("coupling"))
    assert (coupling.digits, coupling.layers) == (10, 1)
    assert (setting.seeds_of(baselines.find("reader")), setting.seeds_of(baselines.find("alga"))) == (5, 3)
    reader = comparison.quick().scale_of(baselines.find("reader"))
    assert (reader.layers, reader.width, reader.heads, reader.hidden) == (1, 64, 2, 256)  # the recipe's
    assert setting.scale.tokens >= 40_000_000


def test_weak_methods_are_listed() -> None:
    runs = [{"lengths": {"2": [4, 4], "3": [1, 4], "4": [1, 4]}}]
    weak = [{"lengths": {"2": [1, 4], "3": [0, 4], "4": None}}]
    records = [{"title": name, "scale": {"digits": 2}, "runs": each} for name, each in (("a", runs), ("c", weak))]
    assert page._inside(records).splitlines() == ["- At least 99 %: a (100.0 %: 100.0).", "- Below: c (25.0 %: 25.0)."]
    assert [page._far(record) for record in records] == ["2 digits", "no length"]


def test_tokens_needed_are_the_median_and_more_than_the_most_if_most_seeds_fail() -> None:
    def runs(*passed: int | None) -> list[dict[str, Any]]:
        return [{"passed": each, "tokens": 40_000_000} for each in passed]

    assert page._tokens(runs(2_000_000, None, 3_000_000)) == "3.0 million"
    assert page._tokens(runs(2_000_000, None, None)) == "over 40 million"


def test_first_comparison_lists_equal_methods_together() -> None:
    runs = [{"lengths": {"2": [4, 4], "3": [1, 4], "4": [1, 4]}}]
    weak = [{"lengths": {"2": [1, 4], "3": [0, 4], "4": None}}]
    records = [{"title": name, "runs": each} for name, each in (("a", runs), ("b", runs), ("c", weak))]
    assert first_page._order(records, 2) == "1. 25.0 %: a (25.0), b (25.0)\n2. 0.0 %: c (0.0)"
    assert first_page._inside(records, 2).splitlines()[1] == "- Below: c (25.0 %: 25.0)."


def test_untested_seed_counts_as_wrong() -> None:
    assert page._shares([None, None, [30, 100]]) == [0.0, 0.0, 0.3]
    record = {"runs": [{"lengths": {"6": pair, "7": None}} for pair in (None, None, [30, 100])]}
    found = page.accuracy(record, 6)
    assert found is not None
    assert found.value == pytest.approx(0.1)
    assert found.low == 0.0
    assert found.high > 0.2
    assert page.accuracy(record, 7) is None
    assert first_page.accuracy(record, 6) == pytest.approx(0.1)


def test_changed_file_is_another_method(tmp_path: Path) -> None:
    def settings() -> Any:
        return comparison._settings(f"{tmp_path}/mine.py:Zero", 1e-3, 0, comparison.quick())

    (tmp_path / "mine.py").write_text(OWN)
    before = settings()
    assert before == settings()
    (tmp_path / "mine.py").write_text(OWN.replace('"0"', '"1"'))
    assert before != settings()


def test_new_version_is_another_method(monkeypatch: pytest.MonkeyPatch) -> None:
    def settings() -> Any:
        return comparison._settings("plain", 1e-3, 0, comparison.quick())

    before = settings()
    monkeypatch.setattr(baselines.find("plain"), "version", 99)
    assert before != settings()


def test_committed_pages_match_the_records() -> None:
    content = json.loads((ROOT / "results" / "compare.json").read_text())
    methods = [record["method"] for record in content["records"]]
    assert content["setting"] == "small"
    assert all(len(record["runs"]) >= 3 and len(record["search"]) >= 4 for record in content["records"])
    if "longer" in content:
        said, brief = page.page(content, *FIGURES), page.table(content["records"], brief=True)
        assert methods == list(baselines.METHODS)
    else:  # the first comparison, until the longer one has run
        said = first_page.page(content, *FIGURES)
        brief = first_page.table(content["records"], content["scale"]["digits"], brief=True)
        assert methods == [method for method in baselines.METHODS if method not in {"reader", "looped-abacus"}]
    assert (ROOT / "docs" / "compare.md").read_text() == said
    assert brief in (ROOT / "docs" / "results.md").read_text()
