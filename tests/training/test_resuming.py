"""Resuming: an interrupted training ends in the same bits; damaged or foreign checkpoints are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors
import safetensors.torch
import torch

from alga.base.errors import AlgaError
from alga.solve.solver import Solver
from alga.training import checkpoint
from alga.training.optimisers import ADAMW_SLOTS
from alga.training.trainer import Training
from tests.conftest import tiny
from tests.training.small_runs import bits, steps_in, trained

LIKE_FAST = {"matrix_rate": 2.5, "averaging": 0.9, "check_below": 1000.0}  # so every check is made


@pytest.mark.parametrize("stops", [[3], [10], [17, 18, 44], [1, 2, 3, 59]])
@pytest.mark.parametrize("more", [{}, LIKE_FAST], ids=["AdamW", "Muon"])
def test_run_stopped_anywhere_resumes_to_the_same_bits(
    tmp_path: Path, stops: list[int], more: dict[str, object]
) -> None:
    changes: dict[str, object] = {"steps": 60, "margin": 12.0, **more}
    whole = trained(tmp_path / "whole", **changes)
    training = Training.start(tmp_path / "parts", tiny(**changes), seed=5)
    for stop in stops:
        list(training.run(should_stop=lambda stop=stop, training=training: training.step >= stop))
        assert training.step == stop
        torch.rand(7)  # other code uses torch's generator meanwhile
        training = Training.resume(tmp_path / "parts")
    list(training.run())
    assert bits(training) == bits(whole)
    assert steps_in(tmp_path / "parts") == steps_in(tmp_path / "whole") == [10, 20, 30, 40, 50, 60]


def losses(folder: Path) -> list[float]:
    return [json.loads(line)["loss"] for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_kill_between_checkpoint_and_metrics_duplicates_no_line(tmp_path: Path) -> None:
    whole = trained(tmp_path / "whole", steps=60, margin=99.0)
    training = Training.start(tmp_path / "parts", tiny(steps=60, margin=99.0), seed=5)
    list(training.run(should_stop=lambda: training.step >= 25))
    with (tmp_path / "parts" / "metrics.jsonl").open("a") as file:
        file.write('{"step": 30, "loss": 0.1}\n{"step": 4')
    (tmp_path / "parts" / ".abc.unfinished").write_bytes(b"half a file")
    resumed = Training.resume(tmp_path / "parts")
    list(resumed.run())
    assert bits(resumed) == bits(whole)
    assert losses(tmp_path / "parts") == losses(tmp_path / "whole")
    assert not list((tmp_path / "parts").glob(".*"))


def test_run_killed_before_its_first_checkpoint_starts_again(tmp_path: Path) -> None:
    whole = trained(tmp_path / "whole", steps=30)
    Training.start(tmp_path / "killed", tiny(steps=30), seed=5)
    resumed = Training.resume(tmp_path / "killed")
    list(resumed.run())
    assert bits(resumed) == bits(whole)


def test_run_out_of_steps_resumes_with_more_steps_to_the_same_bits(tmp_path: Path) -> None:
    whole = trained(tmp_path / "whole", steps=60, margin=99.0)
    short = trained(tmp_path / "short", steps=20, margin=99.0)
    assert short.step == 20
    with pytest.raises(AlgaError, match="has done its 20 steps; ask for more with --steps"):
        Training.resume(tmp_path / "short")
    longer = Training.resume(tmp_path / "short", steps=60)
    list(longer.run())
    assert bits(longer) == bits(whole)


def test_finished_run_has_nothing_to_resume(tmp_path: Path) -> None:
    trained(tmp_path / "run")
    with pytest.raises(AlgaError, match="has finished training"):
        Training.resume(tmp_path / "run")


def test_network_without_its_checkpoint_is_not_overwritten(tmp_path: Path) -> None:
    trained(tmp_path / "run", steps=20, margin=99.0)
    (tmp_path / "run" / "checkpoint.safetensors").unlink()
    with pytest.raises(AlgaError, match="lost its checkpoint"):
        Training.resume(tmp_path / "run", steps=40)


@pytest.mark.slow
def test_certified_network_below_its_margin_can_resume(tmp_path: Path) -> None:
    short = trained(tmp_path / "run", steps=300, margin=99.0)
    assert short.certificate is not None
    assert not short.reached_aim
    assert Solver.load(tmp_path / "run").certified
    longer = Training.resume(tmp_path / "run", steps=320)
    list(longer.run())
    assert longer.step == 320


@pytest.mark.parametrize("setting", ["seed", "learning_rate", "width", "task"])
def test_checkpoint_is_not_resumed_with_other_settings(tmp_path: Path, setting: str) -> None:
    training = Training.start(tmp_path / "run", tiny(), seed=5)
    list(training.run(should_stop=lambda: training.step >= 5))
    path = tmp_path / "run" / "config.json"
    content = json.loads(path.read_text())
    other = {"seed": 77, "learning_rate": 0.5, "width": 4096, "task": "addition"}[setting]
    place = content["training"] if setting == "seed" else content["training"]["recipe"]
    place[setting] = other
    path.write_text(json.dumps(content))
    refusal = "another shape than its own" if setting == "width" else "belongs to other settings"
    with pytest.raises(AlgaError, match=refusal):
        Training.resume(tmp_path / "run")


@pytest.mark.parametrize(
    "change", [{"seed": "x"}, {"seed": -1}, {"threads": "x"}, {"threads": 0}, {"device": "tpu"}, {"recipe": {}}]
)
def test_invalid_edited_configuration_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    Training.start(tmp_path / "run", tiny(), seed=5)
    path = tmp_path / "run" / "config.json"
    content = json.loads(path.read_text())
    content["training"] |= change
    path.write_text(json.dumps(content))
    with pytest.raises(AlgaError):
        Training.resume(tmp_path / "run")


@pytest.mark.parametrize("damage", [lambda d: d[:-5], lambda d: d[:20], lambda d: b"", lambda d: b"\xff" * len(d)])
def test_damaged_checkpoint_is_refused(tmp_path: Path, damage: object) -> None:
    training = Training.start(tmp_path / "run", tiny(), seed=5)
    list(training.run(should_stop=lambda: training.step >= 5))
    path = tmp_path / "run" / "checkpoint.safetensors"
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(AlgaError, match="is damaged"):
        Training.resume(tmp_path / "run")


def forged(folder: Path, forgery: Callable[[dict[str, Any], dict[str, torch.Tensor]], object]) -> None:
    """Change a checkpoint and make its hash match."""
    path = folder / "checkpoint.safetensors"
    with safetensors.safe_open(path, "pt") as file:
        counters, settings = json.loads(file.metadata()["state"])
    tensors = safetensors.torch.load_file(path)
    forgery(counters, tensors)
    state = json.dumps([counters, settings])
    safetensors.torch.save_file(tensors, path, {"state": state, "sha256": checkpoint._hash(state, tensors)})


FORGED: dict[str, Callable[[dict[str, Any], dict[str, torch.Tensor]], object]] = {
    "a loss that is text": lambda counters, tensors: counters["losses"].append("x"),
    "a step before the first": lambda counters, tensors: counters.update(step=-1),
    "fewer checks than none": lambda counters, tensors: counters.update(checks=-1),
    "a slot of the optimiser is lost": lambda counters, tensors: tensors.pop("optimizer.0.exp_avg"),
    "a slot of another type": lambda counters, tensors: tensors.update(
        {"optimizer.0.exp_avg": tensors["optimizer.0.exp_avg"].double()}
    ),
    "a slot of another shape": lambda counters, tensors: tensors.update({"optimizer.0.exp_avg": torch.zeros(())}),
    "a parameter counted from the end": lambda counters, tensors: tensors.update(
        {f"optimizer.-1.{slot}": tensors[f"optimizer.0.{slot}"].clone() for slot in ADAMW_SLOTS}
    ),
}


@pytest.mark.parametrize("forgery", FORGED)
def test_unusable_checkpoint_with_a_matching_hash_is_refused(tmp_path: Path, forgery: str) -> None:
    """An attacker can make the hash match; state that would fail in the first step is refused first."""
    training = Training.start(tmp_path / "run", tiny(), seed=5)
    list(training.run(should_stop=lambda: training.step >= 5))
    forged(tmp_path / "run", FORGED[forgery])
    with pytest.raises(AlgaError, match="is damaged"):
        Training.resume(tmp_path / "run")


FORGED_LIKE_FAST: dict[str, Callable[[dict[str, torch.Tensor]], object]] = {
    "the average is lost": lambda tensors: tensors.pop("average.head.weight"),
    "the average has another shape": lambda tensors: tensors.update({"average.head.weight": torch.zeros(3)}),
    "a momentum of another shape": lambda tensors: tensors.update({_last_momentum(tensors): torch.zeros(3)}),
    "state of AdamW for a matrix of Muon": lambda tensors: tensors.update(
        {_last_momentum(tensors).replace("momentum", "exp_avg"): torch.zeros(3)}
    ),
    "state for one parameter too many": lambda tensors: tensors.update({"optimizer.999.momentum": torch.zeros(3)}),
}


def _last_momentum(tensors: dict[str, torch.Tensor]) -> str:
    return max(name for name in tensors if name.endswith(".momentum"))


@pytest.mark.parametrize("forgery", FORGED_LIKE_FAST)
def test_unusable_average_or_momentum_is_refused(tmp_path: Path, forgery: str) -> None:
    training = Training.start(tmp_path / "run", tiny(**LIKE_FAST), seed=5)
    list(training.run(should_stop=lambda: training.step >= 5))
    forged(tmp_path / "run", lambda _, tensors: FORGED_LIKE_FAST[forgery](tensors))
    with pytest.raises(AlgaError, match="is damaged"):
        Training.resume(tmp_path / "run")
