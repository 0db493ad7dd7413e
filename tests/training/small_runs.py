"""Small trainings shared by several tests, and their results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from alga.runs import Weights
from alga.runs.config import Recipe
from alga.training import recipes
from alga.training.changes import changed
from alga.training.trainer import Training
from tests.conftest import tiny

FEW: Final[dict[str, Any]] = {
    "parabola": 10, "alike": "0 13", "silent": "12", "values": "scalar", "positions": "..011234", "hidden": 1,
}  # fmt: skip


def few_numbers(**changes: Any) -> Recipe:
    """A network whose weights are made of 25 trained numbers."""
    return changed(recipes.smallest(), {**FEW, **changes})


def trained(folder: Path | None, **changes: object) -> Training:
    training = Training.start(folder, tiny(**changes), seed=5)
    list(training.run())
    return training


def bits(training: Training) -> bytes:
    return Weights.of(training.config, training.model).data


def steps_in(folder: Path) -> list[int]:
    return [json.loads(line)["step"] for line in (folder / "metrics.jsonl").read_text().splitlines()]


def begin(folder: Path, **changes: object) -> Training:
    return Training.start(folder, tiny(**changes), seed=5, threads=1)
