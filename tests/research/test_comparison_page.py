"""The page of the comparison: every figure in it follows from the records."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from alga.research.baselines import comparison, page
from alga.research.statistics import over_seeds

LENGTHS = (1, 2, 3, 4, 6)
FIGURES = ("figures/compare.png", "figures/compare-carries.png")


def run(right: list[int | None], passed: int | None = 500_000, **more: Any) -> dict[str, Any]:
    lengths = {str(n): None if each is None else [each, 10] for n, each in zip(LENGTHS, right, strict=True)}
    return {
        "parameters": 1000, "tokens": 2_000_000, "passed": passed, "seconds": 1.0, "certified": None,
        "curve": [[500_000 * (i + 1), 100 * (i + 1), 400] for i in range(4)], "lengths": lengths,
        "chains": {"2": {"0": [5, 5], "1": [4, 5], "2": [3, 5]}, "3": {str(n): [n, 5] for n in range(4)}},
        "example": ["123+456", "975<end>"], **more,
    }  # fmt: skip


def record(title: str, runs: list[dict[str, Any]], *, far: bool = False, looped: bool = False) -> dict[str, Any]:
    tried = [
        {"rate": 1e-3, "passed": 700_000, "right": 9, "digits": 20, "of": 10},
        {"rate": 2e-3, "passed": None, "right": 8, "digits": 20, "of": 10},
    ]
    return {
        "method": title, "title": title, "source": "nobody", "given": "nothing", "published": "-", "looped": looped,
        "extrapolates": far, "scale": dataclasses.asdict(comparison.quick().scale), "rate": 1e-3, "search": tried,
        "runs": runs,
    }  # fmt: skip


@pytest.fixture
def content() -> dict[str, Any]:
    early = {"at_pass": {"certified": True, "lengths": run([10, 10, 2, 0, None])["lengths"]}}
    records = [
        record("short", [run([10, 10, 5, None, None]), run([9, 10, None, None, None], None)]),
        record("far", [run([10, 10, 10, 9, 5], certified=True, **early), run([10] * 5, certified=False)], far=True),
        record("fed", [run([10] * 5)] * 2, looped=True),
    ]  # fmt: skip
    return {"setting": "quick", **dataclasses.asdict(comparison.quick()), "records": records}


def test_page_tells_methods_with_a_loop_apart(content: dict[str, Any]) -> None:
    text = page.page(content, *FIGURES)
    sums, loops = text.split("## Methods with an outer loop")
    assert "| short | nobody | up to 2 digits | over 2 million | 1 of 2 | 97.5 % † | 25.0 % (0 to 60) |" in sums
    assert "| fed |" not in sums
    assert "| fed | nobody | up to 2 digits | 0.5 million | 2 of 2 | 100.0 % | 100.0 % (84 to 100) |" in loops


def test_page_shows_what_training_on_changed(content: dict[str, Any]) -> None:
    lines = page.page(content, *FIGURES).splitlines()
    passed, ended = (line for line in lines if line.startswith(("| far | when", "| far | at the")))
    assert passed.startswith("| far | when it passed | 1 | 100.0 % | 20.0 %")
    assert passed.endswith("| 2 digits | 1 of 1 |")
    assert ended.endswith("| 4 digits | 1 of 2 |")
    assert not any(line.startswith("| short | at the end") for line in lines)


def test_seeds_that_did_not_pass_have_their_curve(content: dict[str, Any]) -> None:
    text = page.page(content, *FIGURES)
    assert "| short | 1 | 100 of 400 | 200 of 400 | 300 of 400 | 400 of 400 |" in text
    assert "| short | 0 |" not in text
    for each in content["records"]:
        each["runs"] = each["runs"][:1]
    assert "All seeds of all methods passed." in page.page(content, *FIGURES)


def test_rates_tried_are_listed(content: dict[str, Any]) -> None:
    said = "| short | 0.001 | 0.001: passed after 0.70 million, 9 of 10; 0.002: did not pass, 8 of 10 |"
    assert said in page.page(content, *FIGURES)


def test_figures_are_drawn(content: dict[str, Any]) -> None:
    figure = page.figure(content)
    far, short = figure.axes
    assert [text.get_text() for text in far.get_legend().get_texts()] == ["far"]
    assert [text.get_text() for text in short.get_legend().get_texts()] == ["short", "fed"]
    assert len(page.chains(content).axes) == 2


def test_interval_covers_seeds_that_disagree_and_is_never_empty() -> None:
    apart, alike = over_seeds([(100, 100), (0, 100)]), over_seeds([(100, 100)] * 3)
    assert (apart.value, apart.low, apart.high) == (0.5, 0.0, 1.0)
    assert alike.value == alike.high == 1.0
    assert 0.98 < alike.low < 1.0
    assert over_seeds([(50, 100)] * 5).low == pytest.approx(0.456, abs=0.01)
