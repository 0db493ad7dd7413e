"""Slow: real trainings from real seeds, real kills."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from alga import runs
from alga.runs.config import Recipe
from alga.solve.solver import Solver
from alga.training import recipes
from alga.training.trainer import Training
from tests.conftest import start, wait_for

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", range(20))  # the recipe was tuned on the first five
def test_fast_recipe_reaches_the_full_certificate(seed: int, tmp_path: Path) -> None:
    process = start("alga", "train", "--recipe", "fast", "--seed", seed, "--out", tmp_path / "run", "--json")
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert json.loads(out)["certified"] is True
    assert json.loads(out)["least_margin"] > 4.99
    assert Solver.load(tmp_path / "run").certify().prompts == 2300


def test_recipe_and_seed_reproduce_the_shipped_adder(tmp_path: Path) -> None:
    training = Training.start(tmp_path / "run", recipes.find("release"), seed=0, threads=2)
    list(training.run())
    assert training.certificate is not None
    assert training.certificate.least_margin >= 14
    shipped = runs.load("addition").config.training
    assert training.recipe == Recipe(**shipped["recipe"])  # newer settings have their defaults
    assert (training.config.training["seed"], training.threads) == (shipped["seed"], shipped["threads"])


def test_crowd_finds_26_numbers_that_are_right_everywhere(tmp_path: Path) -> None:
    training = Training.start(tmp_path / "run", recipes.find("smallest-26"), seed=1, threads=1)
    list(training.run())
    assert training.certificate is not None
    assert training.certificate.parameters == 26
    assert training.reached_aim


def test_paper_recipe_learns(tmp_path: Path) -> None:
    """A short version: after 800 iterations most prompts are right; all of it takes minutes (make bench-training)."""
    training = Training.start(tmp_path / "run", recipes.find("paper"), seed=0)
    wrong = [progress.wrong for progress in training.run(should_stop=lambda: training.step >= 800)]
    assert wrong[0] > wrong[-1]
    assert wrong[-1] < 2100 / 2


SAVING_OFTEN = """
import sys
from alga.__main__ import main
from alga.training import trainer
trainer.CHECKPOINT_SECONDS = 0.2
sys.exit(main())
"""


def start_saving_often(*arguments: object) -> subprocess.Popen[str]:
    """Start `alga` with more checkpoints than usual: the whole training takes less time than lies between two."""
    command = [sys.executable, "-c", SAVING_OFTEN, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_kills_at_random_moments_lose_nothing(tmp_path: Path) -> None:
    """After repeated kill -9 the run resumes each time, and ends with the bits of an undisturbed one."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    undisturbed = start("alga", "train", "--seed", "3", "--out", whole)
    undisturbed.communicate()
    assert undisturbed.returncode == 0
    rng = random.Random(1)
    arguments: tuple[object, ...] = ("train", "--seed", "3", "--out", killed)
    kills = 0

    def ended() -> bool:
        return (killed / "certificate.json").exists() and not (killed / "checkpoint.safetensors").exists()

    while kills < 5 and not ended():  # a kill may also come after the end, before the process exits
        process = start_saving_often(*arguments)
        try:
            _, err = process.communicate(timeout=rng.uniform(2, 5))
            assert process.returncode == 0, err
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kills += 1
        if (killed / "config.json").exists():
            arguments = ("train", "--resume", killed)
    if not ended():
        final = start("alga", *arguments)
        _, err = final.communicate()
        assert final.returncode == 0, err
    assert kills > 0
    assert (killed / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    strip = lambda folder: [  # noqa: E731
        {key: value for key, value in json.loads(line).items() if key != "seconds"}
        for line in (folder / "metrics.jsonl").read_text().splitlines()
    ]
    assert strip(killed) == strip(whole)
    assert Solver.load(killed).certified


def test_ctrl_c_leaves_a_run_that_resumes_to_the_same_bits(tmp_path: Path) -> None:
    undisturbed = start("alga", "train", "--seed", "4", "--out", tmp_path / "whole")
    undisturbed.communicate()
    assert undisturbed.returncode == 0
    process = start("alga", "train", "--seed", "4", "--out", tmp_path / "stopped")
    wait_for((tmp_path / "stopped" / "metrics.jsonl").exists, process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert f"continue with: alga train --resume {tmp_path / 'stopped'}" in err
    assert "Traceback" not in err
    resumed = start("alga", "train", "--resume", tmp_path / "stopped")
    resumed.communicate()
    assert resumed.returncode == 0
    names = ("model.safetensors", "table.json")
    assert all((tmp_path / "stopped" / n).read_bytes() == (tmp_path / "whole" / n).read_bytes() for n in names)
