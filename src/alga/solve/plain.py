"""Problems of two plain numbers by a network's table: answers without a result for each, and many at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from alga.base.cancellation import Cancellation
from alga.base.progress import Watch, unwatched
from alga.solve.engines import table as table_engine
from alga.solve.engines.machine import Machine, machine_of
from alga.solve.result import Result, Results
from alga.tasks.numbers import without_zeros

if TYPE_CHECKING:
    from alga.runs import Run
    from alga.solve.engines.bulk import Bulk
    from alga.solve.solver import Solver

FEW: Final = 16  # problems: fewer are solved one by one


class Plain:
    """A solver's short cuts. Each gives nothing where there is more to do or to tell, and what it gives is the same."""

    def __init__(self, solver: Solver) -> None:
        self._solver = solver
        self._known: tuple[Run | None, Machine | None] = None, None  # a run, and its table for `answer`

    def answer(self, *operands: object) -> str | None:
        """Return the answer by the table of a certified network that nobody has opened, so that nothing can change."""
        run, (known, machine) = self._solver.run, self._known
        if known is not run:
            machine = self._certified_machine()
            self._known = run, machine
        if machine is None or "model" in vars(run.weights) or len(operands) != 2:
            return None
        upper, lower = operands
        return table_engine.answer(machine, upper, lower) if type(upper) is type(lower) is str else None

    def solve_many(
        self, problems: Sequence[Sequence[Any]], watch: Watch = unwatched, cancel: Cancellation | None = None
    ) -> Results | None:
        """Solve many problems by the table, certified or not."""
        if len(problems) < FEW:
            return None
        solver = self._solver
        claimed = solver.claimed
        table = claimed or solver.table
        answers = table_engine.answers(machine_of(solver.procedure, table), problems, watch, cancel)
        if answers is None:
            return None
        common = Result(operands=(), answer=None, **solver.about("table", claimed, 0))

        def make(i: int) -> Result:
            operands = tuple(problems[i])
            steps = max(len(without_zeros(operand)) for operand in operands)
            return common.told(operands=operands, answer=answers[i], step_count=steps)

        return Results([*answers], make)

    def bulk(self, engine: str | None, cost: float) -> Bulk | None:
        """Return the table for lines of problems, if it pays.

        It does if replaying as many columns as `cost` takes longer than loading the compiler.
        """
        solver = self._solver
        if solver.engine_for(engine) != "table":
            return None
        return table_engine.bulk_of(machine_of(solver.procedure, solver.table), cost)

    def _certified_machine(self) -> Machine | None:
        solver = self._solver
        run, procedure = solver.run, solver.procedure
        plain = procedure.layout.plain and procedure.layout.arity == 2 and not procedure.source
        if not plain or solver.own_engine != "sequential" or not run.certified or run.table is None:
            return None
        return machine_of(procedure, run.table)
