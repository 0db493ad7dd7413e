"""`alga solve`: one problem of any task, by the network that learned it."""

from __future__ import annotations

from typing import Annotated

import typer

from alga.base.errors import AlgaError
from alga.cli.answers import deliver_result, warn_if_uncertified
from alga.cli.console import check_out, progress
from alga.cli.options import AsJson, Out, OwnTask, engine_option, load_own_task, model_argument


def solve(
    model: Annotated[str, model_argument("MODEL")],
    operands: Annotated[list[str], typer.Argument(metavar="OPERAND...", help="The problem, as its task takes it.")],
    task: OwnTask = None,
    trace: Annotated[bool, typer.Option("--trace", help="Show every step, as the paper prints it.")] = False,
    engine: Annotated[str | None, engine_option("table where the network is certified, else sequential")] = None,
    json: AsJson = False,
    out: Out = None,
) -> None:
    """Solve a problem of any task with its network.

    Examples:
      alga solve parity 10110111
      alga solve xor-base-16 ff0f 1234
      alga solve runs/collatz 27 --task mine.py:Collatz --trace

    """
    if trace and engine not in (None, "sequential"):
        raise AlgaError(f"--trace runs the network step by step: it goes with --engine sequential, not {engine}")
    check_out(out)
    load_own_task(task)
    from alga.solve import engines
    from alga.solve.solver import Solver

    if engine is not None:
        engines.find(engine)
    solver = Solver.load(model)
    warn_if_uncertified(solver)
    with progress("solving") as watch:
        if trace:
            result = solver.trace(*operands, watch=watch)
        else:
            (result,) = solver.solve_many([operands], engine=engine, watch=watch)
    raise typer.Exit(deliver_result(result, json=json, out=out))
