"""`alga certify`: check every prompt of a network's domain."""

from __future__ import annotations

from typing import Annotated

import typer

from alga.cli.screen import AsJson, Out, as_json, deliver, progress

SHOWN = 10


def certify(
    model: Annotated[str, typer.Argument(help="A shipped network's name or a run folder.")] = "addition",
    json: AsJson = False,
    out: Out = None,
) -> None:
    """Check every prompt that a problem of any length can reach; exit with 1 if one is wrong.

    The network is judged as loaded, whatever certificate lies beside it.

    Example: alga certify runs/addition-fast-0
    """
    from alga import runs

    with progress("checking every prompt") as watch:
        certificate = runs.load(model, read_certificate=False).judged(watch).certificate
    assert certificate is not None
    if json:
        deliver(as_json(certificate.as_dict()), out)
    else:
        right = certificate.prompts - len(certificate.failures)
        lines = [f"{right:,} / {certificate.prompts:,} prompts right", certificate.statement]
        lines += [f"  {f.prompt}: expected {f.expected}S, got {f.produced!r}" for f in certificate.failures[:SHOWN]]
        if len(certificate.failures) > SHOWN:
            lines.append(f"  … and {len(certificate.failures) - SHOWN:,} more (all of them with --json)")
        lines.append(f"weights {certificate.sha256}, {certificate.parameters:,} parameters, {certificate.dtype}")
        deliver("\n".join(lines), out)
    raise typer.Exit(0 if certificate.certified else 1)
