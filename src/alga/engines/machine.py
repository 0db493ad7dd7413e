"""What a table computes, boiled down: which contexts act alike, and what each column does to them.

Everything here is gathered from the table; nothing is known of the procedure. Contexts are put into one *class* when
no column tells them apart, now or later (addition: with and without a carry). Where there are at most four classes and
columns are one character above another, all that a column can do fits into one 64-bit word, and sums run through it as
fast as memory allows (`loop.py`). Every other table is replayed step by step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final

from alga.table import Table
from alga.tasks import Situation, Task, explore

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CLASSES: Final = 4  # the most that a word holds: a byte for what is written, a byte for the next class
ROWS: Final = 2  # the most that a word is found by


@dataclass(frozen=True)
class Classes:
    """Contexts that act alike, and what each column does to each class."""

    of: dict[str, int]  # every reachable output -> its class
    like: tuple[str, ...]  # for each class, a context that stands for it
    moves: dict[str, tuple[tuple[str, int], ...]]  # column -> for each class, what is written and the next class


class Machine:
    """A table made ready to run; `after[context][column]` is what the network answers."""

    def __init__(self, task: Task, table: Table) -> None:
        self.task, self.table = task, table
        self.after = _Contexts(task, table)
        self.classes = _classes(task, table)
        self.replayed = 0  # columns so far

    @cached_property
    def words(self) -> NDArray[np.uint64] | None:
        """A word for each pair of bytes that is a column, all ones for the others; None where words won't do.

        From the low end: four bytes with what is written in each class, four with eight times the class that follows.
        """
        import numpy as np  # noqa: PLC0415 - short sums do without it

        if self.classes is None or len(self.classes.like) > CLASSES or not _fits(self.task, self.classes):
            return None
        words = np.full(2**16, 2**64 - 1, np.uint64)
        for column, moves in self.classes.moves.items():
            word = 0
            for i, (written, following) in enumerate(moves):
                word |= ord(written or " ") << (8 * i) | 8 * following << (32 + 8 * i)
            for place in _places(column, self.task):
                words[place] = word
        return words


class _Contexts(dict[str | None, "_Replies"]):
    """Context -> what the network answers after it, made on first use."""

    def __init__(self, task: Task, table: Table) -> None:
        super().__init__()
        self._task, self._table = task, table

    def __missing__(self, context: str | None) -> _Replies:
        self[context] = _Replies(self._task, self._table, context)
        return self[context]


class _Replies(dict[str, str | None]):
    """Column -> output after one context, looked up in the table on first use."""

    def __init__(self, task: Task, table: Table, context: str | None) -> None:
        super().__init__()
        self._task, self._table, self._context = task, table, context

    def __missing__(self, column: str) -> str | None:
        self[column] = self._table.outputs[self._task.prompt(self._context, column)]
        return self[column]


@lru_cache(maxsize=64)
def machine_of(task: Task, table: Table) -> Machine:
    """Return the machine of a table, made once."""
    return Machine(task, table)


def _classes(task: Task, table: Table) -> Classes | None:
    """Sort the reachable contexts into classes, as coarse as can be; None where the table is not sure of its step."""

    def respond(situations: Sequence[Situation]) -> list[str | None]:
        return [table.outputs[task.prompt(context, column)] for context, column in situations]

    if table.uncertain or len(task.settings()) > 1:
        return None
    steps = explore(task, respond)
    columns = task.next_columns(task.settings()[0])
    rows: dict[str, list[str]] = {}
    for output in dict.fromkeys(steps.values()):
        if output is None:
            return None
        replies = [steps[task.carried(output), column] for column in columns]
        if None in replies:
            return None
        rows[output] = [reply for reply in replies if reply is not None]
    written = {output: (task.written(output), task.ending(output)) for output in rows}
    classes = _numbered({output: tuple(written[reply] for reply in row) for output, row in rows.items()})
    while True:
        finer = _numbered(
            {output: (classes[output], *(classes[reply] for reply in row)) for output, row in rows.items()}
        )
        if max(finer.values()) == max(classes.values()):
            break
        classes = finer
    like = tuple(next(output for output in classes if classes[output] == i) for i in range(max(classes.values()) + 1))
    moves = {
        column: tuple((written[rows[context][i]][0], classes[rows[context][i]]) for context in like)
        for i, column in enumerate(columns)
    }
    return Classes(classes, like, moves)


def _numbered(signatures: dict[str, tuple[object, ...]]) -> dict[str, int]:
    numbers: dict[tuple[object, ...], int] = {}
    return {output: numbers.setdefault(signature, len(numbers)) for output, signature in signatures.items()}


def _fits(task: Task, classes: Classes) -> bool:
    """Tell whether columns are found by two bytes, and all write one or all write nothing."""
    chars = {char for moves in classes.moves.values() for char, _ in moves}
    return (
        type(task).columns is Task.columns
        and task.arity <= ROWS
        and all(1 <= len(column) <= ROWS and column.isascii() for column in classes.moves)
        and {len(char) for char in chars} in ({0}, {1})
        and all(char.isascii() for char in chars)
    )


def _places(column: str, task: Task) -> list[int]:
    """Return the pairs of bytes, upper row first, that stand for a column; 0 where a row has ended."""
    if len(column) == ROWS:
        return [ord(column[0]) << 8 | ord(column[1])]
    return [ord(column) << 8] + ([ord(column)] if task.arity == ROWS else [])
