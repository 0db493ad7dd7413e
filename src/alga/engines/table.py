"""The network's own table, run at memory speed: no network call, the same answer.

Short problems are replayed column by column. Long ones go through the compiled loop of `loop.py` where the table allows
it (`machine.py` says when); loading the compiler takes as long as replaying some million columns, so the first million
are replayed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Final

from alga.engines.digits import FileRow, NoColumnError
from alga.engines.machine import Machine, machine_of
from alga.engines.solution import Solution, Step
from alga.errors import AlgaError
from alga.progress import Watch, unwatched
from alga.table import Table
from alga.tasks import Task
from alga.tasks.numbers import without_zeros

SHORT: Final = 64  # columns: replaying them is as fast as setting up the loop
COMPILE_FROM: Final = 1_000_000  # columns replayed by one machine


def solve(task: Task, table: Table, problems: Sequence[tuple[str, ...]], *, watch: Watch = unwatched) -> list[Solution]:
    """Solve problems one after the other; `watch` is told of problems."""
    machine = machine_of(task, table)
    solutions = []
    for done, operands in enumerate(problems, start=1):
        solutions.append(_by_loop(machine, operands) or replay(machine, operands))
        watch(done, len(problems))
    return solutions


def replay(machine: Machine, operands: tuple[str, ...]) -> Solution:
    """Solve one problem column by column, whatever the table says."""
    task, table = machine.task, machine.table
    outputs: list[str] = []
    failed = None
    columns = task.columns(*operands)
    replies = machine.after[None]
    for column in columns:
        output = replies[column]
        if output is None:
            prompt = task.prompt(outputs[-1] if outputs else None, column)
            failed = Step(prompt, table.broken.get(prompt, ""), 0.0)
            break
        outputs.append(output)
        replies = machine.after[output]
    machine.replayed += len(columns)
    return Solution(
        operands=operands,
        answer=None if failed else task.read(outputs),
        steps=len(outputs) + (failed is not None),
        rounds=0,
        generated_tokens=0,
        failed=failed,
        uncertain=_first_uncertain(machine, columns, outputs) if table.uncertain else None,
    )


def streams(task: Task, table: Table) -> bool:
    """Tell whether files can be solved in bounded memory: the loop takes the table, and rows are the operands."""
    return task.plain and task.from_right and machine_of(task, table).words is not None


def stream(task: Task, table: Table, paths: Sequence[Path], sink: BinaryIO, watch: Watch = unwatched) -> None:
    """Solve one problem from files that hold a number each to a file, in bounded memory."""
    if not streams(task, table):
        raise AlgaError(f"{task.name} with this network cannot be solved from file to file; read the files instead")
    from alga.engines import loop  # noqa: PLC0415 - it takes numba

    machine = machine_of(task, table)
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
            (short,) = solve(task, table, [tuple(row.read(0, row.size).decode() for row in rows)])
            sink.write((short.answer or "").encode())
        except NoColumnError:
            for row in rows:
                row.refuse_strangers(digits)
            raise


def _first_uncertain(machine: Machine, columns: list[str], outputs: list[str]) -> str | None:
    situations = zip([None, *outputs], columns, strict=False)
    prompts = (machine.task.prompt(context, column) for context, column in situations)
    return next((prompt for prompt in prompts if prompt in machine.table.uncertain), None)


def _by_loop(machine: Machine, operands: tuple[str, ...]) -> Solution | None:
    """Solve one problem by the compiled loop; None where that does not pay or cannot be."""
    task, longest = machine.task, max(map(len, operands))
    ready = "alga.engines.loop" in sys.modules or machine.replayed + longest > COMPILE_FROM
    if longest < SHORT or not ready or machine.words is None:
        return None
    from alga.engines import loop  # noqa: PLC0415 - it takes numba

    # Where the rows are the operands themselves, the loop finds a wrong character faster than reading them first does.
    unread = task.plain and all(text and text.isascii() for text in operands)
    texts = tuple(map(without_zeros, operands)) if unread else task.rows(*operands)
    if texts is None or max(map(len, texts)) < SHORT:
        return None
    try:
        answer = task.tidied(loop.text_of(machine, texts))
    except NoColumnError:
        return None  # replaying says what is wrong
    return Solution(operands=operands, answer=answer, steps=max(map(len, texts)), rounds=0, generated_tokens=0)
