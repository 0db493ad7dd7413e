"""The one class for people: whole numbers with signs in one base, every digit by a network.

>>> import alga
>>> calculator = alga.load()
>>> calculator.add("65785", "8765")
'74550'
>>> calculator.mul(-37, 48)
-1776
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from alga import runs, tasks
from alga.base.cancellation import Cancellation
from alga.base.errors import AlgaError, Blaming
from alga.base.progress import Watch, unwatched
from alga.solve import schoolbook
from alga.solve.engines.names import check_engine
from alga.solve.result import Listener, Result, Results
from alga.solve.schoolbook import Schoolbook
from alga.solve.solver import DEFAULT_MODEL, Solver
from alga.tasks.numbers import digits_of, signed_text, signed_value, split_sign
from alga.trust.certificate import Certificate

USES: Final = {  # the kinds of steps that an operation may consist of
    "add": ("add", "add three", "sub", "cmp"),
    "sub": ("add", "sub", "cmp"),
    "mul": ("times", "add"),
    "divmod": ("divide", "times", "cmp", "sub", "add"),
    "cmp": ("cmp",),
}
ONE_PROBLEM: Final = ("add", "cmp")  # of these, two numbers without signs are one problem of one network

if TYPE_CHECKING:
    from alga.solve.engines.bulk import Bulk

Number = TypeVar("Number", str, int)  # text in, text out; ints in, ints out


class Networks:
    """Networks in one base by kind of step: those given, and the shipped ones, loaded on first use."""

    def __init__(self, base: int, given: Sequence[Solver], load_shipped: Callable[[str], Solver]) -> None:
        self.base = base
        self._given, self._load_shipped = tuple(given), load_shipped
        self._by_kind: dict[str, Solver] = {}
        for network in given:
            if network.procedure.layout.base != base and network.parts():
                raise AlgaError(f"the model {network.run.name} is for base {network.procedure.layout.base}, not {base}")
            self._by_kind |= network.parts()
        self.given = frozenset(self._by_kind)  # the kinds of steps that a given network is for

    def find(self, kind: str) -> Solver:
        """Return the network for one kind of step: the given one, or the one that ships."""
        if kind not in self._by_kind:
            name = tasks.for_step(kind, self.base)
            if name not in runs.shipped():
                how = f"train one with alga train --task {name}, and name it with --model"
                raise AlgaError(f"no network for {name} ships; {how}")
            self._by_kind[kind] = self._load_shipped(name)
        return self._by_kind[kind]

    def given_for(self, operation: str) -> tuple[Solver, ...]:
        """Return the given networks; refuse one that the operation does not use."""
        used = {self._by_kind[kind].run.name for kind in self.given if kind in USES[operation]}
        for network in self._given:
            if network.run.name not in used:
                what = f"does not {operation}" if network.parts() else "does no arithmetic"
                raise AlgaError(f"the model {network.run.name} {what}: it computes {network.trained.summary}")
        return self._given


class Calculator:
    """The shipped networks, loaded on first use; `models` replace those of the same kind.

    The methods named after operations return the answer and raise if a network fails at a step. `solve`, `solve_many`
    and `trace` return a `Result`: of an `operation`, or else of the task of the first of the models.
    """

    def __init__(
        self,
        base: int | None = None,
        *,
        models: Sequence[str | os.PathLike[str] | Solver] = (),
        engine: str | None = None,
        load_shipped: Callable[[str], Solver] = Solver.load,
    ) -> None:
        given = [model if isinstance(model, Solver) else Solver.load(model) for model in models]
        if base is None:
            base = given[0].procedure.layout.base if given else 10
        digits_of(base)  # refuses a base other than 2 to 36
        if engine is not None:
            check_engine(engine)
        self.base, self.engine = base, engine
        self.networks = Networks(base, given, load_shipped)
        self._first = given[0] if given else None
        self._plain: dict[tuple[str, str | None], Callable[..., str | None] | None] = {}  # quick ways to plain answers

    def __repr__(self) -> str:
        return f"Calculator(base {self.base}, {self.network!r})"

    @property
    def network(self) -> Solver:
        """The first of the models, or the shipped adder. `certify` checks it; `solve` without an operation runs it."""
        if self._first is None:
            self._first = self.networks.find("add")
        return self._first

    @property
    def certified(self) -> bool:
        """Whether that network has a certificate, and for its weights as they are now."""
        return self.network.certified

    # --- answers ------------------------------------------------------------------------------------------------------

    def add(self, *numbers: Number) -> Number:
        """Add two or more numbers.

        >>> Calculator(16).add("ff", "1")
        '100'
        """
        return self._answer("add", numbers)

    def sub(self, a: Number, b: Number) -> Number:
        """Subtract the second number from the first."""
        return self._answer("sub", (a, b))

    def mul(self, a: Number, b: Number) -> Number:
        """Multiply two numbers."""
        return self._answer("mul", (a, b))

    def divmod(self, a: Number, b: Number) -> tuple[Number, Number]:
        """Divide as Python does: the quotient is rounded down, the remainder has the divisor's sign.

        >>> Calculator().divmod(-7, 2)
        (-4, 1)
        """
        quotient, _, remainder = self._text("divmod", (a, b)).partition(" ")
        return self._like(a, quotient), self._like(a, remainder)

    def cmp(self, a: Number, b: Number) -> str:
        """Compare two numbers: `<`, `=` or `>`."""
        return self._text("cmp", (a, b))

    def _answer(self, operation: str, numbers: Sequence[Number]) -> Number:
        key = operation, self.engine
        if key not in self._plain:
            plain = operation in ONE_PROBLEM and self.engine in (None, "table")
            self._plain[key] = self.networks.find(operation).quick if plain else None
        plain_answer = self._plain[key]
        if plain_answer is not None and (quick := plain_answer(*numbers)) is not None:
            return quick  # type: ignore[return-value] # it takes text only
        answer = self._text(operation, numbers)
        return self._like(numbers[0], answer)

    def _text(self, operation: str, numbers: Sequence[str] | Sequence[int]) -> str:
        if len({isinstance(value, str) for value in numbers}) > 1:
            raise AlgaError("expected all numbers as text or all as int, got both")
        result = self.solve(*numbers, operation=operation)
        if result.answer is None:
            raise AlgaError(result.failure)
        return result.answer

    def _like(self, given: Number, answer: str) -> Number:
        if isinstance(given, str):
            return answer
        with Blaming(f"a network that is not certified wrote {answer!r}, which is not a number"):
            return signed_value(answer, self.base)

    # --- results ------------------------------------------------------------------------------------------------------

    def solve(
        self,
        *operands: str | int,
        operation: str | None = None,
        engine: str | None = None,
        watch: Watch = unwatched,
        cancel: Cancellation | None = None,
    ) -> Result:
        """Solve one problem; a step at which a network fails is reported in the result, not raised.

        >>> Calculator().solve("37", "48", operation="mul")
        Result(mul of 37, 48: 1776; table, certified)
        """
        texts, engine = self._texts(operands), engine or self.engine
        if operation is None:
            return self.network.solve_many([texts], engine=engine, watch=watch, cancel=cancel)[0]
        digits = self._one_problem(operation, texts)
        if digits is None:
            return Schoolbook(self.networks, engine=engine, watch=watch, cancel=cancel).solve(operation, texts)
        (result,) = self.networks.find(operation).solve_many([digits], engine=engine, watch=watch, cancel=cancel)
        return result.told(operation=operation, base=self.base, operands=texts)

    def solve_many(
        self,
        problems: Sequence[Sequence[str | int]],
        *,
        operation: str | None = None,
        engine: str | None = None,
        watch: Watch = unwatched,
        cancel: Cancellation | None = None,
    ) -> Results:
        """Solve problems, side by side if they are single problems of one network.

        >>> Calculator().solve_many([("1", "2"), ("-30", "40")], operation="add").answers
        ['3', '10']
        """
        engine = engine or self.engine
        if operation in ONE_PROBLEM and self.networks.find(operation).engine_for(engine) == "table":
            plain = self.networks.find(operation).in_bulk(problems, watch, cancel)
            if plain is not None:
                return plain.told(operation=operation, base=self.base)
        texts = [self._texts(problem) for problem in problems]
        if operation is None:
            return self.network.solve_many(texts, engine=engine, watch=watch, cancel=cancel)
        unsigned = [digits for problem in texts if (digits := self._one_problem(operation, problem)) is not None]
        if unsigned and len(unsigned) == len(texts):
            results = self.networks.find(operation).solve_many(unsigned, engine=engine, watch=watch, cancel=cancel)
            return results.told(texts, operation=operation, base=self.base)
        solved = []
        for done, problem in enumerate(texts, start=1):
            solved.append(self.solve(*problem, operation=operation, engine=engine, cancel=cancel))
            watch(done, len(texts))
        return Results.of(solved)

    def bulk(self, operation: str, cost: float) -> Bulk | None:
        """Return a table for lines of two plain numbers each; None if there is none, or it does not pay."""
        return self.networks.find(operation).bulk(self.engine, cost) if operation in ONE_PROBLEM else None

    def trace(
        self,
        *operands: str | int,
        operation: str | None = None,
        engine: str | None = None,
        attention: bool = False,
        listener: Listener | None = None,
        watch: Watch = unwatched,
        cancel: Cancellation | None = None,
    ) -> Result:
        """Solve one problem step by step and keep the steps; `str` of the result is the trace as the paper prints it.

        >>> print(str(Calculator().trace("9582", "9261")).splitlines()[2])
               2ª) INPUT: 3C86  generates three OUTPUTS: 14S
        """
        texts, listener = self._texts(operands), listener or Listener()
        if operation is None:
            return self.network.trace(
                *texts, engine=engine, attention=attention, tell=listener.step, watch=watch, cancel=cancel
            )
        digits = self._one_problem(operation, texts)
        if digits is None:
            book = Schoolbook(self.networks, engine=engine, listener=listener, watch=watch, cancel=cancel)
            return book.solve(operation, texts)
        network = self.networks.find(operation)
        network.traced_by(engine)  # refuses before anything is told
        listener.problem(network, digits)
        result = network.trace(*digits, engine=engine, tell=listener.step, watch=watch, cancel=cancel)
        return result.told(operation=operation, base=self.base, operands=texts, kept=(), parts=(result,))

    def check(self, operation: str, *operands: str | int) -> None:
        """Validate the operands of an operation before any work."""
        schoolbook.check(operation, self._texts(operands), self.base)

    def certify(self, watch: Watch = unwatched, cancel: Cancellation | None = None) -> Certificate:
        """Check the network as it is now on every prompt, whatever certificate it came with."""
        return self.network.certify(watch, cancel)

    def _one_problem(self, operation: str, operands: Sequence[str]) -> tuple[str, ...] | None:
        """Return the digits of operands that are one problem of one network; None if there is more to do."""
        if operation not in ONE_PROBLEM or len(operands) != 2:
            return None
        signs, digits = zip(*(split_sign(text, self.base) for text in operands), strict=True)
        return None if any(signs) else digits

    def _texts(self, operands: Sequence[Any]) -> tuple[str, ...]:
        """Return ints as text; other types are refused where text is read."""
        return tuple(signed_text(value, self.base) if type(value) is int else value for value in operands)

    # --- files --------------------------------------------------------------------------------------------------------

    @classmethod
    def from_pretrained(cls, model: str | os.PathLike[str] = DEFAULT_MODEL) -> Calculator:
        """Load a shipped network by name, or a run folder by path."""
        return cls(models=(model,))

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write the network as a run folder, with its certificate if it has one; the folder must be new or empty."""
        self.network.save(folder)
