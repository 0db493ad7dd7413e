"""`alga sweep`: many trainings, on this machine's cores or on a cluster."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from alga.cli.screen import AsJson, as_json, check_out, progress

Cluster = Annotated[
    str | None, typer.Option(help="The address of a Dask scheduler, as tcp://HOST:8786.", show_default="this machine")
]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Processes on this machine, one thread each.", show_default="its cores")
]


def sweep(
    plan: Annotated[Path, typer.Argument(help="Which recipes and seeds: a TOML file (docs/sweeps.md).")],
    out: Annotated[
        Path | None, typer.Option(help="Where results go, a line each.", show_default="PLAN with .jsonl")
    ] = None,
    cluster: Cluster = None,
    workers: Workers = None,
    json: AsJson = False,
) -> None:
    """Train every recipe of a plan with every seed; what has its result in OUT already is not run again.

    Exit with 1 if a run failed or a network was not certified.

    Example: alga sweep shares.toml --out runs/shares.jsonl
    """
    from alga import sweeps, trials

    out = plan.with_suffix(".jsonl") if out is None else out
    check_out(out)
    runs = trials.read(plan)
    with progress("runs") as watch:
        rows = sweeps.run(trials.MEASURE, runs, out, cluster=cluster, workers=workers, watch=watch, say=note)
    groups = trials.groups(rows)
    failed = sum(group.failed for group in groups)
    certified = sum(group.certified for group in groups)
    if json:
        content = {"runs": len(rows), "certified": certified, "failed": failed, "results": str(out)}
        typer.echo(as_json(content | {"groups": [dataclasses.asdict(group) for group in groups]}))
    else:
        for group in groups:
            steps = "-" if group.median_steps is None else f"{group.median_steps:,.0f} steps"
            seconds = "-" if group.median_seconds is None else f"{group.median_seconds:.1f} s"
            changes = ", ".join(f"{key} {value}" for key, value in group.changes.items()) or "all"
            typer.echo(f"{changes}: {group.certified} of {group.runs} certified; median {steps}, {seconds}")
        failures = f", {failed} failed (the same command tries them again)" if failed else ""
        typer.echo(f"{out}: {certified} of {len(rows)} certified{failures}")
    raise typer.Exit(0 if certified == len(rows) else 1)


def note(line: str) -> None:
    """Say something on the way."""
    typer.echo(line, err=True)
