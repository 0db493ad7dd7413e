"""`alga compare`: the published methods side by side."""

from __future__ import annotations

import dataclasses
from json import dumps, loads
from pathlib import Path
from typing import Annotated

import typer

from alga import files, plots
from alga.cli.screen import check_out, progress
from alga.cli.sweep import Cluster, Workers, note
from alga.errors import AlgaError


def compare(
    methods: Annotated[
        list[str] | None, typer.Argument(help="Which methods; your own as FILE.py:CLASS.", show_default="all")
    ] = None,
    setting: Annotated[str, typer.Option(help="small, quick, or large (for a GPU).")] = "small",
    out: Annotated[Path, typer.Option(help="Where single runs go; those that are there are not run again.")] = Path(
        "runs/compare"
    ),
    results: Annotated[
        Path | None, typer.Option(help="Write all records here.", show_default="OUT/compare.json")
    ] = None,
    page: Annotated[Path | None, typer.Option(help="Write the page here, figures beside it.")] = None,
    cluster: Cluster = None,
    workers: Workers = None,
    report: Annotated[bool, typer.Option("--report", help="Run nothing: write the page from RESULTS again.")] = False,
) -> None:
    """Train published methods of addition alike and test them far beyond their training (up to 90 minutes on 2 cores).

    Example: alga compare reversed abacus alga --setting quick --out runs/quick
    """
    from alga import rivals
    from alga.rivals import page as pages

    results = out / "compare.json" if results is None else results
    page = out / "compare.md" if page is None else page
    if not report:
        from alga.rivals import comparison

        if setting not in comparison.SETTINGS:
            raise AlgaError(f"unknown setting {setting!r}; there are {', '.join(comparison.SETTINGS)}")
        chosen = comparison.SETTINGS[setting]()
        names = methods or list(rivals.METHODS)
        out.mkdir(parents=True, exist_ok=True)
        for written in (results, page):
            check_out(written)
        with progress("runs") as watch:
            records = comparison.run(names, chosen, out, cluster=cluster, workers=workers, watch=watch, say=note)
        content = {"setting": setting, "scale": dataclasses.asdict(chosen.scale), "records": records}
        files.write(results, f"{dumps(content, indent=1)}\n".encode())
    figures = page.parent / "figures"
    try:
        content = loads(results.read_text())
        drawn = {"compare": pages.figure(content), "compare-carries": pages.chains(content)}
        text = pages.page(content, "figures/compare.png", "figures/compare-carries.png")
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as problem:
        raise AlgaError(f"{results} holds no comparison ({type(problem).__name__}: {problem})") from None
    figures.mkdir(parents=True, exist_ok=True)
    for name, figure in drawn.items():
        files.write(figures / f"{name}.png", plots.render(figure, ".png"))
    files.write(page, text.encode())
    typer.echo(page)
