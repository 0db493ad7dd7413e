"""`alga lab study` and `alga lab report`: run the studies of the paper's open questions, and write their page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from alga.cli import completion
from alga.cli.console import check_folder, check_out, note, progress
from alga.cli.options import Cluster, RunsFolder, Workers, option

Results = Annotated[Path, option("FOLDER", "The folder with the records of the studies.")]


def study(
    studies: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[STUDY]...", help="Which studies.", show_default="all", autocompletion=completion.studies
        ),
    ] = None,
    out: RunsFolder = Path("runs/lab"),
    results: Results = Path("results/lab"),
    quick: Annotated[bool, typer.Option("--quick", help="A short version that takes minutes.")] = False,
    cluster: Cluster = None,
    workers: Workers = None,
) -> None:
    """Study the paper's open questions.

    Trains hundreds of networks, which takes hours; stopped studies continue with the same command.

    Examples:
      alga lab study
      alga lab study share --quick --out runs/quick --results runs/quick

    """
    from alga import runs
    from alga.research.studies import lab as studied

    for folder in (out, results):
        check_folder(folder)
        runs.check_no_run(folder)
    for chosen in studied.find(studies or []):
        note(f"{chosen.title} …")
        with progress(chosen.name) as watch:
            studied.run(chosen, out, results, quick=quick, cluster=cluster, workers=workers, watch=watch, say=note)
        typer.echo(results / f"{chosen.name}.json")


def report(
    results: Results = Path("results/lab"),
    page: Annotated[Path, option("FILE", "Write the page here, figures beside it.")] = Path("docs/lab.md"),
) -> None:
    """Write the page and figures of the studies.

    Examples:
      alga lab report --results results/lab --page docs/lab.md

    """
    check_out(page)
    from alga.research.studies import lab as studied

    for path in studied.report(results, page):
        typer.echo(path)
