"""`alga demo`: certify the shipped adder again and watch it add, in half a minute."""

from __future__ import annotations

import random
import time

import typer

from alga.cli.console import progress


def demo() -> None:
    """Check the shipped adder on every prompt, then watch it add.

    Examples:
      alga demo

    """
    from alga.research.studies import published
    from alga.solve.solver import Solver

    began = time.monotonic()
    adder = Solver.load()
    task, parameters = adder.trained, adder.run.config.model.parameters
    typer.echo(f"1. The certificate, checked again now: every step that {task.name} can ever ask for.")
    with progress("checking every prompt") as watch:
        certificate = adder.certify(watch)
    right = certificate.prompts - len(certificate.failures)
    typer.echo(f"   {right:,} / {certificate.prompts:,} prompts right, least margin {certificate.least_margin:.2f}\n")

    typer.echo("2. The example of the paper, step by step.")
    typer.echo(f"{adder.trace('65785', '8765')}\n")

    typer.echo("3. The two sums that the paper's author published.")
    verdicts = [certificate.certified]
    for x, y, total in published.SUMS:
        answer = adder.solve(x, y, engine="sequential").answer
        verdicts.append(answer == total)
        typer.echo(f"   {len(x)} digits: {_verdict(verdicts[-1])}\n     x = {x}\n     y = {y}\n   sum = {answer}")

    digits = 1000
    typer.echo(f"\n4. A random sum of {digits:,} digits; the network was trained on single columns.")
    rng = random.Random()
    x, y = (str(rng.randint(1, 9)) + "".join(rng.choices("0123456789", k=digits - 1)) for _ in range(2))
    with progress("adding") as watch:
        (result,) = adder.solve_many([(x, y)], engine="sequential", watch=watch)
    verdicts.append(result.answer == adder.procedure.oracle(x, y))
    said = f"{_verdict(verdicts[-1])} against exact arithmetic, in {result.step_count:,} steps"
    typer.echo(f"   {said}: {(result.answer or '')[:24]}…\n")

    typer.echo(f"A Transformer of {parameters:,} parameters, {certificate.statement}.")
    typer.echo(f"It has learned the step; the loop that feeds it columns is given. ({time.monotonic() - began:.0f} s)")
    raise typer.Exit(0 if all(verdicts) else 1)


def _verdict(right: bool) -> str:
    return "right" if right else "WRONG"
