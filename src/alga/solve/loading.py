"""Load a calculator: the shipped networks, or one's own in the place of one of them."""

from __future__ import annotations

import os

from alga import runs, tasks
from alga.base.errors import AlgaError
from alga.solve.calculator import Calculator
from alga.solve.solver import Solver
from alga.tasks import Task


def load(
    model: str | os.PathLike[str] | None = None,
    *,
    base: int | None = None,
    task: str | Task | type[Task] | None = None,
    checkpoint: int | None = None,
) -> Calculator:
    """Load the shipped networks, opened when needed; `model`, a shipped name or a run folder, replaces one of them.

    A network for a task of your own needs the `task` too: its class, an instance, or `mine.py:Collatz`. With
    `checkpoint`, the network is as it was after so many steps, if its training kept those; it has no certificate.
    """
    if model is None:
        if task is not None or checkpoint is not None:
            raise AlgaError("a task or a checkpoint belongs to a network: name its run folder too")
        return Calculator(base)
    adopted = None if task is None else tasks.adopt(task)
    network = Solver(runs.load(model, checkpoint=checkpoint))
    if adopted is not None and network.trained.name != adopted.name:
        raise AlgaError(f"the model {network.run.name} is for the task {network.trained.name}, not {adopted.name}")
    return Calculator(base, models=(network,))
