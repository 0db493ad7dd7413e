"""`alga certify`: check every prompt of a network's domain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from alga import files
from alga.cli.screen import AsJson, Out, OwnTask, as_json, check_out, deliver, known_task, progress

if TYPE_CHECKING:
    from alga.certificate import Certificate
    from alga.runs import Run

SHOWN: Final = 10  # failures; all of them with --json


def certify(
    model: Annotated[str, typer.Argument(help="A shipped network's name or a run folder.")] = "addition",
    every: Annotated[bool, typer.Option("--all", help="Check every shipped network.")] = False,
    task: OwnTask = None,
    json: AsJson = False,
    out: Out = None,
    figure: Annotated[Path | None, typer.Option(help="Draw every prompt, coloured by margin, as PNG or SVG.")] = None,
) -> None:
    """Check every prompt that a problem of any length can reach; exit with 1 if one is wrong.

    The network is judged as loaded, whatever certificate lies beside it.

    Example: alga certify runs/addition-fast-0

    Example: alga certify --all
    """
    check_out(out)
    known_task(task)
    if every:
        raise typer.Exit(_all(json=json, out=out))
    if figure is not None:
        from alga import plots

        plots.check(figure)
        check_out(figure)
    from alga import runs

    run = runs.load(model, read_certificate=False)
    with progress("checking every prompt") as watch:
        certificate = run.judged(watch).certificate
    assert certificate is not None
    if figure is not None:
        drawn = plots.domain_map(run.config.task, _margins(run), _title(certificate))
        files.write(figure, plots.render(drawn, figure.suffix))
    if json:
        deliver(as_json(certificate.as_dict()), out)
    else:
        right = certificate.prompts - len(certificate.failures)
        lines = [f"{right:,} / {certificate.prompts:,} prompts right, on this machine", certificate.statement]
        lines += [f"  {f.prompt}: expected {f.expected}S, got {f.produced!r}" for f in certificate.failures[:SHOWN]]
        if len(certificate.failures) > SHOWN:
            lines.append(f"  … and {len(certificate.failures) - SHOWN:,} more: see --json")
        lines.append(f"weights {certificate.sha256}, {certificate.parameters:,} parameters, {certificate.dtype}")
        deliver("\n".join(lines), out)
    raise typer.Exit(0 if certificate.certified else 1)


def _all(*, json: bool, out: Path | None) -> int:
    from alga import runs

    names, found = runs.shipped(), {}
    with progress("checking every network") as watch:
        for done, name in enumerate(names, start=1):
            found[name] = runs.load(name, read_certificate=False).judged().certificate
            watch(done, len(names))
    passed = [certificate for certificate in found.values() if certificate is not None and certificate.certified]
    if json:
        content = {name: certificate.as_dict() for name, certificate in found.items() if certificate is not None}
        deliver(as_json({"certified": len(passed) == len(names), "networks": content}), out)
    else:
        lines = [f"{name}: {certificate.statement}" for name, certificate in found.items() if certificate is not None]
        deliver("\n".join([*lines, f"{len(passed)} of {len(names)} networks certified, on this machine"]), out)
    return 0 if len(passed) == len(names) else 1


def _margins(run: Run) -> dict[str, float | None]:
    from alga.decoding import Decoder

    domain = run.config.task.domain
    decoded = Decoder(run.model, run.config.tokens)(list(domain))
    return {
        prompt: step.margin if step.output == domain[prompt].output else None
        for prompt, step in zip(domain, decoded, strict=True)
    }


def _title(certificate: Certificate) -> str:
    if not certificate.certified:
        return f"{certificate.task}: {len(certificate.failures):,} of {certificate.prompts:,} prompts wrong (red)"
    return (
        f"every step that {certificate.task} of any length can ask for: {certificate.prompts:,} prompts, all right, "
        f"least margin {certificate.least_margin:.2f} at {certificate.least_margin_prompt}"
    )
