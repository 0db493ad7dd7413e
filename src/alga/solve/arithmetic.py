"""Whole numbers with signs, in any base: sums, differences, products, quotients and comparisons of any size.

Every digit comes from a network's step. What is written here is how steps are put together, as on paper: which of two
numbers stands on top, partial products moved by a place, the next digit brought down. Signs are text.

>>> Arithmetic().mul("-37", "48").answer
'-1776'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from alga import runs
from alga.base.errors import AlgaError
from alga.base.progress import Watch, unwatched
from alga.solve.calculator import Calculator, load
from alga.solve.result import Listener, Note, Result
from alga.solve.schoolbook import MINUS, Signed, StoppedError, Work, negated, refuse_zero
from alga.tasks.numbers import digits_of, number

__all__ = ["Arithmetic", "Listener", "Note", "Result"]

USES: Final = {  # the kinds of steps that an operation may be made of
    "add": ("add", "add three", "sub", "cmp"),
    "sub": ("add", "sub", "cmp"),
    "mul": ("times", "add"),
    "divmod": ("divide", "times", "cmp", "sub", "add"),
    "cmp": ("cmp",),
}


class Arithmetic:
    """The four operations and comparison in one base; `models` stand in for the shipped networks of their tasks."""

    def __init__(
        self,
        base: int = 10,
        *,
        models: Sequence[str | Calculator] = (),
        engine: str | None = None,
        keep_steps: bool = False,
        listener: Listener | None = None,
    ) -> None:
        self.base, self.digits = base, digits_of(base)
        self.engine = "sequential" if keep_steps else engine
        self.keep_steps = keep_steps  # the listener hears of them
        self.listener = listener or Listener()
        self._networks: dict[str, Calculator] = {}
        for model in models:
            network = model if isinstance(model, Calculator) else load(model)
            name = network.run.name
            parts = network.parts()
            if not parts:
                raise AlgaError(f"the model {name} does no arithmetic: it computes {network.trained.summary}")
            if network.procedure.layout.base != base:
                raise AlgaError(f"the model {name} is for base {network.procedure.layout.base}, not {base}")
            self._networks |= parts
        self.given = frozenset(self._networks)  # the kinds of steps that `models` are for

    def network(self, verb: str) -> Calculator:
        """Return the network for one kind of step: the one that was given, or the one that ships."""
        if verb not in self._networks:
            name = runs.for_step(verb, self.base)
            if name not in runs.shipped():
                raise AlgaError(
                    f"no network for {name} ships; train one with alga train --task {name}, and name it with --model"
                )
            self._networks[verb] = self._load(name)
        return self._networks[verb]

    def _load(self, name: str) -> Calculator:
        """Open a shipped network; one who has them open already says so here."""
        return load(name)

    # --- operations on numbers with signs -----------------------------------------------------------------------------

    def add(self, *numbers: str, watch: Watch = unwatched) -> Result:
        """Add two or more numbers.

        >>> Arithmetic().add("-5", "3").answer
        '-2'
        """
        return self._result("add", numbers, lambda work, read: work.total(read, watch), at_least=2)

    def sub(self, a: str, b: str, watch: Watch = unwatched) -> Result:
        """Subtract the second number from the first.

        >>> Arithmetic(16).sub("FF", "100").answer
        '-1'
        """
        return self._result("sub", (a, b), lambda work, read: work.signed_sum(read[0], negated(read[1]), watch))

    def mul(self, a: str, b: str, watch: Watch = unwatched) -> Result:
        """Multiply two numbers."""
        return self._result("mul", (a, b), lambda work, read: work.signed_product(read[0], read[1], watch))

    def divmod(self, a: str, b: str, watch: Watch = unwatched) -> Result:
        """Divide by Python's rules: the quotient is rounded down, the remainder has the divisor's sign.

        >>> Arithmetic().divmod("-7", "2").answer
        '-4 1'
        """
        return self._result("divmod", (a, b), lambda work, read: work.signed_division(read[0], read[1], watch))

    def cmp(self, a: str, b: str, watch: Watch = unwatched) -> Result:
        """Say how the first number compares with the second: `<`, `=` or `>`."""
        return self._result("cmp", (a, b), lambda work, read: work.signed_comparison(read[0], read[1], watch))

    def solve(self, verb: str, *numbers: str, watch: Watch = unwatched) -> Result:
        """Do the operation of that name."""
        operation: Callable[..., Result] = getattr(self, verb)
        if verb != "add" and len(numbers) != 2:
            raise AlgaError(f"{verb} takes two numbers, got {len(numbers)}")
        return operation(*numbers, watch=watch)

    def solve_all(self, verb: str, problems: Sequence[tuple[str, ...]], watch: Watch = unwatched) -> list[Result]:
        """Do the operation on many pairs; those that are one problem of one network go side by side."""
        read = [[self._signed(text) for text in problem] for problem in problems]
        alone = verb in ("add", "cmp") and not any(negative for problem in read for negative, _ in problem)
        results = []
        if not alone:
            for done, problem in enumerate(problems, start=1):
                results.append(self.solve(verb, *problem))
                watch(done, len(problems))
            return results
        network = self.network(verb)
        plain = [tuple(text for _, text in problem) for problem in read]
        for problem, answer in zip(problems, network.solve_many(plain, engine=self.engine, watch=watch), strict=True):
            result = Result(verb, self.base, problem, answer=answer.answer, failure=answer.failure)
            Work(self, result).count(answer, network)
            results.append(result)
        return results

    def named(self, verb: str) -> dict[str, Calculator]:
        """Return the networks that were named, by name; refuse one that the operation has no use for."""
        used = {network.run.name for kind, network in self._networks.items() if kind in USES[verb]}
        for kind in self.given:
            network = self._networks[kind]
            if network.run.name not in used:
                raise AlgaError(
                    f"the model {network.run.name} does not {verb}: it computes {network.procedure.summary}"
                )
        return {self._networks[kind].run.name: self._networks[kind] for kind in sorted(self.given)}

    def check(self, verb: str, *numbers: str) -> None:
        """Validate the operands of an operation before any work."""
        read = [number(self._signed(text)[1], self.digits) for text in numbers]
        if verb == "divmod":
            refuse_zero(read[-1], self.digits[0])

    def _result(
        self,
        verb: str,
        numbers: tuple[str, ...],
        work: Callable[[Work, list[Signed]], str],
        at_least: int = 2,
    ) -> Result:
        if len(numbers) < at_least:
            raise AlgaError(f"{verb} takes at least {at_least} numbers, got {len(numbers)}")
        result = Result(verb, self.base, numbers)
        read = [self._signed(text) for text in numbers]
        try:
            result.answer = work(Work(self, result), read)
        except StoppedError:
            result.answer = None
        return result

    def _signed(self, text: str) -> Signed:
        """Split a number into whether it is negative, and its digits; those of a negative one are checked here."""
        if not isinstance(text, str):
            number(text)  # says what is wrong
        text = text.lower() if self.base > 10 else text
        if not text.startswith(MINUS):
            return False, text
        digits = number(text[1:], self.digits, offset=1)
        return digits != "0", digits
