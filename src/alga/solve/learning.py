"""Train from Python: a task in, a calculator out."""

from __future__ import annotations

import dataclasses
import os
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from alga import runs, tasks
from alga.base.errors import AlgaError, missing_extra
from alga.base.progress_bar import progress as bar
from alga.runs import Run, Weights
from alga.runs.config import Recipe
from alga.solve.calculator import Calculator
from alga.solve.solver import Solver
from alga.tasks import Task
from alga.training import recipes
from alga.training.changes import changed


def train(
    task: str | Task | type[Task],
    recipe: str | Recipe = "fast",
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    *,
    init: str | os.PathLike[str] | Calculator | None = None,
    checkpoints: int = 0,
    threads: int = 1,
    device: str = "auto",
    progress: bool = True,
    **changes: Any,
) -> Calculator:
    """Train a network until it is certified, and return it as a calculator.

    `task` is a name, an instance or a class of `alga.tasks.Procedure`, which may be defined in a notebook. `changes`
    are settings of the recipe or of the network: `width=32`, `learning_rate=1e-3`. With `out`, a run folder is written
    as `alga train` writes it; without, nothing is. `init` names a run whose weights the training begins from.

    If the steps end before the network is certified, there is a warning, and `calculator.certified` is false.

    >>> import alga
    >>> parity = alga.train("parity", "small", margin=2.0, progress=False)
    >>> parity.certified, parity.solve("10110111").answer
    (True, '0')
    """
    learned = tasks.adopt(task)
    in_file = isinstance(task, str) and task != learned.name
    named = str(task) if in_file else learned.name  # the name of a file goes into the run's configuration
    if isinstance(recipe, Recipe):
        chosen = changed(recipe, {"task": named, **changes})
    else:
        chosen = changed(recipes.find(recipe, named), changes)
    if checkpoints and out is None:
        raise AlgaError("checkpoints are kept in a run folder: name it by out")
    try:
        from alga.training import reporting
        from alga.training.trainer import Training
    except ModuleNotFoundError as missing:
        raise missing_extra("training", missing.name, "train") from None
    training = Training.start(
        None if out is None else Path(out), chosen,
        seed=seed, threads=threads, device=device, init=_run(init), checkpoints=checkpoints,
    )  # fmt: skip
    with bar(f"training {learned.name}", until="certified") if progress else nullcontext(_ignore) as watch:
        latest = reporting.follow(training, watch)
    run = training.as_run()
    if training.certificate is None:
        why = "no check was made"
        if latest is not None:
            wrong = f"{latest.wrong:,} of {len(learned.domain):,} prompts are wrong"
            why = f"{wrong}, the least margin is {latest.least_margin:.2g}"
        warnings.warn(f"not certified after {training.step:,} steps: {why}", stacklevel=2)
    weights = Weights(run.config, run.weights.data, Path(run.name))  # without the module that learned
    return Calculator(models=[Solver(dataclasses.replace(run, weights=weights))])


def _run(init: str | os.PathLike[str] | Calculator | None) -> Run | None:
    """Return the run to begin from."""
    if init is None:
        return None
    return init.network.run if isinstance(init, Calculator) else runs.load(init)


def _ignore(done: int, total: int, note: str = "") -> None:
    """Show nothing."""
