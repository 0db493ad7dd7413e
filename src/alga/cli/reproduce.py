"""`alga reproduce`: the paper's experiments, from nothing to a page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from alga import files
from alga.cli.screen import check_out, progress
from alga.errors import AlgaError

if TYPE_CHECKING:
    from alga.progress import Watch


def reproduce(
    out: Annotated[
        Path, typer.Option(help="Where runs and results go; what is there already is not run again.")
    ] = Path("runs/paper"),
    page: Annotated[Path | None, typer.Option(help="Write the page here.", show_default="OUT/paper.md")] = None,
    author: Annotated[Path | None, typer.Option(help="The author's weights, to be judged too.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A cut version, in about a minute.")] = False,
) -> None:
    """Train by the paper's recipe, certify, evaluate, and go through the paper claim by claim (half an hour).

    Example: alga reproduce --quick --out runs/quick
    """
    page = out / "paper.md" if page is None else page
    if page.parent != out:
        check_out(page)
    if out.exists() and not out.is_dir():
        raise AlgaError(f"expected a folder to write to, got the file {out}")
    from alga.studies import paper
    from alga.studies.page import page as written

    def show(title: str, stage: Callable[[Watch], dict[str, Any]]) -> dict[str, Any]:
        typer.echo(f"{title} …", err=True)
        with progress(title) as watch:
            return stage(watch)

    results = paper.reproduce(out, paper.quick() if quick else paper.whole(), show, author)
    figure = page.with_name("paper-curves.png")
    files.write(figure, (out / "run" / "curves.png").read_bytes())
    files.write(page, written(results, figure.name).encode())
    typer.echo(f"{page} and {figure}")
