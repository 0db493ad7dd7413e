"""A crowd as a training: resumed to the same bits, seeded, refused if it cannot be, and no state of another kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch

from alga import runs
from alga.base.errors import AlgaError
from alga.runs.config import Recipe
from alga.training import recipes
from alga.training.changes import changed
from alga.training.crowd import LANES
from alga.training.crowd.evolution import Evolution
from alga.training.crowd.learner import CrowdLearner
from alga.training.trainer import Training
from tests.training.small_runs import bits, steps_in

STEPS = 22  # two groups of 6 steps, two turns of 3 generations, and 4 generations of the better one


def cut(**changes: Any) -> Recipe:
    few = {"crowd": 2 * LANES, "start_steps": 6, "evolved": 2, "turn": 3, "first_spread": 0.01, "steps": STEPS}
    return changed(recipes.smallest_26(), {**few, "batch_size": 16, "check_every": 4, **changes})


def finished(folder: Path | None, seed: int = 3, **changes: Any) -> Training:
    training = Training.start(folder, cut(**changes), seed=seed)
    list(training.run())
    return training


def learner_of(training: Training) -> CrowdLearner:
    assert isinstance(training._learner, CrowdLearner)
    return training._learner


def test_stopped_crowd_resumes_to_the_same_bits(tmp_path: Path) -> None:
    """Stops within a group, at its end, within a turn, and while the best one continues."""
    whole = finished(tmp_path / "whole")
    training = Training.start(tmp_path / "parts", cut(), seed=3)
    for stop in (2, 6, 9, 14, 20):
        list(training.run(should_stop=lambda stop=stop, training=training: training.step >= stop))
        training = Training.resume(tmp_path / "parts")
        assert training.step == stop
    list(training.run())
    assert bits(training) == bits(whole)
    found, expected = learner_of(training).state(), learner_of(whole).state()
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    assert steps_in(tmp_path / "parts") == steps_in(tmp_path / "whole") == [4, 8, 12, 16, 20, 22]


def test_same_seed_gives_the_same_bits_and_another_seed_others() -> None:
    first, again, other = finished(None), finished(None), finished(None, seed=4)
    assert bits(first) == bits(again) != bits(other)


def test_saved_network_is_judged_by_the_real_decoder(tmp_path: Path) -> None:
    training = finished(tmp_path / "run")
    assert training.certificate is None
    run = runs.load(tmp_path / "run")
    assert run.weights.data == bits(training)
    certificate = run.judged().certificate
    assert certificate is not None
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert rows[-1]["wrong"] == len(certificate.failures)
    assert [row["learning_rate"] == 0 for row in rows] == [False, False, False, True, True, True]


def test_evolution_lowers_what_is_missing_and_shows_its_best_network() -> None:
    training = Training.start(None, cut(steps=112, turn=50), seed=3)  # two groups of 6 steps, two turns of 50
    learner, values = learner_of(training), []
    for _ in training.run(should_stop=lambda: False):
        values.append([float(each.least[0]) for each in learner._evolutions])
    for place in range(2):
        own = [value[place] for value in values if np.isfinite(value[place])]
        assert own[-1] < own[0]
    best = min(learner._evolutions, key=lambda each: float(each.least[0]))
    shown = learner._crowd.shared.weights(best.best_T)
    held = dict(learner.checked.named_parameters())
    assert all(np.allclose(held[name].detach().numpy(), array, rtol=1e-6) for name, array in shown.items())


def test_disturbed_margins_move_a_little_and_alike_in_all_lanes() -> None:
    crowd = learner_of(Training.start(None, cut(), seed=3))._crowd
    same_TN = np.repeat(crowd.trained_TN[:, :1], LANES, axis=1)
    exact = crowd.margins(same_TN)
    disturbed = crowd.margins(same_TN, 1e-3, np.random.default_rng(1))
    assert (disturbed == disturbed[:, :1]).all()
    assert 0 < np.abs(disturbed - exact).max() < 0.1
    assert (crowd.margins(same_TN, 0.0, np.random.default_rng(1)) == exact).all()


def test_evolution_finds_the_minimum_of_a_narrow_valley() -> None:
    scales = np.logspace(0, 3, 6)

    def value(asked_TN: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
        turned = np.cumsum(asked_TN - 3.0, axis=0)  # no axis of the valley is that of a number
        return np.asarray((scales[:, None] * turned**2).sum(axis=0))

    evolution = Evolution(6, LANES)
    evolution.begin(np.ones(6), 0.1)
    for generation in range(300):
        evolution.tell(value(evolution.ask(np.random.default_rng(generation))))
    assert evolution.least[0] < 1e-12
    assert evolution.best_T == pytest.approx(np.full(6, 3.0), abs=1e-4)


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"crowd": 40}, "a crowd is a multiple of 32 networks, got 40"),
        ({"evolved": 64, "crowd": 32}, "a crowd of 32 has no 64 networks to evolve"),
        ({"averaging": 0.9}, "a crowd is trained with averaging 0, got 0.9"),
        ({"shown": 0.5}, "a crowd is trained with shown 1, got 0.5"),
        ({"crowd": -32}, "recipe setting crowd must be a whole number from 0 to 4,096, got -32"),
        ({"turn": 0}, "recipe setting turn must be a whole number from 1"),
        ({"query_width": 0}, "must share trained numbers and have queries of width 1"),
    ],
)
def test_recipe_that_cannot_be_a_crowd_is_refused(tmp_path: Path, changes: dict[str, Any], refusal: str) -> None:
    with pytest.raises(AlgaError, match=refusal):
        Training.start(tmp_path / "run", cut(**changes))
    assert not (tmp_path / "run").exists()


def test_network_that_shares_no_numbers_cannot_be_a_crowd() -> None:
    with pytest.raises(AlgaError, match="must share trained numbers"):
        Training.start(None, changed(recipes.smallest(), {"crowd": 32}))


def test_crowd_does_not_begin_from_another_network(tmp_path: Path) -> None:
    finished(tmp_path / "first", steps=4)
    with pytest.raises(AlgaError, match="a crowd begins from random numbers"):
        Training.start(tmp_path / "second", cut(), init=runs.load(tmp_path / "first"))


def test_settings_of_other_recipes_do_not_name_a_crowd() -> None:
    assert "crowd" in cut().settings()
    for name in recipes.names():
        assert ("crowd" in recipes.find(name).settings()) is (name == "smallest-26")


@pytest.mark.parametrize("damage", [lambda d: d[:-5], lambda d: b"", lambda d: d[:-1] + bytes([d[-1] ^ 1])])
def test_damaged_checkpoint_is_refused(tmp_path: Path, damage: Any) -> None:
    training = Training.start(tmp_path / "run", cut(), seed=3)
    list(training.run(should_stop=lambda: training.step >= 5))
    path = tmp_path / "run" / "checkpoint.safetensors"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(AlgaError, match="is damaged"):
        Training.resume(tmp_path / "run")


def test_state_of_another_form_is_refused() -> None:
    learner = learner_of(Training.start(None, cut(), seed=3))
    state = learner.state()
    for name, wrong in {"crowd.trained": torch.zeros(3), "starts.wrong": torch.zeros(2 * LANES)}.items():
        with pytest.raises(ValueError, match="other names, shapes or types"):
            learner.restore({**state, name: wrong})
    with pytest.raises(ValueError, match="other names, shapes or types"):
        learner.restore({name: tensor for name, tensor in state.items() if name != "shown.trained"})


def test_checkpoint_holds_the_state_and_nothing_else(tmp_path: Path) -> None:
    training = Training.start(tmp_path / "run", cut(), seed=3)
    list(training.run(should_stop=lambda: training.step >= 15))
    held = safetensors.torch.load((tmp_path / "run" / "checkpoint.safetensors").read_bytes())
    assert {name for name in held if not name.startswith("random.")} == learner_of(training).state().keys()
