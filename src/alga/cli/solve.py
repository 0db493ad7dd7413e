"""`alga solve`: any network on a problem of its own task."""

from __future__ import annotations

from typing import Annotated

import typer

from alga import engines
from alga.cli.screen import AsJson, Out, OwnTask, as_json, check_out, deliver, known_task, progress
from alga.errors import AlgaError


def solve(
    model: Annotated[str, typer.Argument(help="A shipped network's name or a run folder.")],
    operands: Annotated[list[str], typer.Argument(help="The problem, as its task takes it.")],
    task: OwnTask = None,
    trace: Annotated[bool, typer.Option("--trace", help="Show every step, as the paper prints it.")] = False,
    engine: Annotated[
        str | None,
        typer.Option(help=f"How steps are chained: {', '.join(engines.names())}.", show_default="as in alga add"),
    ] = None,
    json: AsJson = False,
    out: Out = None,
) -> None:
    """Solve a problem of any task by its network.

    Example: alga solve parity 10110111

    Example: alga solve xor-base-16 ff0f 1234
    """
    if trace and engine not in (None, "sequential"):
        raise AlgaError(f"--trace runs the network step by step: it goes with --engine sequential, not {engine}")
    check_out(out)
    known_task(task)
    if engine is not None:
        engines.find(engine)
    from alga.calculator import load

    calculator = load(model)
    if not calculator.certified:
        typer.echo(f"alga: warning: the model {model} has no certificate; its answers may be wrong", err=True)
    with progress("solving") as watch:
        if trace:
            kept = calculator.trace(*operands, watch=watch)
            result = kept.result
        else:
            (result,) = calculator.solve_many([operands], engine=engine, watch=watch)
    if json:
        deliver(as_json(result.as_dict()), out)
    elif trace:
        deliver(str(kept), out)
    elif result.answer is not None:
        deliver(result.answer, out)
    if result.failure:
        typer.echo(f"alga: {result.failure}", err=True)
    raise typer.Exit(1 if result.failure else 0)
