"""`alga export`: a network as a file for elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from alga import files
from alga.cli.screen import Model, OwnTask, check_out, known_task, progress
from alga.errors import AlgaError


def export(
    out: Annotated[Path, typer.Argument(help="The file to write.")],
    format: Annotated[  # noqa: A002 - the option's name
        str | None,
        typer.Option(help="onnx, table or page.", show_default="by the file's ending: .onnx, .json or .html"),
    ] = None,
    model: Model = "addition",
    task: OwnTask = None,
) -> None:
    """Write the network's step as ONNX, checked on every prompt first; all that it ever answers as JSON; or the page.

    Example: alga export adder.onnx

    Example: alga export table.json --model runs/mine

    Example: alga export adder.html
    """
    check_out(out)
    known_task(task)
    from alga import export as formats
    from alga.calculator import load
    from alga.serve import single

    ways = {**formats.FORMATS, "page": single.page}  # the page stands on the table, so it comes after it
    chosen = {**formats.SUFFIXES, ".html": "page"}.get(out.suffix) if format is None else format
    if chosen not in ways:
        known = ", ".join(ways)
        raise AlgaError(
            f"expected a format of {known}, got {'the file name ' + out.name if format is None else format}"
        )
    calculator = load(model)
    with progress("exporting") as watch:
        data = ways[chosen](calculator, watch)
    files.write(out, data)
    prompts = len(calculator.trained.domain)
    typer.echo(f"{out}: {chosen}, {len(data):,} bytes, the network's answers to all {prompts:,} prompts")
