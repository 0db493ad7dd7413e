"""Figures: drawn from plain results, refused early."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from alga import plots, tasks
from alga.errors import AlgaError
from tests.conftest import Result


@pytest.mark.parametrize("name", ["addition", "times-a-digit", "parity"])
@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_a_domain_is_drawn_the_same_every_time(name: str, suffix: str) -> None:
    task = tasks.find(name)
    margins: dict[str, float | None] = dict.fromkeys(task.domain, 5.0)
    first, second = (plots.render(plots.domain_map(task, margins, "t"), ".png") for _ in range(2))
    assert first == second
    assert first.startswith(b"\x89PNG")
    assert plots.render(plots.domain_map(task, margins, "t"), suffix)


def test_a_wrong_prompt_shows() -> None:
    task = tasks.find("addition")
    margins: dict[str, float | None] = dict.fromkeys(task.domain, 5.0)
    right = plots.render(plots.domain_map(task, margins, "t"), ".png")
    wrong = plots.render(plots.domain_map(task, {**margins, "55": None}, "t"), ".png")
    assert right != wrong


def test_certify_draws_the_domain(alga: Callable[..., Result], tmp_path: Path) -> None:
    assert alga("certify", "--figure", tmp_path / "domain.svg").code == 0
    assert (tmp_path / "domain.svg").read_text().startswith("<?xml")


def test_a_figure_that_cannot_be_written_is_refused_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(AlgaError, match=r"ends in \.png or \.svg, got 'x\.jpg'"):
        plots.check(tmp_path / "x.jpg")
    with pytest.raises(AlgaError, match="is not a folder"):
        plots.check(tmp_path / "nowhere" / "x.png")


def test_without_matplotlib_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alga.plots.find_spec", lambda _: None)
    with pytest.raises(AlgaError, match=r"pip install 'alga\[plots\]'"):
        plots.check(tmp_path / "x.png")
