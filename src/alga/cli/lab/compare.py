"""`alga lab compare`: published methods of addition, trained alike."""

from __future__ import annotations

import dataclasses
from json import dumps
from pathlib import Path
from typing import Annotated

import typer

from alga.base import figures as drawing
from alga.base import files
from alga.base.errors import AlgaError
from alga.cli import completion
from alga.cli.console import check_out, note, progress
from alga.cli.options import Cluster, RunsFolder, Workers, option
from alga.research import records


def compare(
    methods: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[METHOD]...",
            help="Which methods; your own as FILE.py:CLASS.",
            show_default="all",
            autocompletion=completion.methods,
        ),
    ] = None,
    setting: Annotated[str, option("SETTING", "quick, small, or large (for a GPU).")] = "small",
    out: RunsFolder = Path("runs/compare"),
    results: Annotated[Path | None, option("FILE", "Write all records here.", default="OUT/compare.json")] = None,
    page: Annotated[
        Path | None, option("FILE", "Write the page here, figures beside it.", default="OUT/compare.md")
    ] = None,
    cluster: Cluster = None,
    workers: Workers = None,
    report: Annotated[bool, typer.Option("--report", help="Run nothing; write the page from RESULTS again.")] = False,
) -> None:
    """Train published methods of addition alike and compare them.

    Each trains until its validation sums are right, then adds far longer numbers. Takes some hours on 2 cores; a
    stopped comparison continues with the same command.

    Examples:
      alga lab compare
      alga lab compare reversed abacus alga --setting quick --out runs/quick

    """
    from alga import runs
    from alga.research import baselines
    from alga.research.baselines import comparison, first_page
    from alga.research.baselines import page as pages

    results = out / "compare.json" if results is None else results
    page = out / "compare.md" if page is None else page
    for folder in (out, results.parent, page.parent):
        runs.check_no_run(folder)
    if not report:
        if setting not in comparison.SETTINGS:
            raise AlgaError(f"unknown setting {setting!r}; there are {', '.join(comparison.SETTINGS)}")
        chosen = comparison.SETTINGS[setting]()
        names = methods or list(baselines.METHODS)
        out.mkdir(parents=True, exist_ok=True)
        for written in (results, page):
            check_out(written)
        with progress("runs") as watch:
            found = comparison.run(names, chosen, out, cluster=cluster, workers=workers, watch=watch, say=note)
        content = {"setting": setting, **dataclasses.asdict(chosen), "records": found}
        files.write(results, f"{dumps(content, indent=1)}\n".encode())
    figures = page.parent / "figures"
    content = records.read(results, comparison.WHAT)
    with records.blaming(results, comparison.WHAT):
        writer = pages if "longer" in content else first_page
        text = writer.page(content, "figures/compare.png", "figures/compare-carries.png")
        parts = {"compare": writer.figure(content), "compare-carries": writer.chains(content)}
        drawn = {name: drawing.render(figure, ".png") for name, figure in parts.items()}
    figures.mkdir(parents=True, exist_ok=True)
    for name, data in drawn.items():
        files.write(figures / f"{name}.png", data)
    files.write(page, text.encode())
    typer.echo(page)
