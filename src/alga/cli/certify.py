"""`alga certify`: check a network on every prompt there is, and prove it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from alga.base import files
from alga.base.errors import AlgaError
from alga.cli.console import Watch, as_json, check_out, deliver, note, progress
from alga.cli.options import ADDER, AsJson, Model, Out, OwnTask, load_own_task, option
from alga.trust.assumptions import assumed, at_least

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from alga.runs import Run
    from alga.trust.certificate import Certificate

FAILURES_PRINTED: Final = 10  # failures printed; --json has all of them
OWN: Final = (
    "the proof's own float64 arithmetic (numpy, the C library's erf) keeps the same rules; `alga verify` does not need "
    "this one"
)


def certify(
    model: Model = ADDER,
    every: Annotated[bool, typer.Option("--all", help="Check every shipped network.")] = False,
    task: OwnTask = None,
    json: AsJson = False,
    out: Out = None,
    figure: Annotated[
        Path | None, option("FILE", "Draw every prompt by its margin, or a reader's distances, as PNG or SVG.")
    ] = None,
    proof: Annotated[
        bool, typer.Option("--proof", help="Also bound all rounding errors, which covers other machines.")
    ] = False,
    kernel: Annotated[
        bool, typer.Option("--kernel", help="Also have Coq's kernel check the theorems; needs coqc.")
    ] = False,
    save: Annotated[bool, typer.Option("--save", help="Save the certificate in the run folder.")] = False,
    checkpoint: Annotated[
        int | None, option("STEP", "Check the weights that the training kept after so many steps instead.")
    ] = None,
) -> None:
    """Check a network on every prompt there is.

    Covers every prompt that a problem of any length can reach, and exits with 1 if one is wrong. A certificate that is
    already in the run folder is ignored.

    With --proof, rigorous bounds of all rounding errors show in which arithmetics every prompt is right, whatever the
    order of summation (docs/proof.md). The strength is then *proven* if float32 is one of them; the exit code is 1 if
    not even float64 is.

    With --kernel, Coq's kernel checks the theorems of `alga export proof.v`: for numbers of any length, the loop with
    this table is right (*kernel-checked table*); for the shape of `smallest` so is the network itself, in real
    arithmetic and in float32 (*kernel-checked network*, some minutes).

    Examples:
      alga certify
      alga certify runs/mine --proof --save
      alga certify runs/mine --checkpoint 500
      alga certify --kernel
      alga certify --all

    """
    check_out(out)
    load_own_task(task)
    _refuse_contradictions(model, every=every, save=save, kernel=kernel, checkpoint=checkpoint)
    if every:
        raise typer.Exit(_all(json=json, out=out, proof=proof))
    if figure is not None:
        from alga.base import figures

        figures.check(figure)
        check_out(figure)
    from alga import runs

    run = runs.load(model, read_certificate=False, checkpoint=checkpoint)
    with progress("checking every prompt") as watch:
        run = run.judged(watch)
    certificate = run.certificate
    assert certificate is not None
    if (proof or kernel) and certificate.proof is None:
        with progress("proving every prompt") as watch:
            certificate = (run := run.proven(watch)).certificate
    assert certificate is not None
    if kernel and certificate.certified:
        run = _kernel_checked(run)
        certificate = run.certificate
        assert certificate is not None
    if save and certificate.certified:
        runs.keep(Path(model), run)
    elif save:
        note("alga: certificate not saved: the network is wrong on some prompts")
    if figure is not None:
        files.write(figure, figures.render(_picture(run, certificate), figure.suffix))
    if json:
        deliver(as_json(certificate.as_dict()), out)
    else:
        right = certificate.prompts - len(certificate.failures)
        lines = [f"{right:,} / {certificate.prompts:,} prompts right, on this machine", certificate.statement]
        lines += [
            f"  {f.prompt}: expected {run.config.tokens.written(f.expected)}, got {f.produced!r}"
            for f in certificate.failures[:FAILURES_PRINTED]
        ]
        if len(certificate.failures) > FAILURES_PRINTED:
            lines.append(f"  … and {len(certificate.failures) - FAILURES_PRINTED:,} more: see --json")
        lines.append(f"weights {certificate.sha256}, {certificate.parameters:,} parameters, {certificate.dtype}")
        lines += [*_proof(certificate), *_kernel(certificate)]
        deliver("\n".join(lines), out)
    raise typer.Exit(0 if _passed(certificate, proof) else 1)


def _refuse_contradictions(model: str, *, every: bool, save: bool, kernel: bool, checkpoint: int | None) -> None:
    """Refuse options that do not go together."""
    if save and (every or not Path(model).is_dir()):
        raise AlgaError(f"--save needs a run folder, got {'--all' if every else repr(model)}")
    if checkpoint is not None and (save or every):
        raise AlgaError(f"--checkpoint is about one network's earlier weights, got {'--save' if save else '--all'} too")
    if every and kernel:
        raise AlgaError("--kernel checks one network at a time, got --all")


def _passed(certificate: Certificate, proof: bool) -> bool:
    proven = certificate.proof is not None and certificate.proof.covers("float64")
    return certificate.certified and (proven or not proof)


def _proof(certificate: Certificate) -> list[str]:
    """Return the lines about the proof: margins, assumptions, what they cover."""
    if certificate.proof is None:
        return []
    lines = []
    if outside := certificate.proof.outside:
        where = f"at most {outside.share:.3g} of head {outside.head + 1}, at {outside.prompt}"
        lines.append(f"attention outside the two columns, in a text of any length: {where}")
    lines.append("least margin, whatever the order of summation:")
    for bound in certificate.proof.bounds:
        found = "not proven"
        if bound.margin is not None and bound.proven:
            found = f"proven: at least {at_least(bound.margin)}, at {bound.prompt}"
        elif bound.margin is not None:
            found += f": the bound of rounding exceeds the margin by {-bound.margin:.4g} at {bound.prompt}"
        lines.append(f"  {bound.arithmetic:<8} {found}")
    lines.append(f"*proven* rests on these assumptions ({certificate.proof.assumptions}, docs/proof.md):")
    assumptions, covered = assumed(certificate.proof.assumptions)
    lines += [f"  - {assumption}" for assumption in (*assumptions, OWN)]
    lines.append("and covers, as far as they keep them:")
    return [*lines, *(f"  - {way}" for way in covered)]


def _kernel_checked(run: Run) -> Run:
    """Return the run with what Coq's kernel accepted in its certificate."""
    from alga.export import coq
    from alga.solve.solver import Solver
    from alga.trust.coq.kernel import check, coqc

    coqc()
    assert run.certificate is not None
    with progress("checking by Coq's kernel") as watch:
        found = check(coq.proof(Solver(run)).decode(), watch)
    return replace(run, certificate=run.certificate.with_kernel(found))


def _kernel(certificate: Certificate) -> list[str]:
    """Return the lines about what Coq's kernel has checked."""
    if (check := certificate.kernel) is None:
        return []
    lines = []
    for theorem in check.theorems:
        lines.append(f"kernel-checked {theorem.subject}: {theorem.statement}")
        lines.append(f"  axioms: {', '.join(theorem.axioms) or 'none'}")
    how = f"by Coq {check.coq} in {check.seconds:,.0f} s, development {check.development[:12]}…"
    return [*lines, f"  {how} (docs/kernel.md)"]


def _all(*, json: bool, out: Path | None, proof: bool) -> int:
    """Check every shipped network; return the exit code."""
    from alga import runs

    loaded = {name: runs.load(name, read_certificate=False) for name in runs.shipped()}
    total, done = sum(len(run.config.task.domain) for run in loaded.values()), 0
    found: dict[str, Certificate] = {}
    with progress("proving every network" if proof else "checking every network") as watch:
        for name, run in loaded.items():
            judged = run.judged()
            if proof and judged.certificate is not None and judged.certificate.proof is None:
                judged = judged.proven(partial(_watch_part, watch, done, total, len(run.config.task.domain)))
            watch(done := done + len(run.config.task.domain), total)
            assert judged.certificate is not None
            found[name] = judged.certificate
    passed = [certificate for certificate in found.values() if certificate.certified]
    if json:
        networks = {name: certificate.as_dict() for name, certificate in found.items()}
        deliver(as_json({"certified": len(passed) == len(found), "networks": networks}), out)
    else:
        lines = [f"{name}: {certificate.statement}" for name, certificate in found.items()]
        lines.append(f"{len(passed)} of {len(found)} networks certified, on this machine")
        for arithmetic in ("real", "float64", "float32") if proof else ():
            count = sum(c.proof is not None and c.proof.covers(arithmetic) for c in passed)
            lines.append(
                f"{count} of {len(found)} proven in {arithmetic} arithmetic (assumptions: alga certify --proof)"
            )
        deliver("\n".join(lines), out)
    return 0 if all(_passed(certificate, proof) for certificate in found.values()) else 1


def _watch_part(watch: Watch, before: int, total: int, size: int, done: int, of: int) -> None:
    watch(before + size * done // of, total)


def _picture(run: Run, certificate: Certificate) -> Figure:
    """Draw every prompt; of a network that reads whole texts, what it has learned about distances."""
    if run.config.model.kind == "reader":
        from alga.trust.distance_map import distance_map

        numbers = {name: array.astype(float) for name, array in run.weights.arrays.items()}
        return distance_map(numbers, certificate.statement)
    from alga.trust.domain_map import domain_map

    return domain_map(run.config.task.domain, _margins(run), _title(certificate))


def _margins(run: Run) -> dict[str, float | None]:
    from alga.network.kinds import decoder_of

    domain = run.config.task.domain
    decoded = decoder_of(run.weights, run.config.tokens)(list(domain))
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
