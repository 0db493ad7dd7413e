"""One weight moved in a copy: what becomes of the certificate, of every answer, and of a problem.

The problem is solved as it was asked, signs and all: the copy takes the place of its network, and of no other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from alga import runs
from alga.base.cancellation import Cancellation
from alga.base.errors import AlgaError
from alga.runs import Run, Weights
from alga.serve import content
from alga.serve.events import check_steps
from alga.serve.limits import RefusedError
from alga.serve.registry import Desk
from alga.serve.schemas import Problem, Verb
from alga.solve.result import Result, Step
from alga.solve.schoolbook import Listener
from alga.solve.solver import Solver
from alga.tasks import Procedure
from alga.tasks.numbers import signed_answer
from alga.trust.certificate import Certificate

OPERATIONS: Final[dict[str, Verb]] = {  # by the kind of step that a network is for
    "add": "add", "sub": "sub", "times": "mul", "divide": "divmod", "cmp": "cmp",
}  # fmt: skip


@dataclass(frozen=True)
class Weight:
    """One number of a network: which tensor, and which of its numbers."""

    tensor: str
    index: int


def weights(solver: Solver) -> dict[str, int]:
    """Return the tensors of a network and how many numbers each has."""
    return {name: math.prod(shape) for name, shape in solver.run.config.model.tensors().items()}


def favourite(solver: Solver) -> Weight:
    """Return the weight that is damaged unless another is named: the largest of the first tensor, the embedding."""
    name, array = next(iter(solver.run.weights.arrays.items()))
    return Weight(name, int(np.abs(array).argmax()))


def chosen(solver: Solver, tensor: str | None, index: int | None) -> Weight:
    """Return the weight that is named, or the favourite where none is."""
    best = favourite(solver)
    if tensor in (None, best.tensor) and index is None:
        return best
    return Weight(tensor or best.tensor, index or 0)


def damaged(solver: Solver, weight: Weight, amount: float) -> tuple[Solver, float]:
    """Return a copy of a network with one weight moved, and what the weight was."""
    sizes = weights(solver)
    if weight.tensor not in sizes:
        raise AlgaError(f"no tensor {weight.tensor!r}: {next(iter(sizes))} is one of the {len(sizes)} that there are")
    if not 0 <= weight.index < sizes[weight.tensor]:
        raise AlgaError(f"{weight.tensor} has the numbers 0 to {sizes[weight.tensor] - 1}, got {weight.index}")
    if not math.isfinite(amount):
        raise AlgaError(f"expected an amount that is finite, got {amount}")
    run = solver.run
    arrays = dict(run.weights.arrays)
    moved = arrays[weight.tensor].copy()
    before = float(moved.flat[weight.index])
    with np.errstate(over="ignore"):  # a network may well overflow: that is a way to be damaged
        moved.flat[weight.index] += np.float32(amount)
    held = Weights.holding(run.config, {**arrays, weight.tensor: moved})
    return Solver(Run(name=run.name, config=run.config, weights=held)), before


def report(
    desk: Desk,
    solver: Solver,
    weight: Weight,
    amount: float,
    problem: Problem | None = None,
    *,
    most: int,
    cancel: Cancellation | None = None,
) -> dict[str, Any]:
    """Judge a copy with one weight moved on every prompt; let it solve a problem: the one given, or a telling one."""
    hurt, before = damaged(solver, weight, amount)
    hurt = Solver(hurt.run.judged(cancel=cancel))
    held = hurt.run.certificate
    assert held is not None
    telling = example(hurt, held, cancel)
    kind = runs.step_of(hurt.procedure)
    if problem is None and telling is not None and kind in OPERATIONS:
        problem = Problem(verb=OPERATIONS[kind], operands=list(telling))
    return {
        "model": solver.run.name,
        "weight": {"tensor": weight.tensor, "index": weight.index, "before": before, "after": before + amount},
        "certificate": content.certificate(held, base=hurt.procedure.layout.base),
        "domain": content.domain(hurt),
        "example": list(telling) if telling else None,
        "solved": solved(desk, hurt, problem, most, cancel) if problem else None,
    }


def solved(desk: Desk, hurt: Solver, problem: Problem, most: int, cancel: Cancellation | None = None) -> dict[str, Any]:
    """Solve a problem with the copy in its network's place; say beside it what exact arithmetic says."""
    kept = _Kept(most)
    calculator = desk.calculator(None, problem.model, instead=hurt)
    calculator.networks.given_for(problem.verb)
    calculator.check(problem.verb, *problem.operands)
    right = signed_answer(problem.verb, problem.operands, calculator.base)
    try:
        if hurt.own_engine == "sequential":
            result = calculator.trace(*problem.operands, operation=problem.verb, listener=kept, cancel=cancel)
        else:  # a lookahead network has no steps from column to column
            result = calculator.solve(*problem.operands, operation=problem.verb, cancel=cancel)
    except RefusedError:
        raise
    except AlgaError as refused:  # the operands are valid: a wrong step has made invalid ones of them
        result = Result(
            operation=problem.verb,
            base=calculator.base,
            operands=tuple(problem.operands),
            answer=None,
            engine="sequential",
            failure=f"a wrong step led to what is no problem: {refused}",
            networks={hurt.run.name: hurt.procedure.name},
        )
    return {**result.as_dict(), "exact": right, "problems": kept.problems}


def example(hurt: Solver, held: Certificate, cancel: Cancellation | None = None) -> tuple[str, ...] | None:
    """Return operands that lead to a prompt which the network gets wrong, and to a wrong answer; None if none is near.

    At most one column before the wrong one is tried: enough for every context that two digits make.
    """
    procedure, domain = hurt.procedure, hurt.trained.domain
    if not content.walks(hurt):
        return None
    starts = {instance.output: instance.column for instance in domain.values() if instance.context is None}
    for failure in held.failures:
        if cancel is not None:
            cancel.check()
        instance = domain[failure.prompt]
        before = [] if instance.context is None else [starts.get(instance.context)]
        if None in before:
            continue
        operands = procedure.layout.operands([*filter(None, before), instance.column])
        if operands is None or not _is_problem(procedure, operands):
            continue
        answer = hurt.solve(*operands, engine="sequential").answer
        if answer != procedure.oracle(*operands):
            return operands
    return None


class _Kept(Listener):
    """Keeps a trace's problems, each with its steps, and what is noted after it."""

    def __init__(self, most: int) -> None:
        self.problems: list[dict[str, Any]] = []
        self._most = most
        self._count = 0
        self._network: Solver

    def problem(self, network: Solver, operands: tuple[str, ...]) -> None:
        self._network = network
        self.problems.append(
            {**content.problem(network.procedure, network.run.name, operands), "steps": [], "after": ""}
        )
        self._count += self.problems[-1]["columns"]
        check_steps(self._count, self._most)

    def step(self, step: Step) -> None:
        steps = self.problems[-1]["steps"]
        last = len(steps) == self.problems[-1]["columns"] - 1
        steps.append(content.taken(self._network, step, last=last))

    def note(self, text: str) -> None:
        if self.problems:
            self.problems[-1]["after"] = text


def _is_problem(procedure: Procedure, operands: tuple[str, ...]) -> bool:
    try:
        return bool(procedure.columns(*operands))
    except AlgaError:
        return False
