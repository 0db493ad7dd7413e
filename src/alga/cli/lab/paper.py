"""`alga lab paper`: the paper's experiments, from training to a page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from alga.base import files
from alga.base.folders import Folder
from alga.cli.console import check_folder, check_out, note, progress
from alga.cli.options import option
from alga.research import records

if TYPE_CHECKING:
    from alga.base.progress import Watch

LARGEST_FIGURE: Final = 2**24  # bytes


def paper(
    out: Annotated[
        Path, option("FOLDER", "Folder for runs and results; what is already in it is not repeated.")
    ] = Path("runs/paper"),
    page: Annotated[Path | None, option("FILE", "Write the page here.", default="OUT/paper.md")] = None,
    author: Annotated[Path | None, option("FILE", "Also certify the author's weights.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A short version that takes about a minute.")] = False,
) -> None:
    """Repeat the paper's experiments and check its claims.

    Trains with the paper's recipe, certifies, evaluates, and goes through the paper claim by claim. Takes half an hour;
    a stopped run continues with the same command.

    Examples:
      alga lab paper --quick --out runs/quick

    """
    page = out / "paper.md" if page is None else page
    if page.parent != out:
        check_out(page)
    check_folder(out)
    from alga import runs
    from alga.research.studies import paper as experiments
    from alga.research.studies.paper_page import page as written

    runs.check_no_run(page.parent)

    def show(title: str, stage: Callable[[Watch], dict[str, Any]], until: str = "") -> dict[str, Any]:
        note(f"{title} …")
        with progress(title, until=until) as watch:
            return stage(watch)

    results = experiments.reproduce(out, experiments.quick() if quick else experiments.whole(), show, author)
    figure = page.with_name("paper-curves.png")
    files.write(figure, Folder(out / "run").read("curves.png", LARGEST_FIGURE))
    with records.blaming(out / experiments.RESULTS, experiments.WHAT):
        text = written(results, figure.name)
    files.write(page, text.encode())
    typer.echo(f"{page} and {figure}")
