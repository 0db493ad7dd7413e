"""`alga diff`: two runs side by side."""

from __future__ import annotations

from typing import Annotated

import typer

from alga.cli.console import as_json
from alga.cli.options import AsJson, OwnTask, load_own_task, model_argument


def diff(
    a: Annotated[str, model_argument("A", "A shipped network's name or a run folder.")],
    b: Annotated[str, model_argument("B", "Another.")],
    task: OwnTask = None,
    json: AsJson = False,
) -> None:
    """Compare two networks: settings, trainings, and the prompts that they answer differently.

    Exits with 1 if an answer differs.

    Examples:
      alga diff addition runs/mine
      alga diff runs/narrow runs/wide --json

    """
    load_own_task(task)
    from alga.solve.differences import diff as compared

    found = compared(a, b)
    typer.echo(as_json(found.as_dict()) if json else str(found))
    raise typer.Exit(0 if found.same_answers else 1)
