"""The network's own table, run at memory speed: no network call, the same answer.

Short problems are replayed column by column. Long ones go through the compiled loop of `loop.py` if the table allows it
(`machine.py`). Loading the compiler takes as long as replaying a million columns, so the first million are replayed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Final

from alga.base.cancellation import Cancellation
from alga.base.errors import AlgaError
from alga.base.progress import Watch, unwatched
from alga.solve.engines.machine import Machine, machine_of
from alga.solve.engines.rows import FileRow, NoColumnError
from alga.solve.result import Result, failure_at
from alga.tasks import Procedure
from alga.tasks.numbers import without_zeros
from alga.trust.table import Table

SHORT: Final = 64  # columns: replaying them is as fast as setting up the loop
COMPILE_FROM: Final = 1_000_000  # columns replayed by one machine


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
        results.append(_by_loop(machine, operands) or replay(machine, operands))
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


def _by_loop(machine: Machine, operands: tuple[str, ...]) -> Result | None:
    """Solve one problem by the compiled loop; None if that does not pay or is impossible."""
    procedure, longest = machine.procedure, max(map(len, operands))
    ready = "alga.solve.engines.loop" in sys.modules or machine.replayed + longest > COMPILE_FROM
    if longest < SHORT or not ready or machine.words is None:
        return None
    from alga.solve.engines import loop

    texts = _rows(procedure, operands)
    if texts is None or max(map(len, texts)) < SHORT:
        return None
    try:
        answer = procedure.tidied(loop.text_of(machine, texts))
    except NoColumnError:
        return None  # replaying raises the right error
    return Result(operation=procedure.name, operands=operands, answer=answer, step_count=max(map(len, texts)))


def _rows(procedure: Procedure, operands: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the rows for the loop; None if there are none, or if replaying will raise the right error."""
    # If the rows are the operands themselves, the loop itself finds a wrong character, faster than a check first.
    if procedure.layout.plain and all(text and text.isascii() for text in operands):
        return tuple(map(without_zeros, operands))
    try:
        rows = procedure.layout.rows(*operands)
    except Exception:  # a user's own layout may raise anything
        return None
    return rows if rows and all(row.isascii() for row in rows) else None
