"""WHAT is computed: exact procedures in pure Python, each behind the one Task contract."""

from __future__ import annotations

from alga.errors import AlgaError
from alga.tasks.addition import Addition
from alga.tasks.contract import Instance, Situation, Task, explore
from alga.tasks.digitwise import DivisionByADigit, TimesADigit
from alga.tasks.lookahead import AdditionLookahead, Lookahead
from alga.tasks.parity import Parity
from alga.tasks.subtraction import Subtraction

__all__ = ["Instance", "Lookahead", "Situation", "Task", "explore", "find", "names"]

_TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Addition(),
        Addition(padded=True),
        AdditionLookahead(),
        Subtraction(),
        TimesADigit(),
        DivisionByADigit(),
        Parity(),
    )
}


def names() -> tuple[str, ...]:
    """Return the names of all tasks."""
    return tuple(_TASKS)


def find(name: str) -> Task:
    """Return the task of that name.

    >>> len(find("addition").domain)
    2300
    """
    if name not in _TASKS:
        raise AlgaError(f"unknown task {name!r}; there are {', '.join(_TASKS)}")
    return _TASKS[name]
