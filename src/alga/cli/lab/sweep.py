"""`alga lab sweep`: many trainings, on this machine's cores or on a cluster."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from alga.cli.console import as_json, check_out, note, progress
from alga.cli.options import AsJson, Cluster, Workers, option
from alga.research import records


def sweep(
    plan: Annotated[
        Path, typer.Argument(metavar="PLAN", help="A TOML file with the recipes and seeds (docs/sweeps.md).")
    ],
    out: Annotated[
        Path | None, option("FILE", "Write results here, one line per run.", default="PLAN with .jsonl")
    ] = None,
    cluster: Cluster = None,
    workers: Workers = None,
    json: AsJson = False,
) -> None:
    """Train every recipe of a plan with every seed.

    Runs that already have a result in OUT are not repeated. Exits with 1 if a run failed or a network was not
    certified.

    Examples:
      alga lab sweep shares.toml --out runs/shares.jsonl

    """
    from alga.research import sweeps, trials
    from alga.research.kept_runs import KeptRuns

    out = plan.with_suffix(".jsonl") if out is None else out
    check_out(out)
    runs = trials.read(plan)
    kept = KeptRuns(out, runs[0].get("keep", ""))
    with progress("runs") as watch:
        rows = sweeps.run(
            trials.MEASURE, runs, out, cluster=cluster, workers=workers, watch=watch, say=note, receive=kept.receive
        )
    folders = kept.finish(rows)
    with records.blaming(out, "sweep results"):
        groups = trials.groups(rows)
    failed = sum(group.failed for group in groups)
    certified = sum(group.certified for group in groups)
    if json:
        content = {"runs": len(rows), "certified": certified, "failed": failed, "results": str(out)}
        content |= {"kept": [str(folder) for folder in folders]} if "keep" in runs[0] else {}
        typer.echo(as_json(content | {"groups": [dataclasses.asdict(group) for group in groups]}))
    else:
        for group in groups:
            steps = "-" if group.median_steps is None else f"{group.median_steps:,.0f} steps"
            seconds = "-" if group.median_seconds is None else f"{group.median_seconds:.1f} s"
            changes = ", ".join(f"{key} {value}" for key, value in group.changes.items()) or "all"
            typer.echo(f"{changes}: {group.certified} of {group.runs} certified; median {steps}, {seconds}")
        failures = f", {failed} failed (the same command tries them again)" if failed else ""
        typer.echo(f"{out}: {certified} of {len(rows)} certified{failures}")
        if folders:
            typer.echo(f"kept: {folders[0] if len(folders) == 1 else f'{len(folders)} networks in {kept.folder}'}")
    raise typer.Exit(0 if certified == len(rows) else 1)
