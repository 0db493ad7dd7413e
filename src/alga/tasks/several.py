"""Several procedures for one network: a mark in every column selects one."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property

from alga.base.errors import AlgaError
from alga.tasks.addition import Addition
from alga.tasks.digitwise import TimesADigit
from alga.tasks.layouts import Layout
from alga.tasks.pairwise import BORROW, Subtraction
from alga.tasks.procedure import Procedure


class Several(Procedure):
    """Addition, subtraction and multiplication by a digit: after `15` the sum's column `77` is the prompt `15C+77`."""

    name = "arithmetic"
    summary = "sums, differences and multiples, as a mark says"

    def __init__(self) -> None:
        self._marked: dict[str, Procedure] = {"+": Addition(), "-": Subtraction(), "×": TimesADigit()}
        marks = [mark for mark in self._marked if mark != BORROW]
        self.symbols = "".join([*self._marked["-"].symbols, *marks])
        self.layout = _Marked({mark: procedure.layout for mark, procedure in self._marked.items()})

    @cached_property
    def procedures(self) -> tuple[Procedure, ...]:
        """Each procedure by itself, with the prompts of this one."""
        found = []
        for mark, procedure in self._marked.items():
            marked = copy.copy(procedure)
            vars(marked).pop("domain", None)
            marked.mark = mark
            found.append(marked)
        return tuple(found)

    def step(self, before: str | None, column: str) -> str:
        """Return the step of the marked procedure.

        >>> Several().step("15", "+77"), Several().step("-7", "-52"), Several().step("63", "×97")
        ('15', '2', '69')
        """
        return self._marked[column[0]].step(before, column[1:])

    def ending(self, output: str) -> str:
        return output.removeprefix(BORROW)

    def oracle(self, *operands: str) -> str:
        mark, *rest = operands
        return self._marked[mark].oracle(*rest)

    def expression(self, *operands: str) -> str:
        mark, *rest = operands
        return mark.join(rest)


class _Marked(Layout):
    """Columns of several layouts, each behind its mark; the mark is the first operand.

    >>> Several().columns("+", "907", "15")
    ['+75', '+01', '+9']
    """

    arity = 3

    def __init__(self, layouts: dict[str, Layout]) -> None:
        self._layouts = layouts

    def settings(self) -> Sequence[str]:
        return [mark + setting for mark, layout in self._layouts.items() for setting in layout.settings()]

    def first(self, setting: str) -> Sequence[str]:
        return [setting[0] + column for column in self._layouts[setting[0]].first(setting[1:])]

    def following(self, setting: str) -> Sequence[str]:
        return [setting[0] + column for column in self._layouts[setting[0]].following(setting[1:])]

    def split(self, *operands: str) -> list[str]:
        mark, *rest = operands
        if mark not in self._layouts:
            raise AlgaError(f"expected one of {' '.join(self._layouts)} first, got {mark!r}")
        return [mark + column for column in self._layouts[mark].split(*rest)]

    def operands(self, columns: Sequence[str]) -> tuple[str, ...] | None:
        mark = columns[0][0]
        rest = self._layouts[mark].operands([column[1:] for column in columns])
        return None if rest is None else (mark, *rest)
