"""Answers to problems of two plain numbers, without a result for each."""

from __future__ import annotations

from alga.runs import Run
from alga.solve.engines import table as table_engine
from alga.solve.engines.machine import machine_of
from alga.tasks import Procedure


class PlainNumbers:
    """The table of a certified network, while nobody has opened the network, so that nothing can change."""

    def __init__(self, run: Run, procedure: Procedure) -> None:
        self.run = run
        plain = procedure.layout.plain and procedure.layout.arity == 2 and not procedure.source
        fits = plain and run.config.task.engine == "sequential" and run.certified and run.table is not None
        self._machine = machine_of(procedure, run.table) if fits and run.table is not None else None

    def answer(self, *operands: object) -> str | None:
        """Return the answer; None if there is more to do or to tell."""
        if self._machine is None or "model" in vars(self.run.weights) or len(operands) != 2:
            return None
        upper, lower = operands
        return table_engine.answer(self._machine, upper, lower) if type(upper) is type(lower) is str else None
