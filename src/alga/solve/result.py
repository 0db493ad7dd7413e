"""What an operation gives: the answer, what it took, the networks it rests on, and its trace for a pupil."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from alga.network.tokens import STOP
from alga.solve.calculator import Calculator
from alga.solve.engines import Step
from alga.trust.certificate import Certificate

SIGNS: Final = {"add": "+", "sub": "-", "mul": "×", "divmod": "÷", "cmp": "?"}


@dataclass
class Result:
    """The end of one problem: the answer, what it took, and the networks that it rests on."""

    verb: str
    base: int
    operands: tuple[str, ...]
    engine: str = ""
    answer: str | None = None
    failure: str = ""
    uncertain: str | None = None
    steps: int = 0
    rounds: int = 0
    generated_tokens: int = 0
    network_calls: int = 0
    networks: dict[str, Calculator] = field(default_factory=dict)  # by name, in the order of their first use
    certificates: dict[str, Certificate] = field(default_factory=dict)  # of these, as they were when they answered
    trace: list[Note] = field(default_factory=list)

    @property
    def certified(self) -> bool:
        """Whether every network on the way was certified when it answered."""
        return self.certificates.keys() == self.networks.keys()

    def note(self, network: Calculator, *, certified: bool) -> None:
        """Remember that the answer rests on a network, and whether it was certified when it answered."""
        name, certificate = network.run.name, network.run.certificate
        first = name not in self.networks
        self.networks.setdefault(name, network)
        if certified and certificate is not None and (first or self.certificates.get(name) == certificate):
            self.certificates[name] = certificate
        else:
            self.certificates.pop(name, None)  # once is enough: another step by it was not certified

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain values, in a stable order."""
        tasks_used = [network.procedure.name for network in self.networks.values()]
        return {
            "task": tasks_used[0] if len(tasks_used) == 1 else self.verb,
            "engine": self.engine,
            "model": ", ".join(self.networks),
            "operands": list(self.operands),
            "answer": self.answer,
            "steps": self.steps,
            "rounds": self.rounds,
            "generated_tokens": self.generated_tokens,
            "certified": self.certified,
            "network_calls": self.network_calls,
            "base": self.base,
            "certificates": [
                {"model": name, "strength": c.strength, "least_margin": c.least_margin, "sha256": c.sha256}
                for name, c in self.certificates.items()
            ],
            **({"failure": self.failure} if self.failure else {}),
            **({"uncertain": self.uncertain} if self.uncertain else {}),
        }

    def __str__(self) -> str:
        """Return the trace as a pupil would write it."""
        rests = ", ".join(f"{name} ({c.strength})" for name, c in self.certificates.items())
        if len(self.trace) == 1 and self.trace[0].table and self.trace[0].answer == self.answer:
            return self.trace[0].table
        lines = [f"{SIGNS[self.verb].join(f' {operand} ' for operand in self.operands).strip()}, digit by digit"]
        for note in self.trace:
            lines.append(f"  {note.text}")
            if note.steps:
                written = (f"{step.prompt} → {step.text.removesuffix(STOP)}" for step in note.steps)
                lines.append("      " + "  ".join(written))
        lines.append(f"Answer: {self.answer}" if self.answer is not None else self.failure)
        return "\n".join([*lines, f"It rests on the certificates of: {rests}"] if rests else lines)


@dataclass(frozen=True)
class Note:
    """A line of a trace, with the network's steps where it took any; `table` is the paper's way to print them."""

    text: str
    steps: tuple[Step, ...] = ()
    table: str = ""
    answer: str | None = None  # None also where a step failed


class Listener:
    """Hears of a trace while it is made; this one does nothing with it."""

    def problem(self, network: Calculator, operands: tuple[str, ...]) -> None:
        """Hear that a network is given a problem; its steps follow."""

    def step(self, step: Step) -> None:
        """Hear of a step that the network has taken."""

    def note(self, text: str) -> None:
        """Hear what is done between two problems."""
