"""The Procedure: how a problem of any length is walked, one step per column, carrying only the previous output.

A procedure defines four things: a name, a layout, one exact step, and an oracle that shares no code with the step. The
rest has defaults. Its domain is found by exploring; nothing outside this folder knows which procedure it runs.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from random import Random
from typing import Any, Final

from alga.base.errors import AlgaError, Blaming
from alga.tasks.domain import Domain, Instance
from alga.tasks.layouts import Layout, short
from alga.tasks.numbers import digits_of, in_base, number, value_of, without_zeros

DOMAIN_LIMIT: Final = 5_000_000
SEPARATOR: Final = "C"
DRAWS: Final = 1000

Family = Callable[[Random, int], tuple[str, ...]]  # a generator and a number of columns -> operands
Situation = tuple[str | None, str]  # a context (none at the first column) and a column


class Task(ABC):
    """What a network can be trained for: a domain, and the procedures that the network then runs."""

    name: str
    summary: str = ""  # one line for people
    source: str = ""  # the hash of its file, for a user's own task
    engine: str = "sequential"  # the engine that runs the network itself

    @property
    @abstractmethod
    def domain(self) -> Domain:
        """All that is learned."""

    @property
    @abstractmethod
    def procedure(self) -> Procedure:
        """The procedure whose problems a network of this domain solves."""

    @property
    def procedures(self) -> tuple[Procedure, ...]:
        """Everything that the network can do by itself: usually that one procedure."""
        return (self.procedure,)

    @abstractmethod
    def example(self, rng: Random, answer: Callable[[str], str | None]) -> str:
        """Return a small problem with its answer, as people write it; `answer` maps prompts to outputs."""

    def __repr__(self) -> str:
        return f"<task {self.name}>"


class Procedure(Task):
    """A walk over columns, one step each."""

    layout: Layout
    symbols: str = ""  # characters of columns and outputs, in the order of their tokens; by default derived
    sign: str = ""  # between two operands, as people write them
    mark: str = ""  # before every column of a prompt, if one network runs several procedures
    numeric: bool = True  # whether leading zeros of an answer are dropped

    _FINAL = ("domain", "columns", "read", "tidied", "steps", "explore")

    def __init_subclass__(cls, **more: Any) -> None:
        """Refuse a subclass that changes what engines rely on."""
        super().__init_subclass__(**more)
        if own := [name for name in Procedure._FINAL if name in vars(cls)]:
            raise TypeError(f"{cls.__name__} must not change {own[0]}")

    # --- what a procedure must define ---------------------------------------------------------------------------------

    @abstractmethod
    def step(self, before: str | None, column: str) -> str:
        """Return the exact output of one step: digit and state together, as context for the next."""

    @abstractmethod
    def oracle(self, *operands: str) -> str:
        """Return the answer by independent arithmetic that shares no code with `step`."""

    # --- what a procedure may change ----------------------------------------------------------------------------------

    def written(self, output: str) -> str:
        """Return what any step but the last adds to the answer; must accept any text of symbols."""
        return output[-1]

    def ending(self, output: str) -> str:
        """Return what the last step adds to the answer; must accept any text of symbols."""
        return output

    def ends(self, output: str) -> bool:
        """Return whether a problem may end with this output; subtraction may not end with a borrow."""
        return True

    def carried(self, output: str) -> str:
        """Return the state that the next step depends on, as an equivalent context; by default the whole output.

        A procedure with many outputs and few states is explored by its states.
        """
        return output

    def view(self, before: str) -> str:
        """Return what the prompt shows of the previous output; must accept any text that a network may write."""
        return before

    def prompt(self, before: str | None, column: str) -> str:
        """Return the prompt: `77` at the first column, `15C77` later."""
        column = self.mark + column
        return column if before is None else f"{self.view(before)}{SEPARATOR}{column}"

    def expression(self, *operands: str) -> str:
        """Return a problem as people write it."""
        return self.sign.join(operands) if self.sign else f"{self.name} of {', '.join(operands)}"

    def equation(self, operands: Sequence[str], answer: str) -> str:
        """Return a problem with its answer as people write it."""
        return f"{self.expression(*operands)} = {answer}"

    def reading(self, steps: int) -> str:
        """Return how the answer is read off the outputs, in words for a trace."""
        return f"Read the answer off the {steps} outputs"

    def families(self) -> Mapping[str, Family]:
        """Return named ways to draw a problem of a given number of columns; override to add hard ones."""
        return {"uniform": self._uniform}

    # --- what follows -------------------------------------------------------------------------------------------------

    def columns(self, *operands: str) -> list[str]:
        """Return the columns of a problem, in the order in which they are walked; every engine begins here."""
        if not self.source:
            return self.layout.columns(operands, self.name)
        with Blaming(f"{self.name}: its columns of {', '.join(map(short, operands))} failed", (Exception,)):
            return self.layout.columns(operands, self.name)

    def read(self, outputs: Sequence[str]) -> str:
        """Return the answer that a problem's outputs spell."""
        from_right = self.layout.from_right
        before = outputs[-2::-1] if from_right else outputs[:-1]
        written = {output: self.written(output) for output in set(before)}
        text, ending = "".join([written[output] for output in before]), self.ending(outputs[-1])
        return self.tidied(ending + text if from_right else text + ending)

    def tidied(self, text: str) -> str:
        """Return an answer without leading zeros, if it is a number."""
        return without_zeros(text) if self.numeric else text

    @property
    def joins(self) -> bool:
        """Whether prompts are as `Procedure` makes them, of the whole output before, a separator and the column."""
        kept = ("prompt", "view")
        return all(getattr(type(self), name) is getattr(Procedure, name) for name in kept) and not {*kept} & {
            *vars(self)
        }

    def steps(self, *operands: str) -> Iterator[Instance]:
        """Yield the exact steps of one problem, in order."""
        context = None
        for column in self.columns(*operands):
            output = self.step(context, column)
            yield Instance(context, column, self.prompt(context, column), output)
            context = output

    @property
    def procedure(self) -> Procedure:
        return self

    def example(self, rng: Random, answer: Callable[[str], str | None]) -> str:
        """Return a problem of four columns with the answer that the given outputs spell."""
        operands, outputs = self.families()["uniform"](rng, 4), list[str]()
        for column in self.columns(*operands):
            outputs.append(answer(self.prompt(outputs[-1] if outputs else None, column)) or "")
        return f"{self.expression(*operands)} = {self.read(outputs)}"

    @cached_property
    def domain(self) -> Domain:
        """Every prompt that any problem of any length can reach; refuses an ambiguous procedure."""
        instances: dict[str, Instance] = {}
        for (context, column), output in self.explore(lambda batch: [self.step(*each) for each in batch]).items():
            assert output is not None
            instance = Instance(context, column, self.prompt(context, column), output)
            known = instances.setdefault(instance.prompt, instance)
            if known.output != output:
                raise AlgaError(
                    f"task {self.name}: the prompt {instance.prompt!r} is ambiguous: "
                    f"{_situation(known)} gives {known.output!r}, {_situation(instance)} gives {output!r}"
                )
        return Domain(
            name=self.name,
            symbols=self.symbols or _characters(self.layout, instances),
            instances=instances,
            summary=self.summary,
            source=self.source,
            explore=lambda respond: self.explore(lambda batch: respond([self.prompt(*each) for each in batch])),
            second_steps=self._second_steps,
        )

    def explore(
        self, respond: Callable[[Sequence[Situation]], Sequence[str | None]], limit: int = DOMAIN_LIMIT
    ) -> dict[Situation, str | None]:
        """Follow every admissible column, starting without a context, until no new context appears.

        `respond` answers a batch of situations: `step` itself gives the domain, a network's outputs give its table. An
        answer of None ends that path. More than `limit` prompts are refused before they are listed.
        """
        answers: dict[Situation, str | None] = {}
        frontier: list[tuple[str, str | None]] = [(setting, None) for setting in self.layout.settings()]
        seen = set(frontier)
        while frontier:
            choices = [
                (setting, context, self.layout.first(setting) if context is None else self.layout.following(setting))
                for setting, context in frontier
            ]
            size = len(answers) + sum(len(columns) for _, _, columns in choices)
            if size > limit:
                raise AlgaError(f"task {self.name} has at least {size:,} prompts; up to {limit:,} can be enumerated")
            fresh = list(dict.fromkeys((context, column) for _, context, columns in choices for column in columns))
            fresh = [situation for situation in fresh if situation not in answers]
            answers.update(zip(fresh, respond(fresh), strict=True))
            reached = {
                (setting, answers[context, column]): None for setting, context, columns in choices for column in columns
            }
            states = dict.fromkeys((setting, self.carried(output)) for setting, output in reached if output is not None)
            frontier = [place for place in states if place not in seen]
            seen.update(frontier)
        return answers

    def _second_steps(self) -> list[str]:
        return [
            self.prompt(self.step(None, first), column)
            for setting in self.layout.settings()
            for first in self.layout.first(setting)
            for column in self.layout.following(setting)
        ]

    def _uniform(self, rng: Random, digits: int) -> tuple[str, ...]:
        """Draw random columns until they form a problem."""
        for _ in range(DRAWS):
            setting = rng.choice(self.layout.settings())
            columns, following = [rng.choice(self.layout.first(setting))], self.layout.following(setting)
            columns += [rng.choice(following) for _ in range(digits - 1)]
            operands = self.layout.operands(columns)
            with contextlib.suppress(AlgaError):  # outside the range, as 3-5 is for subtraction
                if operands is not None and self.columns(*operands):
                    return operands
        raise AlgaError(f"task {self.name}: no problem of {digits} columns found in {DRAWS} tries")


class InBase(Procedure):
    """A procedure on numbers of one base; name and summary are derived from those in base ten."""

    kind: str  # the name in base ten

    def __init__(self, base: int = 10) -> None:
        self.symbols, self.name = digits_of(base), in_base(self.kind, base)
        self.summary += "" if base == 10 else f" in base {base}"

    def values(self, operands: Sequence[str]) -> list[int]:
        """Return the operands as integers, for oracles."""
        return [value_of(number(operand, self.layout.symbols), self.layout.base) for operand in operands]


def _characters(layout: Layout, instances: Mapping[str, Instance]) -> str:
    """Return the layout's characters, then those that appear only in outputs."""
    found = {char for instance in instances.values() for char in instance.output}
    return layout.symbols + "".join(sorted(found - set(layout.symbols)))


def _situation(instance: Instance) -> str:
    before = "no context" if instance.context is None else f"context {instance.context!r}"
    return f"column {instance.column!r} after {before}"
