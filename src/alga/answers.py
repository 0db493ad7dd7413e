"""What a calculator gives: an answer with what it took, and the trace of its steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from alga.engines import Solution, Step, as_table
from alga.tasks import Task

if TYPE_CHECKING:
    from alga.decoding import Detail


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The end of one problem; with more operands than the task takes at once, one solution for each two."""

    task: str
    engine: str
    model: str
    operands: tuple[str, ...]
    certified: bool
    network_calls: int  # while it was solved, together with those that were solved side by side with it
    solutions: tuple[Solution, ...]

    @property
    def answer(self) -> str | None:
        """The answer, or None where the network failed at a step."""
        return self.solutions[-1].answer

    @property
    def failure(self) -> str:
        """The failure in words; empty where there is none."""
        return self.solutions[-1].failure

    @property
    def uncertain(self) -> str | None:
        """The first prompt on the way that rounding might have decided, where there was one."""
        return next((solution.uncertain for solution in self.solutions if solution.uncertain), None)

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
            "network_calls": self.network_calls,
            **({"failure": self.failure} if self.failure else {}),
            **({"uncertain": self.uncertain} if self.uncertain else {}),
        }


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
