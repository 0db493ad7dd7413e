"""`alga lab plot`: the figure of a sweep."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from alga.base import figures, files
from alga.cli.console import check_out
from alga.cli.options import option


def plot(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="The results of a sweep, one line per run.")],
    x: Annotated[
        str | None, option("SETTING", "The setting along the axis.", default="the one with the most values")
    ] = None,
    y: Annotated[
        str, option("MEASUREMENT", "The measurement, such as seconds, wrong or least_margin.")
    ] = "certified_at",
    out: Annotated[Path | None, option("FILE", "The figure, as PNG or SVG.", default="RESULTS with .png")] = None,
) -> None:
    """Draw the results of a sweep.

    Medians over the seeds with their intervals, and each run as a dot; other settings that vary are series.

    Examples:
      alga lab plot runs/shares.jsonl
      alga lab plot runs/shares.jsonl --x width --y seconds --out width.svg

    """
    out = results.with_suffix(".png") if out is None else out
    figures.check(out)
    check_out(out)
    from alga.research import sweep_figure, sweep_table

    figure = sweep_figure.draw(sweep_table.read(results), x, y, results.stem)
    files.write(out, figures.render(figure, out.suffix))
    typer.echo(str(out))
