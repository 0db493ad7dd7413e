"""One weight changed in a copy of a network: the copy's certificate, its outputs, and a problem that it takes part in.

The problem is solved as it was asked, with signs and other networks; the copy replaces only its original.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from alga.base.cancellation import Cancellation
from alga.base.errors import AlgaError
from alga.runs import Run, Weights
from alga.serve import content
from alga.serve.events import TraceListener
from alga.serve.limits import RefusedError
from alga.serve.schemas import AskedProblem, Verb
from alga.serve.workers import Worker
from alga.solve.result import Result
from alga.solve.solver import Solver
from alga.tasks import step_of
from alga.tasks.numbers import signed_answer
from alga.trust.certificate import Certificate

OPERATIONS: Final[dict[str, Verb]] = {  # by the kind of step that a network is for
    "add": "add", "sub": "sub", "times": "mul", "divide": "divmod", "cmp": "cmp",
}  # fmt: skip


@dataclass(frozen=True)
class Weight:
    """One number of a network: the tensor, and the index in it."""

    tensor: str
    index: int


def weights(solver: Solver) -> dict[str, int]:
    """Return the tensors of a network and the size of each."""
    return {name: math.prod(shape) for name, shape in solver.run.config.model.tensors().items()}


def default_weight(solver: Solver) -> Weight:
    """Return the weight that is damaged by default: the largest of the first tensor, the token embedding."""
    name, array = next(iter(solver.run.weights.arrays.items()))
    return Weight(name, int(np.abs(array).argmax()))


def find_weight(solver: Solver, tensor: str | None, index: int | None) -> Weight:
    """Return the weight that is named, or the default."""
    default = default_weight(solver)
    if tensor in (None, default.tensor) and index is None:
        return default
    return Weight(tensor or default.tensor, index or 0)


def damage(solver: Solver, weight: Weight, amount: float) -> tuple[Solver, float]:
    """Return a copy of a network with one weight changed, and the original value of the weight."""
    sizes = weights(solver)
    if weight.tensor not in sizes:
        raise AlgaError(f"no tensor {weight.tensor!r}; there are {len(sizes)}, such as {next(iter(sizes))}")
    if not 0 <= weight.index < sizes[weight.tensor]:
        raise AlgaError(f"{weight.tensor} has the numbers 0 to {sizes[weight.tensor] - 1}, got {weight.index}")
    if not math.isfinite(amount):
        raise AlgaError(f"expected a finite amount, got {amount}")
    run = solver.run
    changed = run.weights.arrays[weight.tensor].copy()
    before = float(changed.flat[weight.index])
    with np.errstate(over="ignore"):  # an overflow is a valid way to damage a network
        changed.flat[weight.index] += np.float32(amount)
    copy = Weights.holding(run.config, {**run.weights.arrays, weight.tensor: changed})
    return Solver(Run(name=run.name, config=run.config, weights=copy)), before


def report(
    worker: Worker,
    solver: Solver,
    weight: Weight,
    amount: float,
    problem: AskedProblem | None = None,
    *,
    max_steps: int,
    cancel: Cancellation | None = None,
) -> dict[str, Any]:
    """Certify a copy with one weight changed; let it solve the given problem, or one that it gets wrong."""
    damaged, before = damage(solver, weight, amount)
    damaged = Solver(damaged.run.judged(cancel=cancel))
    certificate = damaged.run.certificate
    assert certificate is not None
    example = wrong_example(damaged, certificate, cancel)
    kind = step_of(damaged.procedure)
    if problem is None and example is not None and kind in OPERATIONS:
        problem = AskedProblem(verb=OPERATIONS[kind], operands=list(example))
    return {
        "model": solver.run.name,
        "weight": {**vars(weight), "before": before, "after": before + amount},
        "certificate": content.certificate(certificate, base=damaged.procedure.layout.base),
        "domain": content.domain(damaged),
        "example": list(example) if example else None,
        "solved": solve(worker, damaged, problem, max_steps, cancel) if problem else None,
    }


def solve(
    worker: Worker, damaged: Solver, problem: AskedProblem, max_steps: int, cancel: Cancellation | None = None
) -> dict[str, Any]:
    """Solve a problem with the copy in the place of its original; return the exact answer beside it."""
    problems: list[dict[str, Any]] = []

    def record(kind: str, values: dict[str, Any]) -> None:
        if kind == "problem":
            problems.append({**values, "steps": [], "after": ""})
        elif kind == "step":
            problems[-1]["steps"].append(values)
        elif problems:
            problems[-1]["after"] = values["text"]

    verb, operands = problem.verb, problem.operands
    calculator = worker.calculator(None, problem.model, damaged=damaged)
    calculator.networks.given_for(verb)
    calculator.check(verb, *operands)
    exact = signed_answer(verb, operands, calculator.base)
    try:
        if damaged.own_engine == "sequential":
            listener = TraceListener(record, max_steps)
            result = calculator.trace(*operands, operation=verb, listener=listener, cancel=cancel)
        else:  # a lookahead network has no steps from column to column
            result = calculator.solve(*operands, operation=verb, cancel=cancel)
    except RefusedError:
        raise
    except AlgaError as refused:  # the operands were valid, so a wrong step has made them invalid
        result = Result(
            operation=verb,
            base=calculator.base,
            operands=tuple(operands),
            answer=None,
            engine="sequential",
            failure=f"a wrong step led to an invalid problem: {refused}",
            networks={damaged.run.name: damaged.procedure.name},
        )
    return {**result.as_dict(), "exact": exact, "problems": problems}


def wrong_example(
    damaged: Solver, certificate: Certificate, cancel: Cancellation | None = None
) -> tuple[str, ...] | None:
    """Return operands that lead to a wrong prompt and to a wrong answer; None if none were found.

    Tries at most one column before the wrong one: enough for every context that two digits make.
    """
    procedure, domain = damaged.procedure, damaged.trained.domain
    if not content.has_digit_columns(damaged):
        return None
    first_columns = {instance.output: instance.column for instance in domain.values() if instance.context is None}
    for failure in certificate.failures:
        if cancel is not None:
            cancel.check()
        instance = domain[failure.prompt]
        columns = [instance.column]
        if instance.context is not None:
            if instance.context not in first_columns:
                continue
            columns.insert(0, first_columns[instance.context])
        operands = procedure.layout.operands(columns)
        try:
            if operands is None or not procedure.columns(*operands):
                continue
        except AlgaError:  # not a problem of this procedure
            continue
        if damaged.solve(*operands, engine="sequential").answer != procedure.oracle(*operands):
            return operands
    return None
