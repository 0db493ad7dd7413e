"""What a calculator gives: an answer with what it took, and the trace of its steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from alga.solve.engines import Solution, Step, as_table
from alga.tasks import Procedure

if TYPE_CHECKING:
    from alga.network.decoder import Detail


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer to one problem, and what it took."""

    task: str
    engine: str
    model: str
    operands: tuple[str, ...]
    certified: bool
    network_calls: int  # while it was solved, together with those that were solved side by side with it
    solution: Solution

    @property
    def answer(self) -> str | None:
        """The answer, or None where the network failed at a step."""
        return self.solution.answer

    @property
    def failure(self) -> str:
        """The failure in words; empty where there is none."""
        return self.solution.failure

    @property
    def uncertain(self) -> str | None:
        """The first prompt on the way that rounding might have decided, where there was one."""
        return self.solution.uncertain

    def as_dict(self) -> dict[str, Any]:
        """Return the answer as plain values, in a stable order."""
        return {
            "task": self.task,
            "engine": self.engine,
            "model": self.model,
            "operands": list(self.operands),
            "answer": self.answer,
            "steps": self.solution.steps,
            "rounds": self.solution.rounds,
            "generated_tokens": self.solution.generated_tokens,
            "certified": self.certified,
            "network_calls": self.network_calls,
            **({"failure": self.failure} if self.failure else {}),
            **({"uncertain": self.uncertain} if self.uncertain else {}),
        }


@dataclass(frozen=True)
class Trace:
    """Every step of one problem, printed as the paper prints it; `details` open the steps where asked for."""

    procedure: Procedure
    result: Answer
    details: tuple[Detail, ...] = ()

    @property
    def answer(self) -> str | None:
        """The answer, or None where the network failed at a step."""
        return self.result.answer

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps, in order."""
        return self.result.solution.trace

    def __str__(self) -> str:
        return as_table(self.procedure, self.result.solution)
