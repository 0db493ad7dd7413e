"""Accuracy by length and by family of problems, against exact arithmetic.

A certificate says more than any number of samples; this is the measure that the paper and its peers use, and it tests
the whole path from operands to answer.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from alga.base.edit_distance import edit_distance
from alga.base.errors import AlgaError
from alga.base.progress import Watch, unwatched
from alga.solve.result import Result
from alga.solve.solver import Solver
from alga.tasks import Procedure

COLUMNS_PER_BATCH: Final = 5_000_000  # columns of problems solved side by side: bounds memory
MOST_PROBLEMS: Final = 10**7
MOST_DIGITS: Final = 10**8
BINS: Final = 10  # of lengths, in the summary


@dataclass(frozen=True)
class Problem:
    """Operands, and the family that they were drawn from."""

    family: str
    operands: tuple[str, ...]

    @property
    def digits(self) -> int:
        """The length of the longest operand."""
        return max(map(len, self.operands))


@dataclass(frozen=True)
class Outcome:
    """A problem, its exact answer, and the network's."""

    problem: Problem
    expected: str
    result: Result

    @property
    def right(self) -> bool:
        """Whether the two agree."""
        return self.result.answer == self.expected

    @property
    def edit_distance(self) -> int:
        """The fewest insertions, deletions and substitutions between the two; a failed problem counts as empty."""
        return 0 if self.right else edit_distance(self.result.answer or "", self.expected)


@dataclass(frozen=True)
class Evaluation:
    """All outcomes, and their summaries."""

    outcomes: tuple[Outcome, ...]

    @property
    def wrong(self) -> tuple[Outcome, ...]:
        """The outcomes that are not right."""
        return tuple(outcome for outcome in self.outcomes if not outcome.right)

    def as_dict(self) -> dict[str, Any]:
        """Return the summary as plain values, in a stable order."""
        longest = max(outcome.problem.digits for outcome in self.outcomes)
        width = -(-longest // BINS)
        families = dict.fromkeys(outcome.problem.family for outcome in self.outcomes)
        spans = [(first, min(first + width - 1, longest)) for first in range(1, longest + 1, width)]
        lengths = [(span, [o for o in self.outcomes if span[0] <= o.problem.digits <= span[1]]) for span in spans]
        return {
            **_summary(self.outcomes),
            "max_digits": longest,
            "families": {name: _summary([o for o in self.outcomes if o.problem.family == name]) for name in families},
            "lengths": [{"from": first, "to": last, **_summary(some)} for (first, last), some in lengths if some],
        }


def draw(
    procedure: Procedure,
    *,
    count: int,
    max_digits: int,
    families: Sequence[str] = (),
    seed: int = 0,
    exactly: bool = False,
) -> list[Problem]:
    """Draw problems, the families in turn (all by default), of up to or of `exactly` so many digits.

    The first problem always has them all.
    """
    known = procedure.families()
    if strangers := [name for name in families if name not in known]:
        raise AlgaError(f"unknown family {strangers[0]!r} of {procedure.name}; there are {', '.join(known)}")
    for name, value, most in (("count", count, MOST_PROBLEMS), ("digits", max_digits, MOST_DIGITS)):
        if not 1 <= value <= most:
            raise AlgaError(f"{name} must be 1 to {most:,}, got {value}")
    rng = Random(seed)
    names = itertools.islice(itertools.cycle(families or known), count)
    return [
        Problem(name, known[name](rng, max_digits if exactly or i == 0 else rng.randint(1, max_digits)))
        for i, name in enumerate(names)
    ]


def evaluate(
    solver: Solver, problems: Sequence[Problem], *, engine: str | None = None, watch: Watch = unwatched
) -> Evaluation:
    """Solve all problems, by default with the network itself, and compare with exact answers."""
    if engine is not None and (runner := solver.runner(engine)) is not solver:
        raise AlgaError(f"the engine {engine} runs another network: evaluate {runner.run.name} instead")
    total, before = sum(problem.digits for problem in problems), 0
    outcomes: list[Outcome] = []
    for chunk in _chunks(problems):
        columns = sum(problem.digits for problem in chunk)
        answers = solver.solve_many(
            [problem.operands for problem in chunk],
            engine=engine or solver.own_engine,
            watch=lambda done, of, before=before, some=columns: watch(before + done * some // of, total),  # type: ignore[misc]
        )
        for problem, answer in zip(chunk, answers, strict=True):
            outcomes.append(Outcome(problem, solver.procedure.oracle(*problem.operands), answer))
        before += columns
    return Evaluation(tuple(outcomes))


def first_wrong_step(solver: Solver, operands: Sequence[str]) -> str:
    """Solve one problem again, alone, and describe its first wrong step."""
    if solver.own_engine != "sequential":
        return "the certificate lists the wrong prompts"
    trace = solver.trace(*operands)
    for i, (step, exact) in enumerate(zip(trace.steps, solver.procedure.steps(*operands), strict=False), start=1):
        if step.text != f"{exact.output}S":
            return f"step {i}: {step.prompt} gave {step.text!r}, expected {exact.output}S (margin {step.margin:.2g})"
    return "every step is right when the problem is solved alone"


def _chunks(problems: Iterable[Problem]) -> Iterable[list[Problem]]:
    chunk: list[Problem] = []
    columns = 0
    for problem in problems:
        chunk.append(problem)
        columns += problem.digits
        if columns > COLUMNS_PER_BATCH:
            yield chunk
            chunk, columns = [], 0
    if chunk:
        yield chunk


def _summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    correct = sum(outcome.right for outcome in outcomes)
    return {
        "problems": len(outcomes),
        "correct": correct,
        "accuracy": correct / len(outcomes),
        "edit_distance": sum(outcome.edit_distance for outcome in outcomes) / len(outcomes),
    }
