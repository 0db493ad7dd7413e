"""The model card: a run in words, as `README.md` in its folder."""

from __future__ import annotations

from typing import Any

from alga.assumptions import at_least
from alga.certificate import Certificate
from alga.tasks import Task


def card(task: Task, parameters: int, training: dict[str, Any], certificate: Certificate | None) -> str:
    """Return the model card as Markdown: what it does, how far that is certified, how it was trained."""
    lines = [
        f"# {task.name}: a Transformer of {parameters:,} parameters",
        "",
        f"It computes {task.summary}, one column at a time, reading its own previous output. The loop over the columns",
        "is given to it; what it has learned is the step. Method: A. G. Patriota, arXiv 2406.00075.",
        "",
        "## Certificate",
        "",
        *_certificate(certificate),
    ]
    if training:
        lines += ["", "## Training", "", "| setting | value |", "| --- | --- |"]
        rows = {key: value for key, value in training.items() if key != "recipe"} | training.get("recipe", {})
        lines += [f"| {key.replace('_', ' ')} | {value} |" for key, value in rows.items() if key != "task"]
    return "\n".join([*lines, ""])


def _certificate(certificate: Certificate | None) -> list[str]:
    if certificate is None:
        return ["None: this network has not been found right on its whole domain."]
    return [
        f"It is {certificate.statement}.",
        "",
        f"Each prompt was decoded in batches of {' and '.join(f'{size:,}' for size in certificate.batch_sizes)}, in",
        f"{certificate.dtype}, on: {', '.join(f'{key} {value}' for key, value in certificate.machine.items())}.",
        f"SHA-256 of the weights: `{certificate.sha256}`",
        "",
        *_proof(certificate),
        "Check it again: `alga certify` with this folder's path.",
    ]


def _proof(certificate: Certificate) -> list[str]:
    if certificate.proof is None:
        return []
    bounds = [
        f"{bound.arithmetic} {at_least(bound.margin)}" if bound.margin is not None and bound.proven
        else f"{bound.arithmetic} not proven"
        for bound in certificate.proof.bounds
    ]  # fmt: skip
    return [
        f"Least margin whatever the order of summation, under the assumptions {certificate.proof.assumptions} of",
        f"docs/proof.md: {', '.join(bounds)}. An independent check: `alga verify` with this folder's path.",
        "",
    ]
