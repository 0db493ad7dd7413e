"""One weight moved in a copy: what becomes of the certificate, of every answer, and of a sum."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any

from alga.calculator import Calculator
from alga.certificate import Certificate
from alga.engines import sequential
from alga.errors import AlgaError
from alga.progress import Watch, unwatched
from alga.runs import Run, Weights
from alga.serve import content
from alga.tasks import Task


@dataclass(frozen=True)
class Weight:
    """One number of a network: which tensor, and which of its numbers."""

    tensor: str
    index: int


def weights(calculator: Calculator) -> dict[str, int]:
    """Return the tensors of a network and how many numbers each has."""
    return {name: tensor.numel() for name, tensor in calculator.run.model.named_parameters()}


def favourite(calculator: Calculator) -> Weight:
    """Return the weight that is damaged unless another is named: the largest of the first tensor, the embedding."""
    name, tensor = next(iter(calculator.run.model.named_parameters()))
    return Weight(name, int(tensor.detach().abs().argmax()))


def chosen(calculator: Calculator, tensor: str | None, index: int | None) -> Weight:
    """Return the weight that is named, or the favourite where none is."""
    best = favourite(calculator)
    if tensor in (None, best.tensor) and index is None:
        return best
    return Weight(tensor or best.tensor, index or 0)


def damaged(calculator: Calculator, weight: Weight, amount: float) -> tuple[Calculator, float]:
    """Return a copy of a network with one weight moved, and what the weight was."""
    import torch

    sizes = weights(calculator)
    if weight.tensor not in sizes:
        raise AlgaError(f"no tensor {weight.tensor!r}; there are {', '.join(sizes)}")
    if not 0 <= weight.index < sizes[weight.tensor]:
        raise AlgaError(f"{weight.tensor} has the numbers 0 to {sizes[weight.tensor] - 1}, got {weight.index}")
    if not math.isfinite(amount):
        raise AlgaError(f"expected an amount that is finite, got {amount}")
    run = calculator.run
    with torch.no_grad():
        network = copy.deepcopy(run.model)
        numbers = dict(network.named_parameters())[weight.tensor].view(-1)
        before = float(numbers[weight.index])
        numbers[weight.index] += amount
    held = Weights.of(run.config, network)
    return Calculator(Run(name=run.name, config=run.config, weights=held)), before


def report(
    calculator: Calculator,
    weight: Weight,
    amount: float,
    operands: tuple[str, ...] | None = None,
    watch: Watch = unwatched,
) -> dict[str, Any]:
    """Judge a copy with one weight moved on every prompt; let it solve a problem: the one given, or a telling one."""
    hurt, before = damaged(calculator, weight, amount)
    judged = hurt.run.judged(watch)
    held = judged.certificate
    assert held is not None
    telling = example(hurt, held)
    return {
        "model": calculator.run.name,
        "weight": {"tensor": weight.tensor, "index": weight.index, "before": before, "after": before + amount},
        "certificate": content.certificate(held, base=hurt.task.base),
        "domain": content.domain(hurt),
        "example": list(telling) if telling else None,
        "problem": solved(hurt, operands or telling, watch),
    }


def example(hurt: Calculator, held: Certificate) -> tuple[str, ...] | None:
    """Return operands that lead to a prompt which the network gets wrong, and to a wrong answer; None if none is near.

    At most one column before the wrong one is tried: enough for every context that two digits make.
    """
    task = hurt.task
    if task is not hurt.trained or not content.walks(task):
        return None
    starts = {instance.output: instance.column for instance in task.domain.values() if instance.context is None}
    for failure in held.failures:
        instance = task.domain[failure.prompt]
        before = [] if instance.context is None else [starts.get(instance.context)]
        if None in before:
            continue
        operands = task.operands([*filter(None, before), instance.column])
        if operands is None or not _is_problem(task, operands):
            continue
        answer = hurt.solve(*operands, engine="sequential").answer
        if answer != task.answer(*operands):
            return operands
    return None


def solved(hurt: Calculator, operands: tuple[str, ...] | None, watch: Watch = unwatched) -> dict[str, Any] | None:
    """Solve a problem by the damaged network, and say beside it what exact arithmetic says."""
    task, tokens = hurt.task, hurt.run.config.tokens
    if operands is None or task is not hurt.trained or not content.walks(task):
        return None
    if len(operands) != task.arity:
        raise AlgaError(f"{task.name} takes {task.arity} numbers, got {len(operands)}")
    (solution,) = sequential.solve(task, hurt.decoder, [operands], keep_steps=True, watch=watch)
    last = len(task.columns(*operands)) - 1
    steps = [content.taken(task, tokens, done, last=i == last) for i, done in enumerate(solution.trace)]
    return {
        **content.problem(task, hurt.run.name, operands),
        "steps": steps,
        "answer": solution.answer,
        "failure": solution.failure,
        "exact": task.answer(*operands),
    }


def _is_problem(task: Task, operands: tuple[str, ...]) -> bool:
    try:
        return bool(task.columns(*operands))
    except AlgaError:
        return False
