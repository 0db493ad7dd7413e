"""The model card: `README.md` in a run folder."""

from __future__ import annotations

import html
import re
from typing import Any, Final

from alga.tasks import Task
from alga.trust.assumptions import at_least
from alga.trust.certificate import Certificate

STEPS: Final = (
    "It computes {}, one column at a time, reading its own previous output. The loop over the columns",
    "is given to it; what it has learned is the step. Method: A. G. Patriota, arXiv 2406.00075.",
)
TEXT: Final = (
    "It computes {}: it continues `{}=` with the sum, units first, token",
    "by token, attending to the whole text. It is given coupled places, as in position coupling (Cho et al. 2024):",
    "the digits of one column share a place. It was trained on short sums only, with a price on attention outside two",
    "columns; docs/whole.md has the theorem for all lengths.",
)


def card(task: Task, parameters: int, training: dict[str, Any], certificate: Certificate | None) -> str:
    """Return the model card as Markdown: task, certificate, training."""
    lines = [
        f"# {task.name}: a Transformer of {parameters:,} parameters",
        "",
        *about(task),
        "",
        "## Certificate",
        "",
        *_certificate(certificate),
    ]
    if training:
        lines += ["", "## Training", "", "| setting | value |", "| --- | --- |"]
        rows = {key: value for key, value in training.items() if key != "recipe"} | training.get("recipe", {})
        if "init" in rows:
            rows["init"] = f"weights {rows['init']['sha256']} of {rows['init']['run']}"
        lines += [f"| {key.replace('_', ' ')} | {plain(value)} |" for key, value in rows.items() if key != "task"]
    return "\n".join([*lines, ""])


def about(task: Task) -> list[str]:
    """Return what a network of a task does, in a few lines."""
    if task.engine != "whole":
        return [line.format(task.summary) for line in STEPS]
    question = "65785+8765" + "+907" * (task.procedure.layout.arity - 2)
    return [line.format(task.summary, question) for line in TEXT]


def plain(value: object) -> str:
    r"""Escape untrusted text so that Markdown shows it literally.

    >>> plain("a|b\n[c](d) <e> `f`")
    'a\\|b\\\\n\\[c\\](d) &lt;e&gt; \\`f\\`'
    """
    line = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in str(value))
    return re.sub(r"([\\`|\[\]*])", r"\\\1", html.escape(line, quote=False))


def _certificate(certificate: Certificate | None) -> list[str]:
    if certificate is None:
        return ["None: this network has not been found right on its whole domain."]
    machine = certificate.machine.items()
    return [
        f"It is {certificate.statement}.",
        "",
        f"Each prompt was decoded in batches of {' and '.join(f'{size:,}' for size in certificate.batch_sizes)}, in",
        f"{plain(certificate.dtype)}, on: {', '.join(plain(f'{key} {value}') for key, value in machine)}.",
        f"SHA-256 of the weights: `{certificate.sha256}`",
        "",
        *_proof(certificate),
        *_kernel(certificate),
        "Check it again: `alga certify` with this folder's path.",
    ]


def _proof(certificate: Certificate) -> list[str]:
    if certificate.proof is None:
        return []
    bounds = [
        f"{plain(bound.arithmetic)} {at_least(bound.margin)}" if bound.margin is not None and bound.proven
        else f"{plain(bound.arithmetic)} not proven"
        for bound in certificate.proof.bounds
    ]  # fmt: skip
    assumptions = plain(certificate.proof.assumptions)
    return [
        f"Least margin whatever the order of summation, under the assumptions {assumptions} of",
        f"docs/proof.md: {', '.join(bounds)}. An independent check: `alga verify` with this folder's path.",
        "",
    ]


def _kernel(certificate: Certificate) -> list[str]:
    if certificate.kernel is None:
        return []
    found = [f"the {plain(theorem.subject)}" for theorem in certificate.kernel.theorems]
    return [
        f"Coq {plain(certificate.kernel.coq)} has checked theorems about {'; '.join(found)} (docs/kernel.md).",
        "An independent check: `alga certify --kernel` with this folder's path.",
        "",
    ]
