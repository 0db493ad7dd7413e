"""`alga import`: make a run folder from weights that were trained elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alga.base.errors import AlgaError
from alga.cli.options import model_option, option, recipe_option, task_option

if TYPE_CHECKING:
    from alga.network.config import ModelConfig
    from alga.tasks import Task


def import_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A PyTorch state_dict, a safetensors file, or a file of torch for R.")
    ],
    out: Annotated[Path, option("FOLDER", "The run folder to create.")],
    task: Annotated[
        str | None,
        task_option("The task that the network was trained for.", default="what the file says, or addition-padded"),
    ] = None,
    like: Annotated[
        str | None, model_option("A network of the same shape, if the file does not say its shape.", "--like")
    ] = None,
    recipe: Annotated[str | None, recipe_option("Or a recipe whose networks have that shape.")] = None,
) -> None:
    """Make a run folder from weights trained elsewhere.

    The run has no certificate yet: `alga certify` makes one. Parameters are named either as the paper's author names
    them (the shape is then the paper's, unless --like or --recipe gives another), or as this package does, in
    `torch.save(model.state_dict())` and in the `model.safetensors` of a run folder.

    Examples:
      alga import Model.pt --out runs/author
      alga import state.pt --task parity --recipe small --out runs/mine

    """
    from alga import runs
    from alga.runs.adoption import adopt

    run = adopt(file, *_shape(task, like, recipe))
    with runs.claim(out):
        runs.save(out, run)
    typer.echo(f"{out}: {run.config.model.parameters:,} parameters; check it with: alga certify {out}")


def _shape(task: str | None, like: str | None, recipe: str | None) -> tuple[Task | None, ModelConfig | None]:
    """Return the task and shape that the options name, None for what they leave to the file."""
    from alga import runs, tasks
    from alga.runs import config as configs
    from alga.training import recipes

    if like is not None and recipe is not None:
        raise AlgaError("expected --like or --recipe, got both")
    named = None if task is None else tasks.find(task)
    if recipe is not None:
        chosen = recipes.find(recipe, task)
        return tasks.find(chosen.task), chosen.network()
    if like is not None:
        config = configs.load(runs.locate(like))
        return named or config.task, config.model
    return named, None
