"""The result of a problem: the answer, its cost, and the certificates it rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast, overload

from alga.network.step import Step
from alga.network.tokens import STOP
from alga.tasks import Procedure
from alga.tasks.numbers import without_zeros
from alga.trust.certificate import Certificate

if TYPE_CHECKING:
    from alga.network.decoder import Detail
    from alga.network.reader_decoder import Look
    from alga.solve.solver import Solver

SIGNS: Final = {"add": "+", "sub": "-", "mul": "×", "divmod": "÷", "cmp": "?"}  # every operation, as a trace writes it
TEXT_SHOWN: Final = 40  # characters of a text in a trace
REPR_CHARACTERS: Final = 24  # characters of a number in a repr
_WORDS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True, kw_only=True, repr=False)
class Result(Mapping[str, Any]):
    """The result of one problem: of a task by one network, or of an operation made of several such problems.

    It is also the mapping that `as_dict` returns, so that `pandas.DataFrame(results)` has these columns.

    >>> import alga
    >>> result = alga.load().solve("65785", "8765")
    >>> result, result["answer"]
    (Result(addition of 65785, 8765: 74550; table, certified), '74550')
    """

    operation: str  # add, sub, mul, divmod or cmp; or the name of a task
    operands: tuple[str, ...]
    answer: str | None  # None if a network failed at a step
    engine: str = ""
    step_count: int = 0
    rounds: int = 0
    generated_tokens: int = 0
    network_calls: int = 0  # of the batch, if several problems were solved side by side
    failure: str = ""
    uncertain: str | None = None  # the first prompt whose margin is within rounding error
    networks: Mapping[str, str] = field(default_factory=dict)  # their names, in order of use, and tasks
    certificates: Mapping[str, Certificate] = field(default_factory=dict)  # by network, as they were when it answered
    base: int | None = None  # of an operation
    procedure: Procedure | None = None  # of a task
    kept: tuple[Step, ...] = ()  # the steps of a traced task
    details: tuple[Detail | Look, ...] = ()  # attention and probabilities of these steps, if asked for
    parts: tuple[Result | str, ...] = ()  # of a traced operation: its problems, and notes between them

    def told(self, **facts: object) -> Result:
        """Return the result with other facts: as `dataclasses.replace`, ten times as fast."""
        told = object.__new__(Result)
        vars(told).update(vars(self), **facts)
        vars(told).pop("_plain", None)
        return told

    @cached_property
    def _plain(self) -> dict[str, Any]:
        return self.as_dict()

    def __getitem__(self, key: str) -> Any:
        return self._plain[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._plain)

    def __len__(self) -> int:
        return len(self._plain)

    @property
    def certified(self) -> bool:
        """Whether every network on the way was certified when it answered."""
        return self.certificates.keys() == self.networks.keys()

    @property
    def steps(self) -> tuple[Step, ...]:
        """Every step on the way, if the problem was traced."""
        inner = (step for part in self.parts if isinstance(part, Result) for step in part.steps)
        return self.kept or tuple(inner)

    @property
    def traced(self) -> bool:
        """Whether there is a trace to print."""
        return bool(self.kept or self.parts)

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain values, in a stable order."""
        tasks = [*self.networks.values()]
        operation: dict[str, Any] = {}
        if self.base is not None:
            certificates = [
                {"model": name, "strength": c.strength, "least_margin": c.least_margin, "sha256": c.sha256}
                for name, c in self.certificates.items()
            ]
            operation = {"base": self.base, "certificates": certificates}
        return {
            "task": tasks[0] if len(tasks) == 1 else self.operation,
            "engine": self.engine,
            "model": ", ".join(self.networks),
            "operands": list(self.operands),
            "answer": self.answer,
            "steps": self.step_count,
            "rounds": self.rounds,
            "generated_tokens": self.generated_tokens,
            "certified": self.certified,
            "network_calls": self.network_calls,
            **operation,
            **({"failure": self.failure} if self.failure else {}),
            **({"uncertain": self.uncertain} if self.uncertain else {}),
        }

    def __repr__(self) -> str:
        operands = ", ".join(map(_shortened, self.operands))
        answer = _shortened(self.answer) if self.answer is not None else self.failure
        certified = "certified" if self.certified else "not certified"
        return f"Result({self.operation} of {operands}: {answer}; {self.engine or 'no network'}, {certified})"

    def __str__(self) -> str:
        """Return the trace as the paper prints it, that of a composed operation as written on paper, or the answer."""
        if self.kept:
            return self._as_paper()
        if not self.parts:
            return self.answer if self.answer is not None else self.failure
        only = self.parts[0] if len(self.parts) == 1 else None
        if isinstance(only, Result) and only.answer == self.answer:
            return str(only)
        return self._on_paper()

    def _as_paper(self) -> str:
        """Return the trace line by line as in the paper's section 4."""
        assert self.procedure is not None
        if self.engine == "whole":
            return self._as_text()
        width = max(len(step.prompt) for step in self.kept)
        lines = [f"      Autoregressive generation to compute: {self.procedure.expression(*self.operands)}"]
        lines += [
            f"{i:>8}ª) INPUT: {step.prompt:<{width}} generates {_word(len(step.text)):<5} OUTPUTS: {step.text}"
            for i, step in enumerate(self.kept, start=1)
        ]
        if self.answer is None:
            return "\n".join([*lines, self.failure])
        return "\n".join([*lines, self.procedure.reading(self.step_count), f"{'Final answer: ':>36}{self.answer}"])

    def _as_text(self) -> str:
        """Return one line per token of a text: what is there so far, what it sees and attends to, what it writes."""
        assert self.procedure is not None
        looks = cast("tuple[Look, ...]", self.details)
        width = min(TEXT_SHOWN, len(looks[-1].text))
        lines = [f"      Generation, token by token, to compute: {self.procedure.expression(*self.operands)}"]
        for i, (step, look) in enumerate(zip(self.kept, looks, strict=True), start=1):
            text = look.text if len(look.text) <= TEXT_SHOWN else f"…{look.text[1 - TEXT_SHOWN :]}"
            lines.append(
                f"{i:>8}ª) {text:<{width}} writes {step.text}, sees {look.at(0)} and next {look.at(1) or 'nothing'}"
            )
            for head, shares in enumerate(look.shares(), start=1):
                parts = ", ".join(f"{name} {share:.2g}" for name, share in shares.items())
                lines.append(f"{'':>12}head {head} attends to: {parts}")
        if self.answer is None:
            return "\n".join([*lines, self.failure])
        return "\n".join([*lines, "Read the tokens after = from right to left", f"{'Final answer: ':>36}{self.answer}"])

    def _on_paper(self) -> str:
        lines = [f"{SIGNS[self.operation].join(f' {operand} ' for operand in self.operands).strip()}, digit by digit"]
        for part in self.parts:
            lines.append(f"  {part.equation if isinstance(part, Result) else part}")
            if isinstance(part, Result):
                written = (f"{step.prompt} → {step.text.removesuffix(STOP)}" for step in part.kept)
                lines.append("      " + "  ".join(written))
        lines.append(f"Answer: {self.answer}" if self.answer is not None else self.failure)
        rests = ", ".join(f"{name} ({c.strength})" for name, c in self.certificates.items())
        return "\n".join([*lines, f"It rests on the certificates of: {rests}"] if rests else lines)

    @property
    def equation(self) -> str:
        """The problem of a task with its answer, in one line."""
        assert self.procedure is not None
        if self.answer is None:
            return f"{self.procedure.expression(*self.operands)}: no answer"
        return self.procedure.equation(self.operands, self.answer)


# Pandas takes a dataclass apart field by field, copying networks and tasks; without this it takes the mapping.
del Result.__dataclass_fields__


class Results(Sequence[Result]):
    """The results of many problems, in order; each is made when it is asked for.

    >>> import alga
    >>> results = alga.load().solve_many([("1", "2"), ("30", "40")])
    >>> results.answers, results[1]
    (['3', '70'], Result(addition of 30, 40: 70; table, certified))
    """

    def __init__(self, answers: list[str | None], make: Callable[[int], Result]) -> None:
        self.answers, self._make = answers, make

    @classmethod
    def of(cls, results: Sequence[Result]) -> Results:
        """Return results that are already made."""
        return cls([result.answer for result in results], results.__getitem__)

    @classmethod
    def alike(cls, problems: Sequence[Sequence[str]], answers: Sequence[str], **facts: Any) -> Results:
        """Return the results of problems of plain numbers, one above the other; they share all facts but the cost."""
        common = Result(operands=(), answer=None, **facts)

        def make(i: int) -> Result:
            operands = tuple(problems[i])
            steps = max(len(without_zeros(operand)) for operand in operands)
            return common.told(operands=operands, answer=answers[i], step_count=steps)

        return cls([*answers], make)

    def told(self, operands: Sequence[tuple[str, ...]] | None = None, **facts: object) -> Results:
        """Return the results with other facts, and perhaps other operands."""

        def make(i: int) -> Result:
            return self._make(i).told(**facts, **({} if operands is None else {"operands": operands[i]}))

        return Results(self.answers, make)

    def __len__(self) -> int:
        return len(self.answers)

    @overload
    def __getitem__(self, at: int) -> Result: ...
    @overload
    def __getitem__(self, at: slice) -> Results: ...
    def __getitem__(self, at: int | slice) -> Result | Results:
        if isinstance(at, slice):
            places = range(len(self))[at]
            return Results(self.answers[at], lambda i: self._make(places[i]))
        return self._make(range(len(self))[at])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment] # it is equal to a list

    def __repr__(self) -> str:
        return f"Results({len(self):,} problems)"


class Listener:
    """Called while a trace is made; this one ignores everything."""

    def problem(self, network: Solver, operands: tuple[str, ...]) -> None:
        """Handle the start of a problem; its steps follow."""

    def step(self, step: Step) -> None:
        """Handle a step that the network has taken."""

    def note(self, text: str) -> None:
        """Handle a remark about what happens between two problems."""


def failure_at(step: int, prompt: str, text: str) -> str:
    """Return the message for a step at which a network wrote an invalid output.

    >>> failure_at(3, "1C15", "1C")
    "the network failed at step 3: it wrote '1C' for 1C15"
    """
    return f"the network failed at step {step}: it wrote {text!r} for {prompt}"


def _shortened(text: str) -> str:
    return text if len(text) <= REPR_CHARACTERS else f"{text[: REPR_CHARACTERS // 2]}… ({len(text):,} digits)"


def _word(count: int) -> str:
    return _WORDS[count] if count < len(_WORDS) else str(count)
