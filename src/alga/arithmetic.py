"""Whole numbers with signs, in any base: sums, differences, products, quotients and comparisons of any size.

Every digit comes from a network's step. What is written here is how steps are put together, as on paper: which of two
numbers stands on top, partial products moved by a place, the next digit brought down. Signs are text.

>>> Arithmetic().mul("-37", "48").answer
'-1776'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from alga import runs, tasks
from alga.calculator import Answer, Calculator, load
from alga.certificate import Certificate
from alga.engines import Step, as_table
from alga.errors import AlgaError
from alga.progress import Watch, unwatched
from alga.tasks.numbers import digits_of, number, without_zeros

MINUS: Final = "-"
SIGNS: Final = {"add": "+", "sub": "-", "mul": "×", "divmod": "÷", "cmp": "?"}
USES: Final = {  # the kinds of steps that an operation may be made of
    "add": ("add", "add three", "sub", "cmp"),
    "sub": ("add", "sub", "cmp"),
    "mul": ("times", "add"),
    "divmod": ("divide", "times", "cmp", "sub", "add"),
    "cmp": ("cmp",),
}


@dataclass
class Result:
    """The end of one problem: the answer, what it took, and the networks that it rests on."""

    verb: str
    base: int
    operands: tuple[str, ...]
    engine: str = ""
    answer: str | None = None
    failure: str = ""
    uncertain: str | None = None
    steps: int = 0
    rounds: int = 0
    generated_tokens: int = 0
    network_calls: int = 0
    networks: dict[str, Calculator] = field(default_factory=dict)  # by name, in the order of their first use
    trace: list[Note] = field(default_factory=list)

    @property
    def certified(self) -> bool:
        """Whether every network on the way is certified."""
        return all(network.certified for network in self.networks.values())

    @property
    def certificates(self) -> list[Certificate]:
        """The certificates that the answer rests on."""
        found = [network.run.certificate for network in self.networks.values() if network.certified]
        return [certificate for certificate in found if certificate is not None]

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain values, in a stable order."""
        tasks_used = [network.task.name for network in self.networks.values()]
        return {
            "task": tasks_used[0] if len(tasks_used) == 1 else self.verb,
            "engine": self.engine,
            "model": ", ".join(self.networks),
            "operands": list(self.operands),
            "answer": self.answer,
            "steps": self.steps,
            "rounds": self.rounds,
            "generated_tokens": self.generated_tokens,
            "certified": self.certified,
            "network_calls": self.network_calls,
            "base": self.base,
            "certificates": [
                {"model": name, "strength": c.strength, "least_margin": c.least_margin, "sha256": c.sha256}
                for name, c in zip(self.networks, self.certificates, strict=False)
            ],
            **({"failure": self.failure} if self.failure else {}),
            **({"uncertain": self.uncertain} if self.uncertain else {}),
        }

    def __str__(self) -> str:
        """Return the trace as a pupil would write it."""
        rests = ", ".join(f"{name} ({c.strength})" for name, c in zip(self.networks, self.certificates, strict=False))
        if len(self.trace) == 1 and self.trace[0].table:
            return self.trace[0].table
        lines = [f"{SIGNS[self.verb].join(f' {operand} ' for operand in self.operands).strip()}, digit by digit"]
        for note in self.trace:
            lines.append(f"  {note.text}")
            if note.steps:
                lines.append("      " + "  ".join(f"{step.prompt} → {step.text[:-1]}" for step in note.steps))
        lines.append(f"Answer: {self.answer}" if self.answer is not None else self.failure)
        return "\n".join([*lines, f"It rests on the certificates of: {rests}"] if rests else lines)


@dataclass(frozen=True)
class Note:
    """A line of a trace, with the network's steps where it took any; `table` is the paper's way to print them."""

    text: str
    steps: tuple[Step, ...] = ()
    table: str = ""


class _StoppedError(Exception):
    """A network failed at a step."""


class Arithmetic:
    """The four operations and comparison in one base; `models` stand in for the shipped networks of their tasks."""

    def __init__(
        self, base: int = 10, *, models: Sequence[str] = (), engine: str | None = None, keep_steps: bool = False
    ) -> None:
        self.base, self.digits = base, digits_of(base)
        self.engine = "sequential" if keep_steps else engine
        self._keep = keep_steps
        self._networks: dict[str, Calculator] = {}
        for model in models:
            network = load(model)
            faces = {verb: face for verb, face in network.faces().items() if verb in tasks.verbs()}
            if not faces:
                raise AlgaError(f"the model {model} does no arithmetic: it computes {network.task.summary}")
            if network.task.base != base:
                raise AlgaError(f"the model {model} is for base {network.task.base}, not {base}")
            self._networks |= faces
        self._given = frozenset(self._networks)

    def network(self, verb: str) -> Calculator:
        """Return the network for one kind of step: the one that was given, or the one that ships."""
        if verb not in self._networks:
            name = tasks.for_verb(verb, self.base)
            if name not in runs.shipped():
                raise AlgaError(
                    f"no network for {name} ships; train one with alga train --task {name}, and name it with --model"
                )
            self._networks[verb] = load(name)
        return self._networks[verb]

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
        return self._result("sub", (a, b), lambda work, read: work.signed_sum(read[0], _negated(read[1]), watch))

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
            _Work(self, result).count(answer, network)
            results.append(result)
        return results

    def given(self, verb: str) -> dict[str, Calculator]:
        """Return the networks that were named, by name; refuse one that the operation has no use for."""
        used = {network.run.name for kind, network in self._networks.items() if kind in USES[verb]}
        for kind in self._given:
            network = self._networks[kind]
            if network.run.name not in used:
                raise AlgaError(f"the model {network.run.name} does not {verb}: it computes {network.task.summary}")
        return {self._networks[kind].run.name: self._networks[kind] for kind in sorted(self._given)}

    def check(self, text: str) -> None:
        """Refuse a text that is no number in this base."""
        number(self._signed(text)[1], self.digits)

    def _result(
        self,
        verb: str,
        numbers: tuple[str, ...],
        work: Callable[[_Work, list[Signed]], str],
        at_least: int = 2,
    ) -> Result:
        if len(numbers) < at_least:
            raise AlgaError(f"{verb} takes at least {at_least} numbers, got {len(numbers)}")
        result = Result(verb, self.base, numbers)
        read = [self._signed(text) for text in numbers]
        try:
            result.answer = work(_Work(self, result), read)
        except _StoppedError:
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


Signed = tuple[bool, str]  # whether negative, and the digits


def _negated(a: Signed) -> Signed:
    return not a[0], a[1]


def _text(negative: bool, digits: str) -> str:
    return f"{MINUS}{digits}" if negative and digits != "0" else digits


class _Work:
    """One problem under way: puts networks' steps together and counts them."""

    def __init__(self, arithmetic: Arithmetic, result: Result) -> None:
        self._arithmetic, self._result = arithmetic, result

    @cached_property
    def _one(self) -> str:
        return self._arithmetic.digits[1]

    # --- with signs ---------------------------------------------------------------------------------------------------

    def total(self, numbers: list[Signed], watch: Watch) -> str:
        """Add from left to right; numbers without signs three at a time, where a network does so."""
        digits = [text for _, text in numbers]
        arithmetic = self._arithmetic
        if any(negative for negative, _ in numbers):
            total = _text(*numbers[0])
            for other in numbers[1:]:
                total = self.signed_sum((total.startswith(MINUS), total.removeprefix(MINUS)), other, watch)
            return total
        three = len(digits) > 2 and "add" not in arithmetic._given and arithmetic.engine != "lookahead"
        three = three and tasks.for_verb("add three", arithmetic.base) in runs.shipped()
        for text in digits[2:]:
            number(text, arithmetic.digits)  # refuse it now, not after the first ones are done
        while len(digits) > 1:
            if three and len(digits) > 2:
                digits[:3] = [self._do("add three", *digits[:3], watch=watch)]
            else:
                digits[:2] = [self._do("add", *digits[:2], watch=watch)]
        return digits[0]

    def signed_sum(self, a: Signed, b: Signed, watch: Watch) -> str:
        """Add numbers of one sign, or take the smaller from the larger and give the larger one's sign."""
        if a[0] == b[0]:
            return _text(a[0], self._do("add", a[1], b[1], watch=watch))
        order = self._do("cmp", a[1], b[1])
        if order == "=":
            return self._arithmetic.digits[0]
        (negative, top), (_, bottom) = (a, b) if order == ">" else (b, a)
        return _text(negative, self._do("sub", top, bottom, watch=watch))

    def signed_comparison(self, a: Signed, b: Signed, watch: Watch) -> str:
        """Compare; of two negative numbers the larger one is smaller."""
        if a[0] != b[0]:
            number(a[1], self._arithmetic.digits)
            number(b[1], self._arithmetic.digits)
            self._note(f"a negative number is smaller than one that is not: {'<' if a[0] else '>'}")
            return "<" if a[0] else ">"
        first, second = (b[1], a[1]) if a[0] else (a[1], b[1])
        return self._do("cmp", first, second, watch=watch)

    def signed_product(self, a: Signed, b: Signed, watch: Watch) -> str:
        """Multiply; the product of two signs is negative where they differ."""
        x, y = (number(text, self._arithmetic.digits) for _, text in (a, b))
        return _text(a[0] != b[0], self._product(*((x, y) if len(x) >= len(y) else (y, x)), watch))

    def signed_division(self, a: Signed, b: Signed, watch: Watch) -> str:
        """Divide; where the signs differ and something is left, the quotient is one further down."""
        x, y = (number(text, self._arithmetic.digits) for _, text in (a, b))
        zero = self._arithmetic.digits[0]
        if y == zero:
            raise AlgaError("a number cannot be divided by zero")
        quotient, rest = self._division(x, y, watch)
        if a[0] != b[0] and rest != zero:
            quotient, rest = self._do("add", quotient, self._one), self._do("sub", y, rest)
        return f"{_text(a[0] != b[0], quotient)} {_text(b[0], rest)}"

    # --- as on paper, without signs -----------------------------------------------------------------------------------

    def _product(self, top: str, bottom: str, watch: Watch) -> str:
        """Multiply by each digit of the lower number, units first, and add up; each sum settles one more digit."""
        zero = self._arithmetic.digits[0]
        partial: dict[str, str] = {}
        settled: list[str] = []
        open_sum = zero
        for place, digit in enumerate(reversed(bottom)):
            if digit not in partial:
                partial[digit] = self._do("times", top, digit)
            open_sum = self._do("add", open_sum, partial[digit]) if place else partial[digit]
            settled.append(open_sum[-1])
            if place < len(bottom) - 1:
                self._note(f"{settled[-1]} is settled; {open_sum[:-1] or zero} goes on")
                open_sum = open_sum[:-1] or zero
            watch(place + 1, len(bottom))
        return without_zeros(open_sum + "".join(reversed(settled[:-1])))

    def _division(self, top: str, divisor: str, watch: Watch) -> tuple[str, str]:
        """Bring down one digit after the other, and take the largest multiple of the divisor that fits."""
        digits = self._arithmetic.digits
        if len(divisor) == 1:
            answer, _, remainder = self._do("divide", top, divisor, watch=watch).partition(" r")
            return answer, remainder
        multiples = [digits[0], divisor, *("" for _ in digits[2:])]
        rest, quotient = top[: len(divisor) - 1], list[str]()
        for place in range(len(divisor) - 1, len(top)):
            rest = without_zeros(rest + top[place])
            low, high = 0, len(digits)  # the multiple of low fits, that of high does not
            while high - low > 1:
                middle = (low + high) // 2
                if not multiples[middle]:
                    multiples[middle] = self._do("times", divisor, digits[middle])
                low, high = (low, middle) if self._do("cmp", rest, multiples[middle]) == "<" else (middle, high)
            if low:
                rest = self._do("sub", rest, multiples[low])
            quotient.append(digits[low])
            self._note(f"the quotient's next digit is {digits[low]}; {rest} is left")
            watch(place + 1, len(top))
        return without_zeros("".join(quotient)), without_zeros(rest)

    # --- by the networks ----------------------------------------------------------------------------------------------

    def _do(self, verb: str, *numbers: str, watch: Watch = unwatched) -> str:
        """Solve one problem by the network for it."""
        network, result = self._arithmetic.network(verb), self._result
        if self._arithmetic._keep:
            kept = network.trace(*numbers, watch=watch)
            answer = kept.result
            if answer.answer is not None:
                text = f"{network.task.expression(*numbers)} = {answer.answer}"
                table = as_table(network.task, answer.solutions[-1])
                result.trace.append(Note(text, kept.steps, table))
        else:
            (answer,) = network.solve_many([numbers], engine=self._arithmetic.engine, watch=watch)
        self.count(answer, network)
        if answer.answer is None:
            result.failure = answer.failure
            raise _StoppedError
        return answer.answer

    def count(self, answer: Answer, network: Calculator) -> None:
        """Add to the result what an answer took, and the network that it rests on."""
        result = self._result
        used = network.companion if answer.engine == "lookahead" else network
        result.networks.setdefault(answer.model, used)
        result.engine = answer.engine
        result.uncertain = result.uncertain or answer.uncertain
        result.network_calls += answer.network_calls
        for solution in answer.solutions:
            result.steps += solution.steps
            result.rounds += solution.rounds
            result.generated_tokens += solution.generated_tokens

    def _note(self, text: str) -> None:
        if self._arithmetic._keep:
            self._result.trace.append(Note(text))
