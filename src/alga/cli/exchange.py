"""`alga export` and `alga import`: a network as a file for other programs, and weights that were trained elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alga.base import files
from alga.base.errors import AlgaError
from alga.cli import options
from alga.cli.console import check_folder, check_out, progress

if TYPE_CHECKING:
    from alga.network.kinds import AnyShape
    from alga.solve.solver import Solver
    from alga.tasks import Task


def export(
    given: Annotated[
        list[str],
        options.model_argument(
            "[MODEL] OUT",
            f"A network's name or run folder ({options.ADDER} if left out), and the file or new folder to write.",
        ),
    ],
    format: Annotated[  # noqa: A002 - the option's name
        str | None,
        options.option(
            "FORMAT",
            "onnx, table, page, proof, or table-proof (the table's theorem only); hf or transformer-lens for a folder.",
            default="by the file's ending: .onnx, .json, .html or .v",
        ),
    ] = None,
    model: options.OldModel = None,
    task: options.OwnTask = None,
) -> None:
    """Write a network to a file or folder for other programs.

    As ONNX, compared with the network on every prompt first; as JSON, the table of all its answers; as HTML, the page
    of `alga serve` in one file; as a Coq file, its theorems for numbers of any length (docs/kernel.md). As a folder for
    Hugging Face transformers (hf) or for TransformerLens.

    Examples:
      alga export adder.onnx
      alga export runs/mine table.json
      alga export adder.html
      alga export proof.v
      alga export whole whole-hf --format hf
      alga export smallest smallest-lens --format transformer-lens

    """
    *named, file = given
    if len(named) > 1:
        raise AlgaError(f"expected a network and a file, got {len(given)} arguments (see alga export --help)")
    model, out = options.one_model(named[0] if named else None, model), Path(file)
    options.load_own_task(task)
    from alga import export as formats
    from alga.serve import single
    from alga.solve.solver import Solver

    if format in formats.FOLDERS:
        _export_folder(Solver.load(model), format, out)
        return
    check_out(out)
    ways = {**formats.FORMATS, "page": single.page}
    chosen = {**formats.FORMAT_OF_SUFFIX, ".html": "page"}.get(out.suffix) if format is None else format
    if chosen not in ways:
        got = f"the file name {out.name}" if format is None else format
        raise AlgaError(f"expected a format of {', '.join([*ways, *formats.FOLDERS])}, got {got}")
    solver = Solver.load(model)
    with progress("exporting") as watch:
        data = ways[chosen](solver, watch)
    files.write(out, data)
    typer.echo(f"{out}: {chosen}, {len(data):,} bytes, the network's answers {_asked(solver)}")


def _export_folder(solver: Solver, chosen: str, out: Path) -> None:
    """Write a format that is a folder; it must be new or empty."""
    from alga import export as formats
    from alga import runs
    from alga.base.folders import Folder

    check_folder(out)
    with progress("exporting") as watch:
        content = formats.FOLDERS[chosen](solver, watch)
    with runs.claim(out):
        folder = Folder(out)
        for name, data in content.items():
            folder.write(name, data)
    size = sum(map(len, content.values()))
    typer.echo(f"{out}: {chosen}, {len(content)} files, {size:,} bytes, the network's answers {_asked(solver)}")


def _asked(solver: Solver) -> str:
    """Return what all of a network's answers are to, in words."""
    what = "in all {:,} situations" if solver.own_engine == "whole" else "to all {:,} prompts"
    return what.format(len(solver.trained.domain))


def import_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A PyTorch state_dict, a safetensors file, or a file of torch for R.")
    ],
    out: Annotated[Path, options.option("FOLDER", "The run folder to create.")],
    task: Annotated[
        str | None,
        options.task_option(
            "The task that the network was trained for.", default="what the file says, or addition-padded"
        ),
    ] = None,
    like: Annotated[
        str | None, options.model_option("A network of the same shape, if the file does not say its shape.", "--like")
    ] = None,
    recipe: Annotated[str | None, options.recipe_option("Or a recipe whose networks have that shape.")] = None,
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


def _shape(task: str | None, like: str | None, recipe: str | None) -> tuple[Task | None, AnyShape | None]:
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
