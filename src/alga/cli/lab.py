"""`alga lab` and `alga report`: the paper's open questions, run and told."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from alga.cli.screen import check_out, progress
from alga.cli.sweep import Cluster, Workers, note
from alga.errors import AlgaError

Results = Annotated[Path, typer.Option(help="Where the records of the studies are.")]


def lab(
    studies: Annotated[list[str] | None, typer.Argument(help="Which studies.", show_default="all")] = None,
    out: Annotated[Path, typer.Option(help="Where single runs go; those that are there are not run again.")] = Path(
        "runs/lab"
    ),
    results: Results = Path("results/lab"),
    quick: Annotated[bool, typer.Option("--quick", help="A cut version, in minutes.")] = False,
    cluster: Cluster = None,
    workers: Workers = None,
) -> None:
    """Answer the paper's open questions by training hundreds of networks (hours; can be stopped and goes on).

    Example: alga lab share --quick --out runs/quick --results runs/quick
    """
    from alga.studies import lab as studied

    for folder in (out, results):
        if folder.exists() and not folder.is_dir():
            raise AlgaError(f"expected a folder to write to, got the file {folder}")
    for study in studied.find(studies or []):
        note(f"{study.title} …")
        with progress(study.name) as watch:
            studied.run(study, out, results, quick=quick, cluster=cluster, workers=workers, watch=watch, say=note)
        typer.echo(results / f"{study.name}.json")


def report(
    results: Results = Path("results/lab"),
    page: Annotated[Path, typer.Option(help="Write the page here, figures beside it.")] = Path("docs/lab.md"),
) -> None:
    """Write the lab's page and figures from its results.

    Example: alga report --results results/lab --page docs/lab.md
    """
    check_out(page)
    from alga.studies import lab as studied

    for path in studied.report(results, page):
        typer.echo(path)
