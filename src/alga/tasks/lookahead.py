"""Lookahead: three small maps that find all carries of a sum in a few rounds.

What a column does to a carry; what two stretches of columns do, one after the other; the digit of a column once its
carry is known. docs/lookahead.md has the lemma that makes this right. One network learns all three: its domain is their
prompts, which never look alike, and none of which has a context.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cached_property
from random import Random

from alga.tasks.addition import Addition
from alga.tasks.domain import Domain, Instance
from alga.tasks.numbers import DIGITS
from alga.tasks.procedure import Procedure, Task


class Lookahead(Task):
    """The three maps of addition: a column kills a carry (k), passes it on (p) or generates one (g)."""

    name = "addition-lookahead"
    summary = "the sum of two numbers, all carries at once"
    engine = "lookahead"
    symbols = DIGITS + "kpg"
    serves: Procedure = Addition()
    start = "k"  # the status before the first column

    def statuses(self) -> Sequence[str]:
        """Return every status."""
        return "kpg"

    def status(self, column: str) -> str:
        """Return what a column does to an incoming carry: compare its total with nine.

        >>> [Lookahead().status(column) for column in ("35", "36", "37", "9")]
        ['k', 'p', 'g', 'p']
        """
        total = sum(map(int, column))
        return "p" if total == 9 else "g" if total > 9 else "k"

    def compose(self, later: str, earlier: str) -> str:
        """Return what two stretches do, one after the other: the later one decides, unless it passes the carry on.

        >>> Lookahead().compose("p", "g"), Lookahead().compose("k", "g")
        ('g', 'k')
        """
        return earlier if later == "p" else later

    def emit(self, carry: str, column: str) -> str:
        """Return the last digit of a column's total; the empty column is the place after the last.

        >>> Lookahead().emit("g", "77"), Lookahead().emit("g", "")
        ('5', '1')
        """
        return str((sum(map(int, column)) + (carry == "g")) % 10)

    def oracle(self, prompt: str) -> str:
        """Return the output of a prompt by decimal arithmetic: each status stands for the carries it lets out.

        >>> Lookahead().oracle("pg"), Lookahead().oracle("g99")
        ('g', '9')
        """
        lets_out = {"k": (0, 0), "p": (0, 1), "g": (1, 1)}  # without and with an incoming carry
        marks, digits = prompt.rstrip(DIGITS), prompt.lstrip("kpg")
        total = sum((Decimal(digit) for digit in digits), Decimal(0))
        if len(marks) == 1:
            return str((total + lets_out[marks][0]).to_eng_string()[-1])
        if marks:
            out = [lets_out[marks[0]][lets_out[marks[1]][carry]] for carry in (0, 1)]
        else:
            out = [int((total + carry) / 10) for carry in (0, 1)]
        return next(status for status, carries in lets_out.items() if [*carries] == out)

    def spelled(self, columns: Sequence[str]) -> str:
        """Return the answer that the three maps spell, column by column.

        >>> Lookahead().spelled(["75", "01", "9"])
        '922'
        """
        carry, digits = self.start, []
        for column in columns:
            digits.append(self.emit(carry, column))
            carry = self.compose(self.status(column), carry)
        digits.append(self.emit(carry, ""))
        return self.serves.tidied("".join(reversed(digits) if self.serves.layout.from_right else digits))

    @property
    def procedure(self) -> Procedure:
        return self.serves

    def example(self, rng: Random, answer: Callable[[str], str | None]) -> str:
        """Return one prompt with its output."""
        rng.choice(("",))  # what drawing a setting takes from the generator: keeps the example of a seed the same
        prompt = rng.choice(list(self.domain))
        return f"one step ahead: {prompt} = {answer(prompt)}"

    def composition(self, later: str, earlier: str) -> str:
        """Return the prompt that asks to compose two statuses; the prompt for a status is the column itself."""
        return later + earlier

    def emission(self, carry: str, column: str) -> str:
        """Return the prompt that asks for a digit."""
        return carry + column

    @cached_property
    def domain(self) -> Domain:
        """The prompts of the three maps: first the columns, then pairs of statuses, then carries with columns."""
        statuses, columns = self.statuses(), self.serves.layout.all_columns()
        carries = dict.fromkeys(self.compose(status, self.start) for status in statuses)
        outputs = {column: self.status(column) for column in columns}
        outputs |= {self.composition(x, y): self.compose(x, y) for x in statuses for y in statuses}
        outputs |= {self.emission(carry, end): self.emit(carry, end) for carry in carries for end in (*columns, "")}
        instances = {prompt: Instance(None, prompt, prompt, output) for prompt, output in outputs.items()}
        return Domain(self.name, self.symbols, instances, self.summary, self.source)
