"""One network with one procedure: problems in, results out, by any engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from alga import runs, tasks
from alga.base.cancellation import Cancellation
from alga.base.errors import AlgaError
from alga.base.progress import Watch, unwatched
from alga.network.step import Step
from alga.runs import Run
from alga.solve.engines import sequential
from alga.solve.engines import table as table_engine
from alga.solve.engines.machine import machine_of
from alga.solve.engines.names import TRACED, check_engine
from alga.solve.network import Network
from alga.solve.plain import PlainNumbers
from alga.solve.result import Result, Results
from alga.tasks import Procedure, own
from alga.tasks.numbers import number
from alga.tasks.procedure import SEPARATOR
from alga.trust.table import Table

if TYPE_CHECKING:
    from alga.network.reader_decoder import Written
    from alga.solve.engines.bulk import Bulk

DEFAULT_MODEL: Final = "addition"
FEW: Final = 16  # problems: fewer are solved one by one


class Solver(Network):
    """A trained network that solves problems of its procedure, or of one of several."""

    def __init__(self, run: Run, procedure: Procedure | None = None) -> None:
        super().__init__(run)
        self.procedure = self.trained.procedure if procedure is None else procedure
        if self.procedure not in (self.trained.procedure, *self.trained.procedures):
            raise AlgaError(f"the model {run.name} was trained for {self.trained.name}, not for {self.procedure.name}")
        self.runners: dict[str, Solver] = {}  # by engine: other networks, loaded on first use
        self._plain: PlainNumbers | None = None

    @classmethod
    def load(cls, model: str | os.PathLike[str] = DEFAULT_MODEL) -> Solver:
        """Load a shipped network by name, or a run folder by path."""
        return cls(runs.load(model))

    def __repr__(self) -> str:
        strength = self.run.certificate.strength if self.certified and self.run.certificate else "not certified"
        return f"Solver({self.run.name}: {self.procedure.name}, {strength})"

    # --- what it can do -----------------------------------------------------------------------------------------------

    def runner(self, engine: str) -> Solver:
        """Return the network that an engine runs for this task: this one itself, or one that ships with it."""
        if engine == self.own_engine or engine not in tasks.COMPANIONS:
            return self
        if engine not in self.runners:
            name = tasks.COMPANIONS[engine].get(self.trained.name)
            if name is None or name not in runs.shipped():
                raise AlgaError(f"there is no network for {self.procedure.name} that runs by the engine {engine}")
            if self.run.name not in runs.shipped():
                raise AlgaError(f"the model {self.run.name} does not run by the engine {engine}; the model {name} does")
            self.runners[engine] = Solver.load(name)
        return self.runners[engine]

    def parts(self) -> dict[str, Solver]:
        """Return the network as a solver for each kind of arithmetic step that it was trained for."""
        if self.procedure is not self.trained.procedure:
            kind = tasks.step_of(self.procedure)
            return {} if kind is None else {kind: self}
        steps = ((tasks.step_of(procedure), procedure) for procedure in self.trained.procedures)
        return {
            kind: self if procedure is self.procedure else Solver(self.run, procedure)
            for kind, procedure in steps
            if kind is not None
        }

    @property
    def own_engine(self) -> str:
        """The engine that runs the network itself."""
        return self.trained.engine

    def engine_for(self, engine: str | None) -> str:
        """Return the engine to use: the one asked for, else `table` if the network is certified."""
        if engine is not None:
            check_engine(engine)
        if self.own_engine == "sequential":
            return engine or ("table" if self.certified else self.own_engine)
        if engine not in (None, self.own_engine):
            raise AlgaError(f"the model {self.run.name} runs by the engine {self.own_engine} only, not by {engine}")
        return self.own_engine

    # --- solving ------------------------------------------------------------------------------------------------------

    def check(self, problem: Sequence[str]) -> None:
        """Validate the number and types of one problem's operands; the layout validates their text."""
        arity = self.procedure.layout.arity
        for operand in problem:
            if not isinstance(operand, str):
                number(operand)  # raises
        if len(problem) != arity:
            raise AlgaError(f"{self.procedure.name} takes {arity} numbers, got {len(problem)}")

    def solve(self, *operands: str, engine: str | None = None) -> Result:
        """Solve one problem; a step at which the network fails is reported in the result, not raised."""
        return self.solve_many([operands], engine=engine)[0]

    def solve_many(
        self,
        problems: Sequence[Sequence[str]],
        *,
        engine: str | None = None,
        watch: Watch = unwatched,
        cancel: Cancellation | None = None,
    ) -> Results:
        """Solve problems by the given engine, or by the one that `engine_for` chooses."""
        claimed = self.run.claimed if engine is None and self.own_engine == "sequential" else None
        engine = self.engine_for(engine if claimed is None else "table")
        network = self.runner(engine)
        if engine == "table" and (results := network.in_bulk(problems, watch, cancel)):
            return results
        return Results.of(network._results(problems, engine, claimed=claimed, watch=watch, cancel=cancel))

    def quick(self, *operands: object) -> str | None:
        """Return the answer for two plain numbers by the certified table; None if there is more to do or to tell."""
        if self._plain is None or self._plain.run is not self.run:
            self._plain = PlainNumbers(self.run, self.procedure)
        return self._plain.answer(*operands)

    def in_bulk(self, problems: Sequence[Any], watch: Watch, cancel: Cancellation | None) -> Results | None:
        """Solve many problems of two plain numbers by the table; None if they are few, or there are others."""
        if len(problems) < FEW:
            return None
        claimed = self.run.claimed
        machine = machine_of(self.procedure, claimed or self.table)
        answers = table_engine.answers(machine, problems, watch, cancel)
        return None if answers is None else Results.alike(problems, answers, **self.about("table", claimed, 0))

    def bulk(self, engine: str | None, cost: float) -> Bulk | None:
        """Return the table for lines of problems; None if it is not for that, or replaying such a cost is faster."""
        by_table = self.engine_for(engine) == "table"
        return table_engine.bulk_of(machine_of(self.procedure, self.table), cost) if by_table else None

    def trace(
        self,
        *operands: str,
        engine: str | None = None,
        attention: bool = False,
        tell: Callable[[Step], None] | None = None,
        watch: Watch = unwatched,
        cancel: Cancellation | None = None,
    ) -> Result:
        """Solve one problem by the network, step by step, and keep the steps; `tell` is called with each as it is done.

        With `attention`, `details` holds each step's attention weights and the probabilities of each generated token;
        a network that reads whole texts always tells what it attended to.
        """
        engine = self.traced_by(engine)
        network = self.runner(engine)
        (result,) = network._results([operands], engine, keep_steps=True, tell=tell, watch=watch, cancel=cancel)
        if not attention or result.details:
            return result
        details = network.step_decoder.details_of([(step.prompt, step.text) for step in result.kept])
        return result.told(details=details)

    def traced_by(self, engine: str | None) -> str:
        """Return the engine that a trace shows: the one asked for, else the one that runs the network itself."""
        if engine is None:
            return "whole" if self.own_engine == "whole" else "sequential"
        if engine not in TRACED:
            raise AlgaError(f"a trace shows the network: it goes with the engine {' or '.join(TRACED)}, not {engine}")
        return self.engine_for(engine)

    def stream(self, paths: Sequence[Path], sink: BinaryIO, watch: Watch = unwatched) -> None:
        """Solve one problem by the table engine from files that hold a number each to a file, in bounded memory."""
        table_engine.stream(self.procedure, self.table, paths, sink, watch)

    def streams(self, engine: str | None) -> bool:
        """Return whether `stream` gives the answer that `solve` would give with that engine."""
        return self.engine_for(engine) == "table" and table_engine.streams(self.procedure, self.table)

    def _results(self, problems: Sequence[Sequence[str]], engine: str, **options: Any) -> list[Result]:
        """Solve problems by an engine. Results are certified only if the network is, at the start and at the end."""
        for problem in problems:
            self.check(problem)
        if "decoder" in vars(self):
            self.decoder.refresh()
        claimed = options.pop("claimed", None) or self.run.claimed  # some have just asked
        calls = self._network_calls
        with own.blaming_runs(self.procedure) if self.procedure.source else nullcontext():
            results = self._run_engine(engine, claimed, [tuple(problem) for problem in problems], **options)
        about = self.about(engine, claimed, self._network_calls - calls)
        return [result.told(**about) for result in results]

    def about(self, engine: str, claimed: Table | None, calls: int) -> dict[str, Any]:
        """Return what all results of a call share; `claimed` is what the network claimed at its start."""
        name, certificate = self.run.name, self.run.certificate
        certified = claimed is not None and self.certified and certificate is not None
        return {
            "operation": self.procedure.name, "engine": engine, "network_calls": calls, "procedure": self.procedure,
            "networks": {name: self.procedure.name}, "certificates": {name: certificate} if certified else {},
        }  # fmt: skip

    def _run_engine(self, engine: str, claimed: Table | None, problems: Any, **options: Any) -> list[Result]:
        if engine == "table":
            return table_engine.solve(self.procedure, claimed or self.table, problems, **options)
        decode = partial(self._decode, claimed, self.decoder)
        if engine == "sequential":
            walk = partial(self._decode, claimed, self.step_decoder.walk, SEPARATOR)
            return sequential.solve(self.procedure, decode, problems, walk=walk, **options)
        if engine == "whole":
            from alga.solve.engines import whole  # needs numpy

            look = self.reader.look if options.pop("keep_steps", False) else None
            return whole.solve(self.trained, partial(self._continued, claimed), problems, look=look, **options)
        from alga.solve.engines import lookahead  # needs numpy

        return lookahead.solve(self.trained, decode, problems, **options)

    def _continued(self, claimed: Table | None, question: str, limit: int, watch: Callable[[int], None]) -> Written:
        written = self.reader.continued(question, limit, watch)
        if claimed is not None:
            situations = self.reader.tokens.task.situations(question, written.text)
            claimed.refuse(self.run.name, zip(situations, written.text, written.text, strict=True))
        return written
