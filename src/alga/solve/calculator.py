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

from alga import runs
from alga.base.errors import AlgaError
from alga.base.progress import Watch, unwatched
from alga.runs import Run
from alga.solve import engines
from alga.solve.answers import Answer, Trace
from alga.solve.engines import Solution, Step, sequential
from alga.solve.engines import table as table_engine
from alga.tasks import Procedure, own
from alga.tasks.numbers import number
from alga.trust.certificate import Certificate
from alga.trust.table import Table, extract

if TYPE_CHECKING:
    from alga.network.decoder import Decoded, Decoder

DEFAULT_MODEL: Final = "addition"


class Calculator:
    """A trained network put to use. `alga.load()` gives the adder that ships with the package."""

    def __init__(self, run: Run, procedure: Procedure | None = None) -> None:
        self.run = run
        self.trained = run.config.task
        self.procedure = self.trained.procedure if procedure is None else procedure
        if self.procedure not in (self.trained.procedure, *self.trained.procedures):
            raise AlgaError(f"the model {run.name} was trained for {self.trained.name}, not for {self.procedure.name}")
        self._extracted: tuple[str, Table] | None = None

    @cached_property
    def decoder(self) -> Decoder:
        """The network itself, opened on first use."""
        from alga.network.decoder import Decoder

        return Decoder(self.run.weights, self.run.config.tokens)

    def decode(self, prompts: Sequence[str]) -> list[Decoded]:
        """Ask the network itself; while it claims its certificate, an answer other than its table's is refused."""
        return _Work(self).decode(prompts)

    @property
    def table(self) -> Table:
        """All that the network answers: as certified, or extracted now where there is no certificate."""
        if self.run.current and self.run.table is not None:
            return self.run.table
        sha256, altered = self.run.sha256, self.run.weights.altered
        if altered or self._extracted is None or self._extracted[0] != sha256:
            self.decoder.refresh()
            table = extract(self.trained.domain, self.decoder)
            self._extracted = None if altered else (sha256, table)  # a hook may answer otherwise the next time
            return table
        return self._extracted[1]

    @cached_property
    def companion(self) -> Calculator:
        """The network that finds all carries of this task at once: this one itself, or one that ships with it."""
        if self.own_engine == "lookahead":
            return self
        name = runs.LOOKAHEADS.get(self.trained.name)
        if name is None or name not in runs.shipped():
            raise AlgaError(f"there is no lookahead network for {self.procedure.name}")
        if self.run.name not in runs.shipped():
            raise AlgaError(f"the model {self.run.name} cannot look ahead; the model {name} can")
        return load(name)

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
        if "add" not in self.parts():
            raise AlgaError(f"the model {self.run.name} does not add: it computes {self.trained.summary}")
        if len(operands) < 2:
            raise AlgaError(f"add takes two or more numbers, got {len(operands)}")
        adder = self.parts()["add"]
        for operand in operands[2:]:
            number(operand, adder.procedure.layout.symbols)  # before any work
        total, *others = operands
        for other in others:
            result = adder.solve(total, other, engine=engine)
            if result.answer is None:
                raise AlgaError(result.failure)
            total = result.answer
        return total

    def solve(self, *operands: str, engine: str | None = None) -> Answer:
        """Solve one problem of the network's task; a failed step is told in the answer, not raised."""
        return self.solve_many([operands], engine=engine)[0]

    def check(self, problem: Sequence[str]) -> None:
        """Validate the operands of one problem before any work."""
        arity = self.procedure.layout.arity
        for operand in problem:
            if not isinstance(operand, str):
                number(operand)  # says what is wrong
        if len(problem) != arity:
            raise AlgaError(f"{self.procedure.name} takes {arity} numbers, got {len(problem)}")

    def parts(self) -> dict[str, Calculator]:
        """Return what the network does for arithmetic, by kind of step: one, or several where trained for them."""
        if self.procedure is not self.trained.procedure:
            kind = runs.step_of(self.procedure)
            return {} if kind is None else {kind: self}
        steps = ((runs.step_of(procedure), procedure) for procedure in self.trained.procedures)
        return {kind: self._part(procedure) for kind, procedure in steps if kind is not None}

    def _part(self, procedure: Procedure) -> Calculator:
        return self if procedure is self.procedure else Calculator(self.run, procedure)

    @property
    def own_engine(self) -> str:
        """The engine that runs the network itself."""
        return self.trained.engine

    def engine_for(self, engine: str | None) -> str:
        """Return the engine that runs: `table` where the network is certified, unless another is asked for."""
        if engine is not None:
            engines.find(engine)
        if self.own_engine != "sequential":
            if engine not in (None, self.own_engine):
                raise AlgaError(f"the model {self.run.name} runs by the engine {self.own_engine} only, not by {engine}")
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
        return network._answers(problems, engine, lambda work, ahead: solve(work, ahead, watch))

    def stream(self, paths: Sequence[Path], sink: BinaryIO, watch: Watch = unwatched) -> None:
        """Solve one problem by the table engine from files that hold a number each to a file, in bounded memory."""
        table_engine.stream(self.procedure, self.table, paths, sink, watch)

    def streams(self, engine: str | None) -> bool:
        """Tell whether `stream` does what `solve` would do with that engine."""
        return self.engine_for(engine) == "table" and table_engine.streams(self.procedure, self.table)

    def _answers(
        self,
        problems: Sequence[Sequence[str]],
        engine: str,
        solve: Callable[[_Work, list[tuple[str, ...]]], list[Solution]],
    ) -> list[Answer]:
        """Solve problems, and say of each answer whether it is certified."""
        for problem in problems:
            self.check(problem)
        if "decoder" in vars(self):
            self.decoder.refresh()
        work, calls = _Work(self), self._network_calls
        with own.blaming_runs(self.procedure):
            solutions = solve(work, [tuple(problem) for problem in problems])
        certified, calls = work.claims and self.certified, self._network_calls - calls
        return [
            Answer(
                task=self.procedure.name,
                engine=engine,
                model=self.run.name,
                operands=solution.operands,
                certified=certified,
                network_calls=calls,
                solution=solution,
            )
            for solution in solutions
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
        trace = Trace(self.procedure, self._traced(operands, tell, watch))
        if not attention:
            return trace
        details = tuple(self.decoder.detail(step.prompt, step.text) for step in trace.steps)
        return dataclasses.replace(trace, details=details)

    def _traced(self, operands: Sequence[str], tell: Callable[[Step], None] | None, watch: Watch) -> Answer:
        self.engine_for("sequential")
        (result,) = self._answers(
            [operands],
            "sequential",
            lambda work, ahead: sequential.solve(
                self.procedure, work.decode, ahead, keep_steps=True, tell=tell, watch=watch
            ),
        )
        return result

    def certify(self, watch: Watch = unwatched) -> Certificate:
        """Judge the network as it is now, prompt by prompt, whatever certificate it came with."""
        certificate = self.run.judged(watch).certificate
        assert certificate is not None
        return certificate


class _Work:
    """A network for one piece of work. What it claims at the beginning, each of its steps is held to, to the end."""

    def __init__(self, calculator: Calculator) -> None:
        self._calculator = calculator
        self.procedure, self.trained = calculator.procedure, calculator.trained
        self.claims = calculator.certified
        self._certified = calculator.run.table if self.claims else None

    @property
    def table(self) -> Table:
        """All that the network answers."""
        return self._certified or self._calculator.table

    def decode(self, prompts: Sequence[str]) -> list[Decoded]:
        """Ask the network itself; refuse an answer that is not the one in its certified table."""
        steps = self._calculator.decoder(prompts)
        outputs, name = (self._certified.outputs if self._certified else None), self._calculator.run.name
        for prompt, step in zip(prompts, steps, strict=True):
            if outputs is not None and outputs.get(prompt) != step.output:
                raise AlgaError(
                    f"the model {name} wrote {step.text!r} for {prompt!r}, but its certified table says "
                    f"{outputs.get(prompt)!r}: the certificate is wrong (to check all of it: alga certify {name})"
                )
        return steps


def load(model: str | os.PathLike[str] = DEFAULT_MODEL) -> Calculator:
    """Load the shipped adder, another shipped network by name, or a run folder by path."""
    return Calculator.from_pretrained(model)
