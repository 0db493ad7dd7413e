"""Checks in one pass agree with greedy decoding, and are made when the loss is low enough."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from alga.training import checks, trainer
from alga.training.sampling import Sampler
from alga.training.trainer import Training
from tests.conftest import tiny


def checked_both_ways(training: Training) -> tuple[dict[str, Any], dict[str, Any]]:
    assert isinstance(training._sampler, Sampler)
    given = (training.config.task.domain, training._decoder, training._sampler)
    return checks.measure(*given), checks.measure_forced(*given)


def assert_alike(greedy: dict[str, Any], forced: dict[str, Any]) -> None:
    assert (greedy.pop("wrong"), greedy.pop("accuracy")) == (forced.pop("wrong"), forced.pop("accuracy"))
    assert forced == pytest.approx(greedy, abs=1e-4)


@pytest.mark.parametrize("steps", [1, 20, 60, 150])
def test_one_pass_finds_what_greedy_decoding_finds(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alga.training.sampling.FORCED_BATCH", 50)  # chunks of unequal size
    training = Training.start(None, tiny(task="addition-base-2", steps=steps, check_every=steps, dropout=0.5), seed=5)
    list(training.run())
    assert_alike(*checked_both_ways(training))


def _with_a_tie(training: Training) -> None:
    weight = training.model.head.weight
    weight[:] = weight[0].clone()


DAMAGE: dict[str, Callable[[Training], object]] = {
    "a tie": _with_a_tie,
    "a head of zeros": lambda training: training.model.head.weight.zero_(),
    "one weight turned": lambda training: training.model.head.weight[2].neg_(),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_one_pass_finds_the_prompts_that_a_damaged_network_gets_wrong(damage: str) -> None:
    training = Training.start(None, tiny(), seed=5)
    list(training.run())
    with torch.no_grad():
        DAMAGE[damage](training)
    greedy, forced = checked_both_ways(training)
    assert greedy["wrong"] > 0
    assert_alike(greedy, forced)


def test_weights_that_are_no_numbers_are_never_right() -> None:
    training = Training.start(None, tiny(), seed=5)
    with torch.no_grad():
        training.model.head.weight.fill_(math.nan)
    assert checked_both_ways(training)[1]["wrong"] == len(training.config.task.domain)


def test_checks_are_made_when_the_loss_allows_the_margin_and_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainer, "MOST_SKIPPED", 4)
    recipe = tiny(steps=90, margin=2.0, check_every=5, check_below=0.5, matrix_rate=2.5, averaging=0.9)
    training = Training.start(None, recipe, seed=5)
    losses: dict[int, float] = {}
    step = training._learner.learn

    def noted(number: int) -> float:
        losses[number] = step(number)
        return losses[number]

    monkeypatch.setattr(training._learner, "learn", noted)
    found = list(training.run())
    means = {n: sum(losses[i] for i in range(n - 4, n + 1)) / 5 for n in range(5, training.step + 1, 5)}
    due = [n for n, mean in means.items() if mean < 0.5 * math.exp(-1) or n % 20 == 0 or n == 90]
    assert [progress.step for progress in found] == due
    assert [progress.loss for progress in found] == [pytest.approx(means[n]) for n in due]
    assert 20 in due
    assert any(n % 20 for n in due)
    assert len(due) < len(means)
