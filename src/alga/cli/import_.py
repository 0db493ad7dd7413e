"""`alga import`: bring a network along that was trained elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def import_(
    file: Annotated[Path, typer.Argument(help="A PyTorch state_dict, safetensors, or a file of torch for R.")],
    out: Annotated[Path, typer.Option(help="The run folder to make.")],
    task: Annotated[str, typer.Option(help="What it was trained for.")] = "addition-padded",
) -> None:
    """Make a run of weights in the parameter names of the paper's author. It has no certificate yet.

    Example: alga import Model.pt --out runs/author
    """
    from alga import foreign, runs, tasks

    run = runs.adopt(tasks.find(task), foreign.read(file), file)
    with runs.claim(out):
        runs.save(out, run)
    typer.echo(f"{out}: {run.model.parameter_count:,} parameters; judge it with: alga certify {out}")
