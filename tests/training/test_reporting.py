"""The time left is to the certificate, and only said if something tells it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from alga import runs
from alga.runs import config as configs
from alga.training.metrics import Progress
from alga.training.reporting import Example, TimeLeft, example_of, follow
from alga.training.trainer import Training
from tests.conftest import tiny


def check(step: int, wrong: int, margin: float) -> Progress:
    return Progress(
        step=step, wrong=wrong, least_margin=margin, seconds=step / 10, loss=0.1, learning_rate=0.1,
        evaluation_loss=0.1, accuracy=99.0, edit_distance=0.0,
    )  # fmt: skip


def test_growth_of_the_margin_tells_the_time_left() -> None:
    left = TimeLeft(tiny(margin=5.0, steps=4000))
    margins = [(100, 3, 0.0), (200, 0, 1.0), (400, 0, 2.0)]  # one more with every doubling
    assert [left.after(check(*each)) for each in margins] == ["", "", ""]
    assert left.after(check(800, 0, 3.0)) == "about 240 s to margin 5, as it has grown so far"  # 3,200 steps in all
    assert left.after(check(900, 1, 3.1)) == ""  # a prompt is wrong again
    assert left.after(check(1000, 0, 3.2)) == ""


@pytest.mark.parametrize("margins", [(1.0, 1.0, 1.0), (3.0, 2.0, 1.0), (1.0, 1.01, 1.02)])
def test_nothing_is_said_if_the_margin_is_out_of_reach(margins: tuple[float, ...]) -> None:
    left = TimeLeft(tiny(margin=5.0, steps=4000))
    said = [left.after(check(100 * i, 0, margin)) for i, margin in enumerate(margins, start=1)]
    assert said == ["", "", ""]


def test_example_tells_the_time_until_its_own_end() -> None:
    left = TimeLeft(tiny(margin=5.0, steps=4000), Example("parity", 300))
    assert left.after(check(100, 3, 0.0)) == "about 20 s if it takes 300 steps as the shipped parity did"
    assert left.after(check(300, 3, 0.0)) == ""
    others = [left.after(check(step, 0, margin)) for step, margin in ((400, 2.0), (800, 3.0), (1600, 4.0))]
    assert others == ["", "", "about 160 s to margin 5, as it has grown so far"]


def test_example_is_a_shipped_network_of_the_same_recipe() -> None:
    config = configs.load(runs.SHIPPED / "parity")
    example = example_of(config)
    assert example is not None
    last = (runs.SHIPPED / "parity" / "metrics.jsonl").read_text().splitlines()[-1]
    assert (example.name, f'"step": {example.steps},' in last) == ("parity", True)
    recipe = {**config.training["recipe"], "learning_rate": 0.02}
    assert example_of(dataclasses.replace(config, training={**config.training, "recipe": recipe})) is None
    begun = {**config.training, "init": {"run": "x", "sha256": "0" * 64}}
    assert example_of(dataclasses.replace(config, training=begun)) is None


def test_every_check_is_reported(tmp_path: Path) -> None:
    said: list[tuple[int, int, str]] = []
    training = Training.start(tmp_path / "run", tiny(steps=30, margin=99.0), seed=5)
    last = follow(training, lambda done, total, note="": said.append((done, total, note)))
    assert [(done, total) for done, total, _ in said] == [(10, 30), (20, 30), (30, 30)]
    assert last is not None
    assert said[-1][2] == f"loss {last.loss:.4f}, {last.wrong} wrong, margin {last.least_margin:.2f}"
