"""The network's own table, run at memory speed: no network call, the same answer.

A table that does as carrying does is run for all columns at once (`scan.py`, compiled in `vector.py`), one that fits
into words by a compiled loop (`loop.py`), any other column by column. Loading the compiler takes as long as replaying a
million columns, so that much is done without it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from alga.base.cancellation import Cancellation
from alga.base.errors import AlgaError
from alga.base.progress import Watch, unwatched
from alga.solve.engines.machine import Machine, machine_of
from alga.solve.engines.rows import FileRow, NoColumnError
from alga.solve.engines.scan import Scan
from alga.solve.result import Result, failure_at
from alga.tasks import Procedure
from alga.tasks.numbers import without_zeros
from alga.trust.table import Table

if TYPE_CHECKING:
    from alga.solve.engines.bulk import Bulk
    from alga.solve.engines.long_arithmetic import LongArithmetic

SHORT: Final = 64  # columns: without the compiled loop they take as long as setting it up
COMPILE_FROM: Final = 1_000_000  # columns replayed by one machine
LOOP: Final = "alga.solve.engines.loop"  # loaded when there is enough to do
LONG: Final = "alga.solve.engines.long_arithmetic"
BULK: Final = "alga.solve.engines.bulk"
VECTOR: Final = "alga.solve.engines.vector"
ROW: Final = 130  # what a row of a product or quotient costs without the compiler, replaying a column being 1
QUICK: Final = 4  # what a short problem costs without the compiler, by the same measure
WATCHED: Final = 4096  # problems between two reports
SCANNED: Final = 1 / 40  # what a column costs in Python's integers, replaying it being 1

_loaded: dict[str, ModuleType] = {}  # complete modules


def solve(
    procedure: Procedure,
    table: Table,
    problems: Sequence[tuple[str, ...]],
    *,
    watch: Watch = unwatched,
    cancel: Cancellation | None = None,
) -> list[Result]:
    """Solve problems one after the other; `watch` counts problems."""
    machine = machine_of(procedure, table)
    results = []
    for done, operands in enumerate(problems, start=1):
        if cancel is not None:
            cancel.check()
        results.append(_at_once(machine, operands) or replay(machine, operands))
        watch(done, len(problems))
    return results


def replay(machine: Machine, operands: tuple[str, ...]) -> Result:
    """Solve one problem column by column, whatever the table says."""
    procedure, table = machine.procedure, machine.table
    outputs: list[str] = []
    failure = ""
    columns = procedure.columns(*operands)
    replies = machine.after[None]
    for column in columns:
        output = replies[column]
        if output is None:
            prompt = procedure.prompt(outputs[-1] if outputs else None, column)
            failure = failure_at(len(outputs) + 1, prompt, table.broken.get(prompt, ""))
            break
        outputs.append(output)
        replies = machine.after[output]
    machine.replayed += len(columns)
    return Result(
        operation=procedure.name,
        operands=operands,
        answer=None if failure else procedure.read(outputs),
        step_count=len(outputs) + bool(failure),
        failure=failure,
        uncertain=_first_uncertain(machine, columns, outputs) if table.uncertain else None,
    )


def streams(procedure: Procedure, table: Table) -> bool:
    """Return whether files can be solved in bounded memory: the table fits the loop, and rows are the operands."""
    layout = procedure.layout
    return layout.plain and layout.from_right and procedure.numeric and machine_of(procedure, table).words is not None


def stream(procedure: Procedure, table: Table, paths: Sequence[Path], sink: BinaryIO, watch: Watch = unwatched) -> None:
    """Solve one problem from files that hold a number each to a file, in bounded memory."""
    if not streams(procedure, table):
        raise AlgaError(
            f"{procedure.name} cannot be solved from file to file with this network; read the files instead"
        )
    from alga.solve.engines import loop

    machine = machine_of(procedure, table)
    with ExitStack() as stack:
        rows = []
        for path in paths:
            try:
                rows.append(FileRow(path))
            except AlgaError as problem:
                raise AlgaError(f"{path}: {problem}") from None
            stack.callback(rows[-1].close)
        assert machine.classes is not None
        digits = "".join(sorted({char for column in machine.classes.moves for char in column}))
        try:
            if max(row.size for row in rows) >= SHORT:
                loop.stream(machine, rows, sink, watch)
                return
            for row in rows:
                row.refuse_strangers(digits)
            (short,) = solve(procedure, table, [tuple(row.read(0, row.size).decode() for row in rows)])
            sink.write((short.answer or "").encode())
        except NoColumnError:
            for row in rows:
                row.refuse_strangers(digits)
            raise


def _first_uncertain(machine: Machine, columns: list[str], outputs: list[str]) -> str | None:
    situations = zip([None, *outputs], columns, strict=False)
    prompts = (machine.procedure.prompt(context, column) for context, column in situations)
    return next((prompt for prompt in prompts if prompt in machine.table.uncertain), None)


def answer(machine: Machine, upper: str, lower: str) -> str | None:
    """Return the answer to one problem of two plain numbers; None if the table or the texts need more care."""
    scan = machine.scan
    if scan is None or not (upper and lower and upper.isascii() and lower.isascii()):
        return None
    text = _scanned(machine, scan, upper, lower)
    return text if text is None or text[0] != "0" else without_zeros(text)


def answers(
    machine: Machine, problems: Sequence[Sequence[str]], watch: Watch = unwatched, cancel: Cancellation | None = None
) -> list[str] | None:
    """Return the answers to many problems of two plain numbers; None if there is anything else among them."""
    cost = len(problems) * QUICK
    if (bulk := bulk_of(machine, cost)) is not None:
        return bulk.answers(problems, watch, cancel)
    machine.replayed += cost
    layout = machine.procedure.layout
    if machine.scan is None or not layout.plain or machine.procedure.source:
        return None
    some: list[str] = []
    for problem in problems:
        text = answer(machine, *problem) if [*map(type, problem)] == [str, str] else None
        if text is None:
            return None
        some.append(text)
        if not len(some) % WATCHED:
            watch(len(some), len(problems))
            if cancel is not None:
                cancel.check()
    watch(len(some), len(problems))
    return some


def bulk_of(machine: Machine, cost: float) -> Bulk | None:
    """Return a table for lines of problems; None if it does not fit, or they do not pay for the compiler."""
    module = _compiled(BULK, machine, cost)
    return module.Bulk(machine) if module and module.Bulk.fits(machine) else None


def _scanned(machine: Machine, scan: Scan, upper: str, lower: str) -> str | None:
    if len(upper) < SHORT and len(lower) < SHORT:
        return scan.text(upper, lower)
    vector: Any = _loaded.get(VECTOR)
    if vector is None:
        cost = max(len(upper), len(lower)) * SCANNED
        vector = _compiled(VECTOR, machine, cost)
        machine.replayed += cost
    text: str | None = scan.text(upper, lower) if vector is None else vector.text_of(scan, upper, lower)
    return text


def long_arithmetic(
    machines: dict[str, Machine], rows: int, watch: Watch, cancel: Cancellation | None
) -> LongArithmetic | None:
    """Return products and quotients by these tables; None if so many rows of them do not pay for the compiler."""
    first, cost = next(iter(machines.values())), rows * ROW
    module = _compiled(LONG, first, cost)
    if module is None:
        first.replayed += cost
        return None
    made: LongArithmetic = module.LongArithmetic(machines, watch, cancel)
    return made


def load_compiled() -> None:
    """Load all compiled code now, for someone who measures it or has time before the first problem."""
    for name in (LOOP, VECTOR, BULK, LONG):
        _load(name)


def _compiled(name: str, machine: Machine, cost: float) -> Any:
    """Return a module if it is loaded, or should be now for what costs as much as replaying so many columns."""
    module = _loaded.get(name)
    if module is None and (name in sys.modules or machine.replayed + cost > COMPILE_FROM):
        module = _load(name)
    return module


def _load(name: str) -> ModuleType:
    """Import a module whole: one that another thread is importing is in sys.modules before it is complete."""
    return _loaded.setdefault(name, importlib.import_module(name))


def _at_once(machine: Machine, operands: tuple[str, ...]) -> Result | None:
    """Solve one problem without replaying it; None if that does not pay or is impossible."""
    procedure, longest = machine.procedure, max(map(len, operands), default=0)
    if machine.scan is None and (longest < SHORT or not machine.fits):
        return None
    rows = _rows(procedure, operands)
    if rows is None:
        return None
    columns = max(map(len, rows))
    if machine.scan is not None:
        text = _scanned(machine, machine.scan, *rows)
    else:
        loop = _compiled(LOOP, machine, columns) if columns >= SHORT else None
        text = None if loop is None else _looped(loop, machine, rows)
    if text is None:
        return None  # or replaying raises the right error
    return Result(operation=procedure.name, operands=operands, answer=procedure.tidied(text), step_count=columns)


def _looped(loop: Any, machine: Machine, rows: tuple[str, ...]) -> str | None:
    try:
        text: str = loop.text_of(machine, rows)
    except NoColumnError:
        return None
    return text


def _rows(procedure: Procedure, operands: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the rows of a problem; None if there are none, or if replaying will raise the right error."""
    # If the rows are the operands themselves, a wrong character is found on the way, faster than by a check first.
    if procedure.layout.plain and all(text and text.isascii() for text in operands):
        return tuple(map(without_zeros, operands))
    try:
        rows = procedure.layout.rows(*operands)
    except Exception:  # a user's own layout may raise anything
        return None
    return rows if rows and all(row.isascii() for row in rows) else None
