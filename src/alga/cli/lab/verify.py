"""`alga lab verify`: every shipped network under the second program."""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import Annotated

import typer

from alga.base import files
from alga.cli import completion
from alga.cli.console import check_out, note, progress
from alga.cli.options import Cluster, RunsFolder, Workers, option


def verify(
    networks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NETWORK]...", help="Which shipped networks.", show_default="all", autocompletion=completion.models
        ),
    ] = None,
    out: RunsFolder = Path("runs/verify"),
    results: Annotated[Path | None, option("FILE", "Write all records here.", default="OUT/verify.json")] = None,
    page: Annotated[Path | None, option("FILE", "Write the page here.", default="OUT/verified.md")] = None,
    cluster: Cluster = None,
    workers: Workers = None,
) -> None:
    """Verify all shipped networks with the independent program.

    Takes hours of CPU; stopped, it continues with the same command. Exits with 1 if a certificate is refused.

    Examples:
      alga lab verify parity smallest
      alga lab verify --results results/verify.json --page docs/verified.md

    """
    from alga import runs
    from alga.base.errors import AlgaError
    from alga.research import verifications

    results = out / "verify.json" if results is None else results
    page = out / "verified.md" if page is None else page
    for folder in (out, results.parent, page.parent):
        runs.check_no_run(folder)
    names = networks or runs.shipped()
    if unknown := [name for name in names if name not in runs.shipped()]:
        raise AlgaError(f"unknown network {unknown[0]!r}; there are {', '.join(runs.shipped())}")
    out.mkdir(parents=True, exist_ok=True)
    for written in (results, page):
        check_out(written)
    with progress("verified networks") as watch:
        found = verifications.run(names, out, cluster=cluster, workers=workers, watch=watch, say=note)
    files.write(results, f"{dumps({'records': found}, indent=1)}\n".encode())
    files.write(page, verifications.page(found).encode())
    typer.echo(page)
    raise typer.Exit(0 if all(record["agrees"] for record in found) else 1)
