"""`alga export`: one file that holds a network, for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from alga.base import files
from alga.base.errors import AlgaError
from alga.cli.console import check_out, progress
from alga.cli.options import ADDER, OldModel, OwnTask, load_own_task, model_argument, one_model, option


def export(
    given: Annotated[
        list[str],
        model_argument("[MODEL] OUT", f"A network's name or run folder ({ADDER} if left out), and the file to write."),
    ],
    format: Annotated[  # noqa: A002 - the option's name
        str | None, option("FORMAT", "onnx, table or page.", default="by the file's ending: .onnx, .json or .html")
    ] = None,
    model: OldModel = None,
    task: OwnTask = None,
) -> None:
    """Write a network to a file for other programs.

    As ONNX, compared with the network on every prompt first; as JSON, the table of all its answers; or as HTML, the
    page of `alga serve` in one file.

    Examples:
      alga export adder.onnx
      alga export runs/mine table.json
      alga export adder.html

    """
    *named, file = given
    if len(named) > 1:
        raise AlgaError(f"expected a network and a file, got {len(given)} arguments (see alga export --help)")
    model, out = one_model(named[0] if named else None, model), Path(file)
    check_out(out)
    load_own_task(task)
    from alga import export as formats
    from alga.serve import single
    from alga.solve.solver import Solver

    ways = {**formats.FORMATS, "page": single.page}
    chosen = {**formats.SUFFIXES, ".html": "page"}.get(out.suffix) if format is None else format
    if chosen not in ways:
        got = f"the file name {out.name}" if format is None else format
        raise AlgaError(f"expected a format of {', '.join(ways)}, got {got}")
    solver = Solver.load(model)
    with progress("exporting") as watch:
        data = ways[chosen](solver, watch)
    files.write(out, data)
    prompts = len(solver.trained.domain)
    typer.echo(f"{out}: {chosen}, {len(data):,} bytes, the network's answers to all {prompts:,} prompts")
