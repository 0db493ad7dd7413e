"""What every new task must pass: chained steps spell the answer that independent arithmetic gives.

Problems of up to three columns are tried, shortest first: all of them, or a seeded sample if there are too many. So the
first that fails is among the smallest, and the error names it.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import random
from collections.abc import Iterator
from typing import Final

from alga.base.errors import AlgaError
from alga.tasks.lookahead import Lookahead
from alga.tasks.procedure import Procedure, Task
from alga.tasks.whole import END, EQUALS, PLUS, Whole

MOST_COLUMNS: Final = 3
ALL_UP_TO: Final = 20_000
MOST_DIGITS: Final = 8  # of numbers in whole texts
TEXTS: Final = 2_000
MOST_SYMBOLS: Final = 250  # with the other tokens, an id fits in a byte


def check(task: Task, seed: int = 0) -> int:
    """Refuse a task that breaks its contract; return the number of problems tried.

    >>> from alga.tasks import find
    >>> check(find("parity"))
    14
    """
    symbols = task.domain.symbols
    found = {char for instance in task.domain.values() for char in instance.column + instance.output}
    if isinstance(task, Whole):
        found -= {PLUS, EQUALS, END}
    if strangers := found - set(symbols):
        raise AlgaError(f"task {task.name} uses {_listed(strangers)}, not among its symbols {symbols!r}")
    if reserved := set(symbols) & set("PSC\n"):
        raise AlgaError(f"task {task.name} uses {_listed(reserved)} as a symbol; these are reserved")
    if len(symbols) > MOST_SYMBOLS:
        raise AlgaError(f"task {task.name} has {len(symbols):,} symbols; at most {MOST_SYMBOLS} are allowed")
    if isinstance(task, Lookahead):
        return _check_maps(task, seed)
    if isinstance(task, Whole):
        return _check_texts(task, seed)
    assert isinstance(task, Procedure)
    _check_carried(task)
    tried = sum(_check_problem(task, columns) for columns in _problems(task, seed))
    if not tried:
        raise AlgaError(f"task {task.name}: no sequence of its columns makes a problem")
    return tried


def _check_carried(task: Procedure) -> None:
    """Refuse a task whose carried state is not equivalent to the output before every column.

    This covers problems of any length: all their outputs are outputs of the domain.
    """
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
                    f"task {task.name}: {state!r}, carried from {output!r}, is not equivalent before {column!r}"
                )


def _check_maps(task: Lookahead, seed: int) -> int:
    """Refuse maps that are not associative, disagree with the oracle at a prompt, or spell another answer."""
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


def _check_texts(task: Whole, seed: int) -> int:
    """Refuse situations that, followed token by token, do not spell the answer of some problem."""
    served, rng = task.serves, random.Random(seed)
    drawn = [[rng.randint(1, MOST_DIGITS) for _ in range(served.layout.arity)] for _ in range(TEXTS)]
    problems = [["".join(rng.choices(task.digits, k=length)) for length in lengths] for lengths in drawn]
    problems += [list(digits) for digits in itertools.product(task.digits, repeat=served.layout.arity)]
    for operands in problems:
        question, expected = task.question(*operands), served.oracle(*operands)
        text = question
        while not text.endswith(END) and len(text) < 2 * len(question) + 2:
            text += task.domain[task.situation(text, len(text) - 1)].output
        if (spelled := task.read(text.removeprefix(question))) != expected:
            raise AlgaError(f"task {task.name}: the text {text} spells {spelled!r}, its answer is {expected!r}")
    return len(problems)


def answered(task: Procedure, seed: int = 0) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield small problems, shortest first, each with the answer that its exact steps spell."""
    for columns in _problems(task, seed):
        operands = task.layout.operands(columns)
        with contextlib.suppress(AlgaError):  # outside the task's range
            if operands is not None:
                yield operands, task.read([instance.output for instance in task.steps(*operands)])


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
    spelled, expected = task.read([instance.output for instance in instances]), task.oracle(*operands)
    if spelled != expected:
        raise AlgaError(
            f"task {task.name}: the steps of {task.expression(*operands)} spell {spelled!r}, its answer is {expected!r}"
        )
    return True


def _problems(task: Procedure, seed: int) -> Iterator[tuple[str, ...]]:
    """Yield sequences of admissible columns, shortest first."""
    for length, setting in itertools.product(range(1, MOST_COLUMNS + 1), task.layout.settings()):
        rng = random.Random(seed)
        choices = [task.layout.first(setting)] + [task.layout.following(setting)] * (length - 1)
        if math.prod(map(len, choices)) <= ALL_UP_TO:
            yield from itertools.product(*choices)
        else:
            yield from sorted(tuple(rng.choice(columns) for columns in choices) for _ in range(ALL_UP_TO))


def _listed(chars: set[str]) -> str:
    return ", ".join(repr(char) for char in sorted(chars))
