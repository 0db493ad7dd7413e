"""Operands -> answer: what people call, from Python or the command line.

>>> import alga
>>> adder = alga.load()
>>> adder.add("65785", "8765")
'74550'
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from alga import engines, runs
from alga.answers import Answer, Trace
from alga.certificate import Certificate
from alga.engines import Solution, Step, sequential
from alga.engines import table as table_engine
from alga.errors import AlgaError
from alga.progress import Watch, unwatched
from alga.runs import Run
from alga.table import Table, extract
from alga.tasks import Lookahead, Several, Task
from alga.tasks.numbers import number

if TYPE_CHECKING:
    from alga.decoding import Decoder

DEFAULT_MODEL: Final = "addition"


class Calculator:
    """A trained network put to use. `alga.load()` gives the adder that ships with the package."""

    def __init__(self, run: Run, task: Task | None = None) -> None:
        self.run = run
        self.trained = run.config.task
        served = self.trained.serves if isinstance(self.trained, Lookahead) else self.trained
        self.task = served if task is None else task
        self._extracted: tuple[str, Table] | None = None

    @cached_property
    def decoder(self) -> Decoder:
        """The network itself, opened on first use."""
        from alga.decoding import Decoder

        return Decoder(self.run.model, self.run.config.tokens)

    @property
    def table(self) -> Table:
        """All that the network answers: as certified, or extracted now where there is no certificate."""
        sha256, certificate = self.run.sha256, self.run.certificate
        if certificate is not None and certificate.sha256 == sha256 and self.run.table is not None:
            return self.run.table
        if self._extracted is None or self._extracted[0] != sha256:
            self.decoder.refresh()
            self._extracted = sha256, extract(self.trained, self.decoder)[0]
        return self._extracted[1]

    @cached_property
    def companion(self) -> Calculator:
        """The network that finds all carries of this task at once: this one itself, or one that ships with it."""
        if isinstance(self.trained, Lookahead):
            return self
        if self.task.lookahead not in runs.shipped():
            raise AlgaError(f"there is no lookahead network for {self.task.name}")
        if self.run.name not in runs.shipped():
            raise AlgaError(f"the model {self.run.name} cannot look ahead; the model {self.task.lookahead} can")
        return load(self.task.lookahead)

    @classmethod
    def from_pretrained(cls, model: str | os.PathLike[str] = DEFAULT_MODEL) -> Calculator:
        """Load a shipped network by name, or a run folder by path."""
        return cls(runs.load(model))

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write the network as a run folder, with its certificate where it has one; the folder must be new or empty."""
        with runs.claim(Path(folder)):
            runs.save(Path(folder), self.run)

    @property
    def certified(self) -> bool:
        """Whether the network has a certificate, and for its weights as they are now."""
        return self.run.certified

    def add(self, *operands: str, engine: str | None = None) -> str:
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

    def solve(self, *operands: str, engine: str | None = None) -> Answer:
        """Solve one problem of the network's task; a failed step is told in the answer, not raised."""
        return self.solve_many([operands], engine=engine)[0]

    def check(self, problem: Sequence[str]) -> None:
        """Refuse what is no problem of the task before any of it is done: too few operands, too many, no numbers."""
        arity = self.task.arity
        for operand in problem:
            if not isinstance(operand, str):
                number(operand)  # says what is wrong
        if len(problem) < arity or (len(problem) > arity and not self.task.folds):
            more = " or more" if self.task.folds else ""
            raise AlgaError(f"{self.task.name} takes {arity}{more} numbers, got {len(problem)}")
        for operand in problem[arity:]:
            self.task.columns(*[operand] * arity)

    def faces(self) -> dict[str, Calculator]:
        """Return what the network does, by verb: one thing, or several where it was trained for several."""
        if isinstance(self.trained, Several):
            return {verb: Calculator(self.run, task) for verb, task in self.trained.faces().items()}
        return {self.task.verb: self} if self.task.verb else {}

    @property
    def own_engine(self) -> str:
        """The engine that runs the network itself."""
        return "lookahead" if isinstance(self.trained, Lookahead) else "sequential"

    def engine_for(self, engine: str | None) -> str:
        """Return the engine that runs: `table` where the network is certified, unless another is asked for."""
        if engine is not None:
            engines.find(engine)
        if isinstance(self.trained, Lookahead):
            if engine not in (None, self.own_engine):
                raise AlgaError(f"the model {self.run.name} runs by the engine lookahead only, not by {engine}")
            return self.own_engine
        if engine is None:
            return "table" if self.certified else self.own_engine
        return engine

    def solve_many(
        self, problems: Sequence[Sequence[str]], *, engine: str | None = None, watch: Watch = unwatched
    ) -> list[Answer]:
        """Solve problems by the given engine, or by the one that `engine_for` chooses."""
        engine = self.engine_for(engine)
        network = self.companion if engine == "lookahead" else self
        solve = engines.find(engine)
        return network._answers(problems, engine, lambda ahead: solve(network, ahead, watch))

    def stream(self, paths: Sequence[Path], sink: BinaryIO, watch: Watch = unwatched) -> None:
        """Solve one problem by the table engine from files that hold a number each to a file, in bounded memory."""
        table_engine.stream(self.task, self.table, paths, sink, watch)

    def streams(self, engine: str | None) -> bool:
        """Tell whether `stream` does what `solve` would do with that engine."""
        return self.engine_for(engine) == "table" and table_engine.streams(self.task, self.table)

    def _answers(
        self, problems: Sequence[Sequence[str]], engine: str, solve: Callable[[list[tuple[str, ...]]], list[Solution]]
    ) -> list[Answer]:
        """Solve problems, those with more operands than the task takes at once two at a time."""
        arity = self.task.arity
        for problem in problems:
            self.check(problem)
        if "decoder" in vars(self):
            self.decoder.refresh()
        calls = self._network_calls
        solutions: list[list[Solution]] = [[] for _ in problems]
        ahead = {i: tuple(problem[:arity]) for i, problem in enumerate(problems)}
        while ahead:
            following: dict[int, tuple[str, ...]] = {}
            for i, solution in zip(ahead, solve(list(ahead.values())), strict=True):
                solutions[i].append(solution)
                rest = problems[i][arity + len(solutions[i]) - 1 :]
                if rest and solution.answer is not None:
                    following[i] = (solution.answer, rest[0])
            ahead = following
        certified, calls = self.certified, self._network_calls - calls
        return [
            Answer(
                task=self.task.name,
                engine=engine,
                model=self.run.name,
                operands=tuple(problem),
                certified=certified,
                network_calls=calls,
                solutions=tuple(done),
            )
            for problem, done in zip(problems, solutions, strict=True)
        ]

    @property
    def _network_calls(self) -> int:
        """How often the network was called so far; a network that was never opened was not."""
        return self.decoder.network_calls if "decoder" in vars(self) else 0

    def trace(
        self,
        *operands: str,
        attention: bool = False,
        tell: Callable[[Step], None] | None = None,
        watch: Watch = unwatched,
    ) -> Trace:
        """Solve one problem by the network, step by step, and keep the steps; `tell` hears of each when it is done.

        With `attention`, `details` holds each step's attention weights and the probabilities of each generated token.

        >>> print(str(Calculator.from_pretrained().trace("9582", "9261")).splitlines()[2])
               2ª) INPUT: 3C86  generates three OUTPUTS: 14S
        """
        trace = Trace(self.task, self._traced(operands, tell, watch))
        if not attention:
            return trace
        details = tuple(self.decoder.detail(step.prompt, step.text) for step in trace.steps)
        return dataclasses.replace(trace, details=details)

    def _traced(self, operands: Sequence[str], tell: Callable[[Step], None] | None, watch: Watch) -> Answer:
        self.engine_for("sequential")
        (result,) = self._answers(
            [operands],
            "sequential",
            lambda ahead: sequential.solve(self.task, self.decoder, ahead, keep_steps=True, tell=tell, watch=watch),
        )
        return result

    def certify(self, watch: Watch = unwatched) -> Certificate:
        """Judge the network as it is now, prompt by prompt, whatever certificate it came with."""
        certificate = self.run.judged(watch).certificate
        assert certificate is not None
        return certificate


def load(model: str | os.PathLike[str] = DEFAULT_MODEL) -> Calculator:
    """Load the shipped adder, another shipped network by name, or a run folder by path."""
    return Calculator.from_pretrained(model)
