"""Three small maps that find all carries of a problem in a few rounds.

What a column does to a carry; what two stretches of columns do, one after the other; the digit of a column once its
carry is known. docs/lookahead.md has the lemma that makes this right. One network learns all three: each prompt is a
problem of one step, so such a task has first-type instances only. A lookahead task `serves` another.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from decimal import Decimal

from alga.tasks.addition import Addition
from alga.tasks.contract import Task
from alga.tasks.numbers import DIGITS


class Lookahead(Task):
    """The contract of a lookahead task: the prompts of its three maps never look alike."""

    serves: Task
    start: str  # the status of what comes before the first column
    arity = 1
    sign = ""

    @abstractmethod
    def statuses(self) -> Sequence[str]:
        """Return every status."""

    @abstractmethod
    def status(self, column: str) -> str:
        """Return what a column does to whatever carry comes in."""

    @abstractmethod
    def compose(self, later: str, earlier: str) -> str:
        """Return what two stretches do, one after the other."""

    @abstractmethod
    def emit(self, carry: str, column: str) -> str:
        """Return the digit of a column after all that came before it; the empty column is the place past the last."""

    # --- the same as prompts ------------------------------------------------------------------------------------------

    def composition(self, later: str, earlier: str) -> str:
        """Return the prompt that asks to compose two statuses; that of a status is the column itself."""
        return later + earlier

    def emission(self, carry: str, column: str) -> str:
        """Return the prompt that asks for a digit."""
        return carry + column

    def first_columns(self, setting: str) -> Sequence[str]:
        statuses = self.statuses()
        columns = dict.fromkeys([*self.serves.first_columns(setting), *self.serves.next_columns(setting)])
        carries = dict.fromkeys(self.compose(status, self.start) for status in statuses)
        return [
            *columns,
            *(self.composition(later, earlier) for later in statuses for earlier in statuses),
            *(self.emission(carry, column) for carry in carries for column in (*columns, "")),
        ]

    def next_columns(self, setting: str) -> Sequence[str]:
        return ()

    def output(self, context: str | None, column: str) -> str:
        if column[0] not in self.statuses():
            return self.status(column)
        if len(column) > 1 and column[1] in self.statuses():
            return self.compose(column[0], column[1])
        return self.emit(column[0], column[1:])

    def columns(self, *operands: str) -> list[str]:
        return list(operands)

    def operands(self, columns: Sequence[str]) -> tuple[str, ...] | None:
        return tuple(columns)

    def tidied(self, text: str) -> str:
        return text

    def expression(self, *operands: str) -> str:
        return f"one step ahead: {operands[0]}"


class AdditionLookahead(Lookahead):
    """A column kills a carry (k), passes it on (p) or generates one (g)."""

    name = "addition-lookahead"
    summary = "the sum of two numbers, all carries at once"
    symbols = DIGITS + "kpg"
    verb = "add"
    serves = Addition()
    start = "k"

    def statuses(self) -> Sequence[str]:
        return "kpg"

    def status(self, column: str) -> str:
        """Compare the column's total with nine.

        >>> [AdditionLookahead().status(column) for column in ("35", "36", "37", "9")]
        ['k', 'p', 'g', 'p']
        """
        total = sum(map(int, column))
        return "p" if total == 9 else "g" if total > 9 else "k"

    def compose(self, later: str, earlier: str) -> str:
        """Let the later stretch decide, unless it passes on what comes.

        >>> AdditionLookahead().compose("p", "g"), AdditionLookahead().compose("k", "g")
        ('g', 'k')
        """
        return earlier if later == "p" else later

    def emit(self, carry: str, column: str) -> str:
        """Return the last digit of the column's total.

        >>> AdditionLookahead().emit("g", "77"), AdditionLookahead().emit("g", "")
        ('5', '1')
        """
        return str((sum(map(int, column)) + (carry == "g")) % 10)

    def answer(self, *operands: str) -> str:
        """Return the same by decimal arithmetic: each status stands for the carries it lets out.

        >>> AdditionLookahead().answer("pg"), AdditionLookahead().answer("g99")
        ('g', '9')
        """
        (prompt,) = operands
        lets_out = {"k": (0, 0), "p": (0, 1), "g": (1, 1)}  # without and with a carry coming in
        marks, digits = prompt.rstrip(DIGITS), prompt.lstrip("kpg")
        total = sum((Decimal(digit) for digit in digits), Decimal(0))
        if len(marks) == 1:
            return str((total + lets_out[marks][0]).to_eng_string()[-1])
        if marks:
            out = [lets_out[marks[0]][lets_out[marks[1]][carry]] for carry in (0, 1)]
        else:
            out = [int((total + carry) / 10) for carry in (0, 1)]
        return next(status for status, carries in lets_out.items() if [*carries] == out)
