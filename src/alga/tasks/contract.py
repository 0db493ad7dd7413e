"""The Task contract: a finite-state procedure over columns, exact and in pure Python.

A task says which columns there are, what one step answers, how operands become columns and outputs an answer. All
else follows from it: the domain (every prompt that a problem of any length can reach), the vocabulary, the lengths.
Nothing outside this folder knows which procedure it runs.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from random import Random
from typing import Final

from alga.errors import AlgaError
from alga.tasks.numbers import without_zeros

DOMAIN_LIMIT: Final = 5_000_000
SEPARATOR: Final = "C"
TRIES: Final = 1000

Family = Callable[[Random, int], tuple[str, ...]]  # a generator and a number of columns -> operands
Situation = tuple[str | None, str]  # a context (none at the first column) and a column


@dataclass(frozen=True)
class Instance:
    """One step as it should be: `prompt` is what the network reads, `output` what it should write."""

    context: str | None
    column: str
    prompt: str
    output: str


class Task(ABC):
    """A procedure that walks over columns, one step each, and carries only its previous output along."""

    name: str
    summary: str  # one line for people
    symbols: str  # every character of columns and outputs; digits above 9 are lower case, so they never meet P S C
    source: str = ""  # the hash of the file that it comes from, where that is not this package
    base: int = 10
    arity: int = 2
    sign: str  # between two operands, as people write them
    verb: str | None = None  # the operation it offers to the calculator
    folds: bool = False  # whether more than two operands may be taken two at a time
    from_right: bool = True  # whether columns are walked from the last digit to the first
    fill: str = ""  # stands in a column where a row has no digit left
    lookahead: str | None = None  # the task whose network finds all carries at once, where there is one
    repeats: bool = False  # whether the second operand is one digit, which stands below every digit of the first
    plain: bool = False  # whether the rows are just the operands without leading zeros, whatever they are

    # --- what a task must say -----------------------------------------------------------------------------------------

    def settings(self) -> Sequence[str]:
        """Return what may stay constant through one problem (a multiplier, a divisor); one empty setting by default."""
        return ("",)

    @abstractmethod
    def first_columns(self, setting: str) -> Sequence[str]:
        """Return the columns a problem may begin with."""

    @abstractmethod
    def next_columns(self, setting: str) -> Sequence[str]:
        """Return the columns that may follow; none where a task has first-type instances only."""

    @abstractmethod
    def output(self, context: str | None, column: str) -> str:
        """Return the exact output of one step: digit and state together, so it is context enough for the next."""

    @abstractmethod
    def operands(self, columns: Sequence[str]) -> tuple[str, ...] | None:
        """Return operands that have these columns (leading zeros allowed), or None where no problem has them."""

    @abstractmethod
    def answer(self, *operands: str) -> str:
        """Return the same answer by independent big-number arithmetic that shares no code with `output`."""

    # --- what a task may change ---------------------------------------------------------------------------------------

    def rows(self, *operands: str) -> tuple[str, ...] | None:
        """Return the operands as they stand one above the other; refuse operands outside the task's range.

        None where columns are not made of rows: such a task says its `columns` itself, and no engine takes short cuts.
        """
        return None

    def columns(self, *operands: str) -> list[str]:
        """Return the columns of a problem in processing order; refuse operands outside the task's range."""
        rows = self.rows(*operands)
        if rows is None:
            raise NotImplementedError(f"task {self.name} says neither its rows nor its columns")
        ordered = [row[::-1] for row in rows] if self.from_right else rows
        joined = _Joined()  # a long number's columns are a hundred texts, many times over
        return list(map(joined.__getitem__, zip_longest(*ordered, fillvalue=self.fill)))

    def written(self, output: str) -> str:
        """Return what a step that is not the last adds to the answer; it must accept any text of symbols."""
        return output[-1]

    def ending(self, output: str) -> str:
        """Return what the last step adds to the answer; it must accept any text of symbols."""
        return output

    def carried(self, output: str) -> str:
        """Return the part of an output on which the next step depends: another context that means the same.

        All of it by default. A task whose outputs are many and whose states are few is explored by its states.
        """
        return output

    def view(self, context: str) -> str:
        """Return what the prompt shows of a context; it must accept any text of symbols that a network may write."""
        return context

    def prompt(self, context: str | None, column: str) -> str:
        """Return a situation as the network reads it: `77` at the first column, `15C77` later."""
        return column if context is None else f"{self.view(context)}{SEPARATOR}{column}"

    def expression(self, *operands: str) -> str:
        """Return a problem as people write it."""
        return self.sign.join(operands)

    def reading(self, steps: int) -> str:
        """Return, in words for a trace, how the answer is read off the outputs."""
        return f"Read the answer off the {steps} outputs"

    def families(self) -> Mapping[str, Family]:
        """Return named ways to draw a problem of so many columns; a task adds those that are hard for a network."""
        return {"uniform": self._uniform}

    def tidied(self, text: str) -> str:
        """Return the answer that joined pieces make: leading zeros go, whatever follows."""
        return without_zeros(text)

    # --- what follows -------------------------------------------------------------------------------------------------

    def read(self, outputs: Sequence[str]) -> str:
        """Return the answer that a problem's outputs spell: what each step wrote, and the ending of the last."""
        before = outputs[-2::-1] if self.from_right else outputs[:-1]
        written = {output: self.written(output) for output in set(before)}
        text, ending = "".join([written[output] for output in before]), self.ending(outputs[-1])
        return self.tidied(ending + text if self.from_right else text + ending)

    def steps(self, *operands: str) -> Iterator[Instance]:
        """Yield the exact steps of one problem, in order."""
        context = None
        for column in self.columns(*operands):
            output = self.output(context, column)
            yield Instance(context, column, self.prompt(context, column), output)
            context = output

    def _uniform(self, rng: Random, digits: int) -> tuple[str, ...]:
        """Draw columns at random until they make a problem of the task."""
        for _ in range(TRIES):
            setting = rng.choice(self.settings())
            columns = [rng.choice(self.first_columns(setting))]
            if following := self.next_columns(setting):
                columns += [rng.choice(following) for _ in range(digits - 1)]
            operands = self.operands(columns)
            with contextlib.suppress(AlgaError):  # outside the task's range, as 3-5 is for subtraction
                if operands is not None and self.columns(*operands):
                    return operands
        raise AlgaError(f"task {self.name}: no problem of {digits} columns found in {TRIES} tries")

    @cached_property
    def domain(self) -> dict[str, Instance]:
        """Every prompt that any problem of any length can reach, with its instance; ambiguous tasks are refused."""
        situations = explore(self, lambda batch: [self.output(context, column) for context, column in batch])
        domain: dict[str, Instance] = {}
        for (context, column), output in situations.items():
            assert output is not None
            instance = Instance(context, column, self.prompt(context, column), output)
            known = domain.setdefault(instance.prompt, instance)
            if known.output != output:
                raise AlgaError(
                    f"task {self.name}: the prompt {instance.prompt!r} is ambiguous: "
                    f"{_situation(known)} gives {known.output!r}, {_situation(instance)} gives {output!r}"
                )
        return domain

    def axes(self) -> tuple[list[str | None], list[str]]:
        """Return the domain's contexts, none and short ones first, and its columns: for pictures of the whole of it."""
        contexts = list(dict.fromkeys(instance.context for instance in self.domain.values()))
        contexts.sort(key=lambda context: (context is not None, len(context or ""), context))
        return contexts, list(dict.fromkeys(instance.column for instance in self.domain.values()))

    def __repr__(self) -> str:
        return f"<task {self.name}>"


class _Joined(dict[tuple[str, ...], str]):
    """Digits that stand one above the other -> the column as one text, each made once."""

    def __missing__(self, digits: tuple[str, ...]) -> str:
        self[digits] = "".join(digits)
        return self[digits]


def explore(
    task: Task,
    respond: Callable[[Sequence[Situation]], Sequence[str | None]],
    limit: int = DOMAIN_LIMIT,
) -> dict[Situation, str | None]:
    """Follow every admissible column from no context on, until no new context appears.

    `respond` answers a batch of situations: the task's own `output` gives the domain, a network's answers give its
    table. An answer of None ends that path. A task with more than `limit` prompts is refused before they are listed.
    """
    answers: dict[Situation, str | None] = {}
    frontier: list[tuple[str, str | None]] = [(setting, None) for setting in task.settings()]
    seen = set(frontier)
    while frontier:
        choices = [
            (setting, context, task.first_columns(setting) if context is None else task.next_columns(setting))
            for setting, context in frontier
        ]
        size = len(answers) + sum(len(columns) for _, _, columns in choices)
        if size > limit:
            raise AlgaError(f"task {task.name} has at least {size:,} prompts; up to {limit:,} can be enumerated")
        fresh = list(dict.fromkeys((context, column) for _, context, columns in choices for column in columns))
        fresh = [situation for situation in fresh if situation not in answers]
        answers.update(zip(fresh, respond(fresh), strict=True))
        reached = {
            (setting, answers[context, column]): None for setting, context, columns in choices for column in columns
        }
        states = dict.fromkeys((setting, task.carried(output)) for setting, output in reached if output is not None)
        frontier = [place for place in states if place not in seen]
        seen.update(frontier)
    return answers


def _situation(instance: Instance) -> str:
    before = "no context" if instance.context is None else f"context {instance.context!r}"
    return f"column {instance.column!r} after {before}"
