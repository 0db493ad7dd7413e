"""What the page shows of a network, as plain values: domain, steps, certificate in words.

All of it comes from the network; the page and the exported file compute nothing themselves.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from alga.base.errors import AlgaError
from alga.network.step import Step
from alga.network.tokens import START, STOP
from alga.solve.result import Results
from alga.solve.solver import Solver
from alga.tasks import Procedure
from alga.trust.certificate import Certificate

WORDS = {
    "kernel-checked": "Kernel-checked: proven, and a proof assistant accepts the theorem about this very network.",
    "proven": "Proven: a rigorous bound on all rounding covers every machine that meets its assumptions.",
    "checked": "Checked: every question, on one machine. That is not a proof for other machines.",
    "sampled": "Sampled: only some questions were tried.",
}


def model(solver: Solver) -> dict[str, Any]:
    """Return the description of a network."""
    procedure, trained, run = solver.procedure, solver.trained, solver.run
    return {
        "name": run.name,
        "task": trained.name,
        "summary": trained.summary,
        "base": procedure.layout.base,
        "arity": procedure.layout.arity,
        "sign": procedure.sign,
        "verbs": sorted(solver.parts()),
        "engine": solver.own_engine,
        "walks": has_digit_columns(solver),
        "prompts": len(trained.domain),
        "certified": solver.certified,
    }


def has_digit_columns(solver: Solver) -> bool:
    """Return whether the network's columns are digits of numbers one above the other, so that a page can show them."""
    return solver.own_engine == "sequential" and solver.procedure.layout.by_rows


def domain(solver: Solver) -> dict[str, Any]:
    """Return every prompt of the domain with the network's output and margin, as a grid of contexts by columns."""
    domain = solver.trained.domain
    prompts = list(domain)
    decoded = dict(zip(prompts, solver.decode(prompts), strict=True))
    contexts, columns = domain.axes
    row, place = ({value: i for i, value in enumerate(values)} for values in (contexts, columns))
    return {
        "model": solver.run.name,
        "task": domain.name,
        "summary": domain.summary,
        "contexts": contexts,
        "columns": columns,
        **_axes(solver, contexts),
        "cells": [
            {
                "prompt": instance.prompt,
                "row": row[instance.context],
                "place": place[instance.column],
                "text": decoded[instance.prompt].text,
                "margin": finite(decoded[instance.prompt].margin),
                "expected": solver.run.config.tokens.written(instance.output),
            }
            for instance in domain.values()
        ],
    }


def _axes(solver: Solver, contexts: Sequence[str | None]) -> dict[str, Any]:
    """Return how the axes of the grid read: the sign between two digits, and what each context carries over."""
    procedure = solver.procedure
    if not has_digit_columns(solver) or procedure.layout.arity != 2:
        return {}
    named: dict[str, Any] = {"sign": procedure.sign}
    if procedure.layout.from_right and all(procedure.written(context) for context in contexts if context):
        named["carries"] = [carry(procedure, context) if context else "" for context in contexts]
        named["carried"] = "borrow" if "-" in named["carries"] else "carry"
    return named


def step(solver: Solver, prompt: str) -> dict[str, Any]:
    """Return the inside of one step: the output for a prompt, all probabilities, every head's attention."""
    tokens, decoder = solver.run.config.step_tokens, solver.step_decoder
    tokens.packed([prompt])  # raises if it is not a prompt
    if not prompt or START in prompt:
        raise AlgaError(f"expected a prompt such as {next(iter(solver.trained.domain))!r}, got {prompt!r}")
    known = solver.trained.domain.get(prompt)
    (written,) = (solver.decode if known else decoder)([prompt])
    detail = decoder.detail(prompt, written.text)
    return {
        "model": solver.run.name,
        "prompt": prompt,
        "text": written.text,
        "margin": finite(written.margin),
        "expected": known.output + STOP if known else None,
        "tokens": list(detail.tokens),
        "vocabulary": list(tokens.vocabulary),
        "probabilities": detail.probabilities.tolist(),
        "attention": detail.attention.tolist(),
    }


def answers(results: Results) -> dict[str, Any]:
    """Return the answers to many problems, and what holds for all of them."""
    made = [*results]
    networks = {name: task for result in made for name, task in result.networks.items()}
    failures = [{"problem": i, "failure": result.failure} for i, result in enumerate(made) if result.failure]
    return {
        "engine": made[0].engine,
        "model": ", ".join(networks),
        "answers": results.answers,
        "certified": all(result.certified for result in made),
        **({"failures": failures} if failures else {}),
    }


def problem(procedure: Procedure, name: str, operands: tuple[str, ...]) -> dict[str, Any]:
    """Return the layout of a problem on paper, before its first step."""
    layout = procedure.layout
    return {
        "model": name,
        "task": procedure.name,
        "expression": procedure.expression(*operands),
        "sign": procedure.sign,
        "rows": list(layout.rows(*operands) or ()),
        "from_right": layout.from_right,
        "repeats": layout.repeats,
        "columns": len(procedure.columns(*operands)),
    }


def step_done(network: Solver, done: Step, *, last: bool) -> dict[str, Any]:
    """Return a step of a trace: its output, what it adds to the answer, and what it carries to the next column.

    `expected` is the right output; None if an earlier wrong step led to a prompt outside the domain.
    """
    procedure, output = network.procedure, network.run.config.step_tokens.output(done.text)
    known = network.trained.domain.get(done.prompt)
    return {
        "prompt": done.prompt,
        "text": done.text,
        "expected": known.output + STOP if known else None,
        "margin": finite(done.margin),
        "written": None if output is None else (procedure.ending if last else procedure.written)(output),
        "carry": "" if output is None else carry(procedure, output),
    }


def carry(procedure: Procedure, output: str) -> str:
    """Return the part of an output that is not part of the answer: a carry, a borrow mark, a remainder.

    >>> from alga.tasks import find
    >>> carry(find("addition"), "15"), carry(find("subtraction"), "-7"), carry(find("division-by-a-digit"), "32")
    ('1', '-', '2')
    """
    written = procedure.written(output)
    return output.removesuffix(written) if output.endswith(written) else output.removeprefix(written)


def certificate(found: Certificate, *, base: int) -> dict[str, Any]:
    """Return a certificate with its meaning in sentences, and the first hundred failures."""
    right = found.prompts - len(found.failures)
    if found.certified:
        words = [
            f"The network answers every one of the {found.prompts:,} questions that a problem of any length can "
            "pose, and all answers are right.",
            _theorem(found),
            f"The closest decision is at {found.least_margin_prompt}: the chosen token leads the runner-up by "
            f"{found.least_margin:.2f} logits.",
            WORDS[found.strength],
        ]
    else:
        worst = ", ".join(f"{f.prompt} ({f.produced} instead of {f.expected}{STOP})" for f in found.failures[:3])
        words = [
            f"Not certified: {right:,} of {found.prompts:,} answers are right, {len(found.failures):,} are wrong or "
            "undecided.",
            f"Among them: {worst}.",
            "A problem that asks one of these goes wrong there; all other problems are still solved correctly.",
        ]
    return {
        **found.as_dict(),
        "failures": [vars(failure) for failure in found.failures[:100]],
        "wrong": len(found.failures),
        "base": base,
        "statement": found.statement,
        "words": words,
    }


def _theorem(found: Certificate) -> str:
    """Return why prompts that are all right make every problem right."""
    outside = found.proof.outside if found.proof is not None else None
    if outside is None:
        return (
            "Each step of a problem is one of these questions. So, by induction over the columns, every problem is "
            "solved correctly, however long the numbers are."
        )
    return (
        "Each token of a sum is written in one of these situations. Everything else in the text, however long, gets at "
        f"most {outside.share:.2g} of the attention: too little to change a token. So, by induction over the tokens, "
        "every sum is right."
    )


def as_json(found: dict[str, Any]) -> bytes:
    """Return plain values as a JSON document."""
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def finite(value: float) -> float | None:
    """Return a number that JSON can hold; None if a logit overflowed."""
    return round(value, 5) if math.isfinite(value) else None
