"""How steps are put together, as on paper: what stands on top, partial products moved by a place, digits brought down.

Every digit and every decision is a network's; what is here moves text around and keeps count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alga import runs
from alga.base.errors import AlgaError
from alga.base.progress import Watch
from alga.solve.answers import Answer
from alga.solve.calculator import Calculator
from alga.solve.engines import as_table
from alga.solve.result import Note, Result
from alga.tasks.numbers import number, without_zeros

if TYPE_CHECKING:
    from alga.solve.arithmetic import Arithmetic

MINUS: Final = "-"

Signed = tuple[bool, str]  # whether negative, and the digits


def negated(a: Signed) -> Signed:
    """Return the number with the other sign."""
    return not a[0], a[1]


def text_of(negative: bool, digits: str) -> str:
    """Return a number with its sign; zero has none."""
    return f"{MINUS}{digits}" if negative and digits != "0" else digits


def refuse_zero(divisor: str, zero: str) -> None:
    """Refuse to divide by zero."""
    if divisor == zero:
        raise AlgaError("a number cannot be divided by zero")


class StoppedError(Exception):
    """A network failed at a step."""


def _part(watch: Watch, done: int, total: int) -> Watch:
    """Return the watch for one problem among many: at each of its steps it says how far the whole is."""
    return lambda _done, _total: watch(done, total)


class Work:
    """One problem under way: puts networks' steps together and counts them."""

    def __init__(self, arithmetic: Arithmetic, result: Result) -> None:
        self._arithmetic, self._result = arithmetic, result

    # --- with signs ---------------------------------------------------------------------------------------------------

    def total(self, numbers: list[Signed], watch: Watch) -> str:
        """Add from left to right; numbers without signs three at a time, where a network does so."""
        digits = [text for _, text in numbers]
        arithmetic = self._arithmetic
        if any(negative for negative, _ in numbers):
            total = text_of(*numbers[0])
            for other in numbers[1:]:
                total = self.signed_sum((total.startswith(MINUS), total.removeprefix(MINUS)), other, watch)
            return total
        three = len(digits) > 2 and "add" not in arithmetic.given and arithmetic.engine != "lookahead"
        three = three and runs.for_step("add three", arithmetic.base) in runs.shipped()
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
            return text_of(a[0], self._do("add", a[1], b[1], watch=watch))
        order = self._do("cmp", a[1], b[1], watch=watch)
        if order == "=":
            return self._arithmetic.digits[0]
        (negative, top), (_, bottom) = (a, b) if order == ">" else (b, a)
        return text_of(negative, self._do("sub", top, bottom, watch=watch))

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
        return text_of(a[0] != b[0], self._product(*((x, y) if len(x) >= len(y) else (y, x)), watch))

    def signed_division(self, a: Signed, b: Signed, watch: Watch) -> str:
        """Divide; where the signs differ and something is left, the quotient is one further down."""
        x, y = (number(text, self._arithmetic.digits) for _, text in (a, b))
        zero = self._arithmetic.digits[0]
        refuse_zero(y, zero)
        quotient, rest = self._division(x, y, watch)
        if a[0] != b[0] and rest != zero:
            quotient = self._do("add", quotient, self._arithmetic.digits[1], watch=watch)
            rest = self._do("sub", y, rest, watch=watch)
        return f"{text_of(a[0] != b[0], quotient)} {text_of(b[0], rest)}"

    # --- as on paper, without signs -----------------------------------------------------------------------------------

    def _product(self, top: str, bottom: str, watch: Watch) -> str:
        """Multiply by each digit of the lower number, units first, and add up; each sum settles one more digit."""
        zero = self._arithmetic.digits[0]
        partial: dict[str, str] = {}
        settled: list[str] = []
        open_sum = zero
        for place, digit in enumerate(reversed(bottom)):
            still = _part(watch, place, len(bottom))
            if digit not in partial:
                partial[digit] = self._do("times", top, digit, watch=still)
            open_sum = self._do("add", open_sum, partial[digit], watch=still) if place else partial[digit]
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
            still = _part(watch, place, len(top))
            low, high = 0, len(digits)  # the multiple of low fits, that of high does not
            while high - low > 1:
                middle = (low + high) // 2
                if not multiples[middle]:
                    multiples[middle] = self._do("times", divisor, digits[middle], watch=still)
                order = self._do("cmp", rest, multiples[middle], watch=still)
                low, high = (low, middle) if order == "<" else (middle, high)
            if low:
                rest = self._do("sub", rest, multiples[low], watch=still)
            quotient.append(digits[low])
            self._note(f"the quotient's next digit is {digits[low]}; {rest} is left")
            watch(place + 1, len(top))
        return without_zeros("".join(quotient)), without_zeros(rest)

    # --- by the networks ----------------------------------------------------------------------------------------------

    def _do(self, verb: str, *numbers: str, watch: Watch) -> str:
        """Solve one problem by the network for it."""
        network, result = self._arithmetic.network(verb), self._result
        if self._arithmetic.keep_steps:
            listener = self._arithmetic.listener
            listener.problem(network, numbers)
            kept = network.trace(*numbers, tell=listener.step, watch=watch)
            answer = kept.result
            text = f"{network.procedure.expression(*numbers)} = {answer.answer}"
            if answer.answer is None:
                text = f"{network.procedure.expression(*numbers)}: no answer"
            elif verb == "cmp":
                text = f" {answer.answer} ".join(numbers)
            table = as_table(network.procedure, answer.solution)
            result.trace.append(Note(text, kept.steps, table, answer.answer))
        else:
            (answer,) = network.solve_many([numbers], engine=self._arithmetic.engine, watch=watch)
        self.count(answer, network)
        if answer.answer is None:
            result.failure = answer.failure
            raise StoppedError
        return answer.answer

    def count(self, answer: Answer, network: Calculator) -> None:
        """Add to the result what an answer took, and the network that it rests on."""
        result = self._result
        used = network.companion if answer.engine == "lookahead" else network
        result.note(used, certified=answer.certified)
        result.engine = answer.engine
        result.uncertain = result.uncertain or answer.uncertain
        result.network_calls += answer.network_calls
        result.steps += answer.solution.steps
        result.rounds += answer.solution.rounds
        result.generated_tokens += answer.solution.generated_tokens

    def _note(self, text: str) -> None:
        if self._arithmetic.keep_steps:
            self._result.trace.append(Note(text))
            self._arithmetic.listener.note(text)
