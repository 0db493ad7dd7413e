"""Figures: domain maps and training curves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from alga import tasks
from alga.base import figures
from alga.base.errors import AlgaError
from alga.training.metrics import PANELS, curves
from alga.trust.domain_map import domain_map
from tests.conftest import Result


@pytest.mark.parametrize("name", ["addition", "times-a-digit", "parity"])
@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_domain_map_is_deterministic(name: str, suffix: str) -> None:
    task = tasks.find(name)
    margins: dict[str, float | None] = dict.fromkeys(task.domain, 5.0)
    first, second = (figures.render(domain_map(task.domain, margins, "t"), suffix) for _ in range(2))
    assert first == second
    assert first.startswith(b"\x89PNG" if suffix == ".png" else b"<?xml")


def test_wrong_prompt_changes_the_domain_map() -> None:
    task = tasks.find("addition")
    margins: dict[str, float | None] = dict.fromkeys(task.domain, 5.0)
    right = figures.render(domain_map(task.domain, margins, "t"), ".png")
    wrong = figures.render(domain_map(task.domain, {**margins, "55": None}, "t"), ".png")
    assert right != wrong


def test_certify_draws_the_domain(alga: Callable[..., Result], tmp_path: Path) -> None:
    assert alga("certify", "--figure", tmp_path / "domain.svg").code == 0
    assert "2,300 prompts, all right, least margin 14.11" in (tmp_path / "domain.svg").read_text()


def test_unknown_figure_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AlgaError, match=r"ends in \.png or \.svg, got 'x\.jpg'"):
        figures.check(tmp_path / "x.jpg")


ROWS = [
    {"step": 25 * i, "loss": 1 / i, "evaluation_loss": 1 / i, "accuracy": 20.0 * i, "edit_distance": 1, "wrong": 5 - i}
    for i in range(1, 6)
]  # fmt: skip


def test_curves_have_four_panels_and_mark_the_first_flawless_step() -> None:
    figure = curves(ROWS, "t")
    assert [axes.get_ylabel() for axes in figure.axes] == [label for _, label, _ in PANELS]
    assert all(axes.get_legend() is not None for axes in figure.axes)
    assert all(axes.get_legend() is None for axes in curves(ROWS[:-1], "t").axes)
