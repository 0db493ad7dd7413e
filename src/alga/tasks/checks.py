"""What every new task must pass: chained steps spell the answer that independent arithmetic gives.

Problems of up to three columns are tried, shortest first: all of them while they are few, a seeded sample where there
are too many. The first that fails is therefore among the smallest, and the refusal names it.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Final

from alga.errors import AlgaError
from alga.tasks.contract import Task

LONGEST: Final = 3
ALL_UP_TO: Final = 20_000
MOST_SYMBOLS: Final = 250  # with the other tokens, an id fits in a byte


def check(task: Task, seed: int = 0) -> int:
    """Refuse a task that breaks its contract; return the number of problems tried.

    >>> from alga.tasks import find
    >>> check(find("parity"))
    14
    """
    strangers = {
        char for instance in task.domain.values() for char in instance.column + instance.output
    } - set(task.symbols)  # fmt: skip
    if strangers:
        raise AlgaError(f"task {task.name} uses {_listed(strangers)}, not among its symbols {task.symbols!r}")
    if reserved := set(task.symbols) & set("PSC\n"):
        raise AlgaError(f"task {task.name} uses {_listed(reserved)} as a symbol; these are kept for the tokens")
    if len(task.symbols) > MOST_SYMBOLS:
        raise AlgaError(f"task {task.name} has {len(task.symbols):,} symbols; {MOST_SYMBOLS} are the most")
    tried = 0
    for length in range(1, LONGEST + 1):
        for setting in task.settings():
            for columns in _column_sequences(task, setting, length, random.Random(seed)):
                tried += _check_problem(task, columns)
    if not tried:
        raise AlgaError(f"task {task.name}: no sequence of its columns makes a problem")
    return tried


def _check_problem(task: Task, columns: tuple[str, ...]) -> bool:
    operands = task.operands(columns)
    if operands is None:
        return False
    try:
        actual = task.columns(*operands)
    except AlgaError:
        return False  # outside the task's range, as 3-5 is for subtraction
    instances = list(task.steps(*operands))
    for instance in instances:
        if instance.prompt not in task.domain:
            raise AlgaError(
                f"task {task.name}: {task.expression(*operands)} has the columns {actual}, "
                f"but its prompt {instance.prompt!r} is outside the domain"
            )
        if instance.context is not None and (state := task.carried(instance.context)) != instance.context:
            told = task.prompt(state, instance.column), task.output(state, instance.column)
            if told != (instance.prompt, instance.output):
                raise AlgaError(
                    f"task {task.name}: {state!r}, carried from {instance.context!r}, does not mean the same before "
                    f"{instance.column!r}"
                )
    spelled, expected = task.read([instance.output for instance in instances]), task.answer(*operands)
    if spelled != expected:
        raise AlgaError(
            f"task {task.name}: the steps of {task.expression(*operands)} spell {spelled!r}, its answer is {expected!r}"
        )
    return True


def _column_sequences(task: Task, setting: str, length: int, rng: random.Random) -> Iterator[tuple[str, ...]]:
    choices = [task.first_columns(setting)] + [task.next_columns(setting)] * (length - 1)
    if any(len(columns) == 0 for columns in choices):
        return
    count = 1
    for columns in choices:
        count *= len(columns)
    if count <= ALL_UP_TO:
        yield from itertools.product(*choices)
    else:
        yield from sorted(tuple(rng.choice(columns) for columns in choices) for _ in range(ALL_UP_TO))


def _listed(chars: set[str]) -> str:
    return ", ".join(repr(char) for char in sorted(chars))
