"""`alga verify`: check a proven certificate by an independent program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from alga.cli.console import as_json, check_out, deliver, progress
from alga.cli.options import ADDER, AsJson, Out, OwnTask, load_own_task, model_argument
from alga.trust.assumptions import assumed, at_least


def verify(
    model: Annotated[
        str, model_argument(help="A shipped network's name, a run folder, or a certificate.json in one.")
    ] = ADDER,
    task: OwnTask = None,
    json: AsJson = False,
    out: Out = None,
) -> None:
    """Check a proven certificate with an independent program.

    Derives every margin from the weights again, in ball arithmetic, and exits with 1 if the certificate claims more.
    Needs python-flint (the extra `proof`); the shipped adder takes a minute or two.

    Examples:
      alga verify addition
      alga verify runs/mine

    """
    check_out(out)
    load_own_task(task)
    from alga import runs
    from alga.runs.verification import verify as derive

    path = Path(model)
    folder = path.parent if path.is_file() and path.name == "certificate.json" else runs.locate(model)
    with progress("verifying every prompt") as watch:
        found = derive(folder, watch)
    if json:
        deliver(as_json({"agrees": found.agrees, **found.as_dict()}), out)
        raise typer.Exit(0 if found.agrees else 1)
    lines = [
        f"{found.prompts:,} prompts of {found.task}, weights {found.sha256}",
        f"least margin without any rounding: at least {at_least(found.real)}",
    ]
    for name, margin in found.proven.items():
        sure = f"proven: at least {at_least(margin)}" if margin > 0 else f"not proven (the bound gives {margin:.4g})"
        lines.append(f"least margin in {name}, whatever the order of summation: {sure}")
    if found.agrees:
        names = ["real", *(name for name, margin in found.proven.items() if margin > 0)]
        lines.append(f"the certificate agrees: {found.task} of any length is proven in {', '.join(names)} arithmetic,")
        lines.append(f"under these assumptions ({found.assumptions}, docs/proof.md):")
        lines += [f"  - {assumption}" for assumption in assumed(found.assumptions)[0]]
    else:
        lines += [f"refused: {objection}" for objection in found.objections]
    deliver("\n".join(lines), out)
    raise typer.Exit(0 if found.agrees else 1)
