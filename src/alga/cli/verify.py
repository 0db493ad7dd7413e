"""`alga verify`: derive a certificate from the weights again, by an independent program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from alga.assumptions import ASSUMPTIONS, VERSION, at_least
from alga.cli.screen import AsJson, Out, OwnTask, as_json, check_out, deliver, known_task, progress


def verify(
    certificate: Annotated[
        str, typer.Argument(help="A certificate.json beside its weights, a run folder or a shipped network's name.")
    ] = "addition",
    task: OwnTask = None,
    json: AsJson = False,
    out: Out = None,
) -> None:
    """Derive every margin from the weights again, by ball arithmetic and without torch; exit with 1 if it disagrees.

    Needs python-flint, the extra `proof`. It takes a minute or two for the shipped adder.

    Example: alga verify addition

    Example: alga verify runs/mine/certificate.json
    """
    check_out(out)
    known_task(task)
    from alga import runs
    from alga.verify import verify as derive

    path = Path(certificate)
    folder = path.parent if path.is_file() and path.name == "certificate.json" else runs.locate(certificate)
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
        lines.append(f"under these assumptions ({VERSION}, docs/proof.md):")
        lines += [f"  - {assumption}" for assumption in ASSUMPTIONS]
    else:
        lines += [f"refused: {objection}" for objection in found.objections]
    deliver("\n".join(lines), out)
    raise typer.Exit(0 if found.agrees else 1)
