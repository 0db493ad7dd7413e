"""Operands -> answer: what people call, from Python or the command line.

>>> import alga
>>> adder = alga.load()
>>> adder.add("65785", "8765")
'74550'
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from alga import engines, runs
from alga.certificate import Certificate
from alga.decoding import Decoder, Detail
from alga.engines import Solution, Step, as_table
from alga.errors import AlgaError
from alga.progress import Watch, unwatched
from alga.runs import Run
from alga.tasks import Task

DEFAULT_MODEL: Final = "addition"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The end of one problem; with more operands than the task takes at once, one solution for each two."""

    task: str
    engine: str
    model: str
    operands: tuple[str, ...]
    certified: bool
    solutions: tuple[Solution, ...]

    @property
    def answer(self) -> str | None:
        """The answer, or None where the network failed at a step."""
        return self.solutions[-1].answer

    @property
    def failure(self) -> str:
        """The failure in words; empty where there is none."""
        return self.solutions[-1].failure

    def as_dict(self) -> dict[str, Any]:
        """Return the answer as plain values, in a stable order."""
        return {
            "task": self.task,
            "engine": self.engine,
            "model": self.model,
            "operands": list(self.operands),
            "answer": self.answer,
            "steps": sum(solution.steps for solution in self.solutions),
            "rounds": sum(solution.rounds for solution in self.solutions),
            "generated_tokens": sum(solution.generated_tokens for solution in self.solutions),
            "certified": self.certified,
        } | ({"failure": self.failure} if self.failure else {})


@dataclass(frozen=True)
class Trace:
    """Every step of one problem, printed as the paper prints it; `details` open the steps where asked for."""

    task: Task
    result: Answer
    details: tuple[Detail, ...] = ()

    @property
    def answer(self) -> str | None:
        """The answer, or None where the network failed at a step."""
        return self.result.answer

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps, in order."""
        return tuple(step for solution in self.result.solutions for step in solution.trace)

    def __str__(self) -> str:
        return "\n\n".join(as_table(self.task, solution) for solution in self.result.solutions)


class Calculator:
    """A trained network put to use. `alga.load()` gives the adder that ships with the package."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.task = run.config.task
        self.decoder = Decoder(run.model, run.config.tokens)

    @classmethod
    def from_pretrained(cls, model: str | os.PathLike[str] = DEFAULT_MODEL) -> Calculator:
        """Load a shipped network by name, or a run folder by path."""
        return cls(runs.load(model))

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write the network as a run folder, with its certificate where it has one; the folder must be new or empty."""
        runs.claim(Path(folder))
        runs.save(Path(folder), self.run)

    @property
    def certified(self) -> bool:
        """Whether the network has a certificate, and for its weights as they are now."""
        return self.run.certified

    def add(self, *operands: str, engine: str = engines.DEFAULT) -> str:
        """Add two or more numbers given as text of digits.

        >>> Calculator.from_pretrained().add("999", "1")
        '1000'
        """
        if self.task.verb != "add":
            raise AlgaError(f"the model {self.run.name} does not add: it computes {self.task.summary}")
        result = self.solve(*operands, engine=engine)
        if result.answer is None:
            raise AlgaError(result.failure)
        return result.answer

    def solve(self, *operands: str, engine: str = engines.DEFAULT) -> Answer:
        """Solve one problem of the network's task; a failed step is told in the answer, not raised."""
        return self.solve_many([operands], engine=engine)[0]

    def solve_many(
        self,
        problems: Sequence[Sequence[str]],
        *,
        engine: str = engines.DEFAULT,
        keep_steps: bool = False,
        watch: Watch = unwatched,
    ) -> list[Answer]:
        """Solve problems side by side."""
        solve, arity = engines.find(engine), self.task.arity
        for problem in problems:
            if len(problem) < arity or (len(problem) > arity and not self.task.folds):
                more = " or more" if self.task.folds else ""
                raise AlgaError(f"{self.task.name} takes {arity}{more} numbers, got {len(problem)}")
            for operand in problem[arity:]:
                self.task.columns(*[operand] * arity)  # refuse it now, not after the first two are done
        solutions: list[list[Solution]] = [[] for _ in problems]
        ahead = {i: tuple(problem[:arity]) for i, problem in enumerate(problems)}
        while ahead:
            found = solve(self.task, self.decoder, list(ahead.values()), keep_steps=keep_steps, watch=watch)
            following: dict[int, tuple[str, ...]] = {}
            for i, solution in zip(ahead, found, strict=True):
                solutions[i].append(solution)
                rest = problems[i][arity + len(solutions[i]) - 1 :]
                if rest and solution.answer is not None:
                    following[i] = (solution.answer, rest[0])
            ahead = following
        certified = self.certified
        return [
            Answer(
                task=self.task.name,
                engine=engine,
                model=self.run.name,
                operands=tuple(problem),
                certified=certified,
                solutions=tuple(done),
            )
            for problem, done in zip(problems, solutions, strict=True)
        ]

    def trace(self, *operands: str, attention: bool = False) -> Trace:
        """Solve one problem by the network, step by step, and keep the steps.

        With `attention`, `details` holds each step's attention weights and the probabilities of each generated token.

        >>> print(str(Calculator.from_pretrained().trace("9582", "9261")).splitlines()[2])
               2ª) INPUT: 3C86  generates three OUTPUTS: 14S
        """
        (result,) = self.solve_many([operands], keep_steps=True)
        trace = Trace(self.task, result)
        if not attention:
            return trace
        details = tuple(self.decoder.detail(step.prompt, step.text) for step in trace.steps)
        return dataclasses.replace(trace, details=details)

    def certify(self, watch: Watch = unwatched) -> Certificate:
        """Judge the network as it is now, prompt by prompt, whatever certificate it came with."""
        certificate = self.run.judged(watch).certificate
        assert certificate is not None
        return certificate


def load(model: str | os.PathLike[str] = DEFAULT_MODEL) -> Calculator:
    """Load the shipped adder, another shipped network by name, or a run folder by path."""
    return Calculator.from_pretrained(model)
