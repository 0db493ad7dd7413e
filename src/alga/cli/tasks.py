"""`alga tasks`: the shipped networks and the tasks that a network can learn."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from alga.cli.console import as_json, progress
from alga.cli.options import AsJson
from alga.trust.certificate import BOUNDED


def tasks(
    json: AsJson = False,
    names: Annotated[bool, typer.Option("--names", help="Print only the names of the shipped networks.")] = False,
) -> None:
    """List the shipped networks and the tasks.

    Each network with the size of its domain, its parameters, the margin of its certificate and an example.

    Examples:
      alga tasks
      alga tasks --json

    """
    from alga import runs
    from alga.tasks import families

    if names:
        typer.echo("\n".join(runs.shipped()))
        return
    shipped, rows = runs.shipped(), list[dict[str, Any]]()
    with progress("networks") as watch:
        for name in shipped:
            rows.append(_row(name))
            watch(len(rows), len(shipped))
    if json:
        typer.echo(as_json({"tasks": rows, "in_bases_2_to_36": list(families())}))
        return
    wide = max(len(row["name"]) for row in rows)
    typer.echo(f"{'network':<{wide}}  prompts  parameters  margin  example")
    for row in rows:
        figures = f"{row['prompts']:>7,}  {row['parameters']:>10,}  {row['least_margin']:>6.2f}"
        typer.echo(f"{row['name']:<{wide}}  {figures}  {row['example']}")
    proven = sum(row["strength"] in BOUNDED for row in rows)
    typer.echo(
        f"\nEach is certified: checked on every prompt; {proven} of {len(rows)} proven in float32 (docs/proof.md)."
    )
    typer.echo("In every base from 2 to 36 there are the tasks")
    typer.echo(f"{', '.join(families())}, as in: alga train --task addition-base-7")


def _row(name: str) -> dict[str, Any]:
    from random import Random

    from alga import runs

    run = runs.load(name)
    certificate, task = run.certificate, run.config.task
    assert certificate is not None
    assert run.table is not None
    return {
        "name": name,
        "task": task.name,
        "summary": task.summary,
        "prompts": certificate.prompts,
        "parameters": certificate.parameters,
        "certified": run.certified,
        "strength": certificate.strength,
        "least_margin": certificate.least_margin,
        "example": task.example(Random(1), run.table.outputs.get),  # what the network says, without opening it
    }
