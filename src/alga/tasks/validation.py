"""What every new task must pass: chained steps spell the answer that independent arithmetic gives.

Problems of up to three columns are tried, shortest first: all of them while they are few, a seeded sample where there
are too many. The first that fails is therefore among the smallest, and the refusal names it.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Final

from alga.base.errors import AlgaError
from alga.tasks.lookahead import Lookahead
from alga.tasks.procedure import Procedure, Task

LONGEST: Final = 3
ALL_UP_TO: Final = 20_000
MOST_SYMBOLS: Final = 250  # with the other tokens, an id fits in a byte


def check(task: Task, seed: int = 0) -> int:
    """Refuse a task that breaks its contract; return the number of problems tried.

    >>> from alga.tasks import find
    >>> check(find("parity"))
    14
    """
    symbols = task.domain.symbols
    found = {char for instance in task.domain.values() for char in instance.column + instance.output}
    if strangers := found - set(symbols):
        raise AlgaError(f"task {task.name} uses {_listed(strangers)}, not among its symbols {symbols!r}")
    if reserved := set(symbols) & set("PSC\n"):
        raise AlgaError(f"task {task.name} uses {_listed(reserved)} as a symbol; these are kept for the tokens")
    if len(symbols) > MOST_SYMBOLS:
        raise AlgaError(f"task {task.name} has {len(symbols):,} symbols; {MOST_SYMBOLS} are the most")
    if isinstance(task, Lookahead):
        return _check_maps(task, seed)
    assert isinstance(task, Procedure)
    _check_carried(task)
    tried = sum(_check_problem(task, columns) for columns in _problems(task, seed))
    if not tried:
        raise AlgaError(f"task {task.name}: no sequence of its columns makes a problem")
    return tried


def _check_carried(task: Procedure) -> None:
    """Refuse a task that carries a state which does not mean the same as the output it is carried from, anywhere."""
    outputs = dict.fromkeys(instance.output for instance in task.domain.values())
    changed = {output: state for output in outputs if (state := task.carried(output)) != output}
    layout = task.layout
    columns = dict.fromkeys(column for setting in layout.settings() for column in layout.following(setting))
    for output, state in changed.items():
        for column in columns:
            if task.prompt(state, column) != task.prompt(output, column) or (
                task.step(state, column) != task.step(output, column)
            ):
                raise AlgaError(
                    f"task {task.name}: {state!r}, carried from {output!r}, does not mean the same before {column!r}"
                )


def _check_maps(task: Lookahead, seed: int) -> int:
    """Refuse maps that depend on the grouping, spell another answer than their procedure, or are wrong at a prompt."""
    statuses = task.statuses()
    for later, middle, earlier in itertools.product(statuses, repeat=3):
        left = task.compose(task.compose(later, middle), earlier)
        if left != task.compose(later, task.compose(middle, earlier)):
            raise AlgaError(f"task {task.name}: composing {later}, {middle} and {earlier} depends on the grouping")
    for prompt, instance in task.domain.items():
        if (expected := task.oracle(prompt)) != instance.output:
            raise AlgaError(f"task {task.name}: {prompt!r} gives {instance.output!r}, its answer is {expected!r}")
    tried, served = len(task.domain), task.serves
    for columns in _problems(served, seed):
        operands = served.layout.operands(columns)
        if operands is None:
            continue
        spelled, expected = task.spelled(served.columns(*operands)), served.oracle(*operands)
        if spelled != expected:
            problem = served.expression(*operands)
            raise AlgaError(f"task {task.name}: looking ahead, {problem} is {spelled!r}, not {expected!r}")
        tried += 1
    return tried


def _check_problem(task: Procedure, columns: tuple[str, ...]) -> bool:
    operands = task.layout.operands(columns)
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
            told = task.prompt(state, instance.column), task.step(state, instance.column)
            if told != (instance.prompt, instance.output):
                raise AlgaError(
                    f"task {task.name}: {state!r}, carried from {instance.context!r}, does not mean the same before "
                    f"{instance.column!r}"
                )
    spelled, expected = task.read([instance.output for instance in instances]), task.oracle(*operands)
    if spelled != expected:
        raise AlgaError(
            f"task {task.name}: the steps of {task.expression(*operands)} spell {spelled!r}, its answer is {expected!r}"
        )
    return True


def _problems(task: Procedure, seed: int) -> Iterator[tuple[str, ...]]:
    """Yield sequences of admissible columns, shortest first."""
    for length in range(1, LONGEST + 1):
        for setting in task.layout.settings():
            yield from _sequences(task, setting, length, random.Random(seed))


def _sequences(task: Procedure, setting: str, length: int, rng: random.Random) -> Iterator[tuple[str, ...]]:
    choices = [task.layout.first(setting)] + [task.layout.following(setting)] * (length - 1)
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
