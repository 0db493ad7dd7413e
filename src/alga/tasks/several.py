"""Several procedures for one network: a mark in every column says which one is asked for."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from alga.errors import AlgaError
from alga.tasks.addition import Addition
from alga.tasks.contract import Task
from alga.tasks.digitwise import TimesADigit
from alga.tasks.pairwise import BORROW, Subtraction


class Several(Task):
    """Addition, subtraction and multiplication by a digit: after `15` the sum's column `77` is the prompt `15C+77`."""

    name = "arithmetic"
    summary = "sums, differences and multiples, as a mark says"
    arity = 3
    sign = " "

    def __init__(self) -> None:
        self.tasks: dict[str, Task] = {"+": Addition(), "-": Subtraction(), "×": TimesADigit()}
        marks = [mark for mark in self.tasks if mark != BORROW]
        self.symbols = "".join([*self.tasks["-"].symbols, *marks])

    def faces(self) -> dict[str, Task]:
        """Return each procedure as a task of its own, by its verb: the same, but asked for in this one's prompts."""
        found = {}
        for mark, task in self.tasks.items():
            face: Any = copy.copy(task)
            vars(face).pop("domain", None)
            face.prompt = lambda context, column, mark=mark: self.prompt(context, mark + column)
            face.lookahead = None
            assert task.verb is not None
            found[task.verb] = face
        return found

    def settings(self) -> Sequence[str]:
        return [mark + setting for mark, task in self.tasks.items() for setting in task.settings()]

    def first_columns(self, setting: str) -> Sequence[str]:
        return [setting[0] + column for column in self.tasks[setting[0]].first_columns(setting[1:])]

    def next_columns(self, setting: str) -> Sequence[str]:
        return [setting[0] + column for column in self.tasks[setting[0]].next_columns(setting[1:])]

    def output(self, context: str | None, column: str) -> str:
        """Let the marked procedure answer.

        >>> Several().output("15", "+77"), Several().output("-7", "-52"), Several().output("63", "×97")
        ('15', '2', '69')
        """
        return self.tasks[column[0]].output(context, column[1:])

    def columns(self, *operands: str) -> list[str]:
        """Take the mark first, then the operands.

        >>> Several().columns("+", "907", "15")
        ['+75', '+01', '+9']
        """
        mark, *rest = operands
        if mark not in self.tasks:
            raise AlgaError(f"expected one of {' '.join(self.tasks)} first, got {mark!r}")
        return [mark + column for column in self.tasks[mark].columns(*rest)]

    def operands(self, columns: Sequence[str]) -> tuple[str, ...] | None:
        mark = columns[0][0]
        rest = self.tasks[mark].operands([column[1:] for column in columns])
        return None if rest is None else (mark, *rest)

    def ending(self, output: str) -> str:
        return output.removeprefix(BORROW)

    def answer(self, *operands: str) -> str:
        mark, *rest = operands
        return self.tasks[mark].answer(*rest)

    def expression(self, *operands: str) -> str:
        mark, *rest = operands
        return mark.join(rest)
