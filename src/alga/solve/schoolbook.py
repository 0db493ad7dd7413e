"""Signed arithmetic as on paper: operations composed of the problems that networks solve.

Every digit and every decision comes from a network. The code here moves text around: it aligns numbers, shifts partial
products, brings digits down and handles signs.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar

from alga import runs, tasks
from alga.base.cancellation import Cancellation
from alga.base.errors import AlgaError
from alga.base.progress import Watch, unwatched
from alga.solve.engines import table as table_engine
from alga.solve.engines.machine import machine_of
from alga.solve.engines.rows import NoColumnError
from alga.solve.result import SIGNS, Listener, Result
from alga.solve.tally import Tally
from alga.tasks.numbers import Signed, digits_of, number, split_sign, without_zeros

if TYPE_CHECKING:
    from alga.solve.calculator import Networks
    from alga.solve.engines.long_arithmetic import LongArithmetic

MINUS: Final = "-"
Found = TypeVar("Found", str, tuple[str, str])


class _FailedError(Exception):
    """A network failed at a step."""


def text_of(negative: bool, digits: str) -> str:
    """Return a number with its sign; zero has none."""
    return f"{MINUS}{digits}" if negative and digits != "0" else digits


def check(operation: str, operands: tuple[str, ...], base: int) -> None:
    """Validate an operation and its operands before any work."""
    _check_operation(operation)
    read = [number(split_sign(text, base)[1], digits_of(base)) for text in operands]
    if operation == "divmod":
        _refuse_zero(read[-1])


def _check_operation(operation: str) -> None:
    if operation not in SIGNS:
        raise AlgaError(f"unknown operation {operation!r}; there are {', '.join(SIGNS)}")


def _refuse_zero(divisor: str) -> None:
    if divisor == "0":
        raise AlgaError("a number cannot be divided by zero")


class Schoolbook:
    """One operation in progress; with a listener it is traced."""

    def __init__(
        self,
        networks: Networks,
        *,
        engine: str | None = None,
        listener: Listener | None = None,
        watch: Watch = unwatched,
        cancel: Cancellation | None = None,
    ) -> None:
        self._networks, self._engine, self._listener = networks, engine, listener
        self._watch, self._cancel = watch, cancel
        self._tally = Tally()
        self._parts: list[Result | str] = []  # of a trace
        self._digits = digits_of(networks.base)

    def solve(self, operation: str, operands: tuple[str, ...]) -> Result:
        """Do one operation; a step at which a network fails is reported in the result."""
        _check_operation(operation)
        base, answer = self._networks.base, None
        if len(operands) < 2 or (operation != "add" and len(operands) != 2):
            expected = "at least 2 numbers" if operation == "add" else "two numbers"
            raise AlgaError(f"{operation} takes {expected}, got {len(operands)}")
        work: dict[str, Callable[..., str]] = {
            "add": lambda *numbers: self._total([*numbers]),
            "sub": lambda a, b: self._sum(a, (not b[0], b[1])),
            "mul": self._signed_product,
            "divmod": self._signed_division,
            "cmp": self._comparison,
        }
        with suppress(_FailedError):
            answer = work[operation](*[split_sign(text, base) for text in operands])
        return Result(
            operation=operation, base=base, operands=operands, answer=answer, parts=tuple(self._parts),
            **vars(self._tally),
        )  # fmt: skip

    # --- with signs ---------------------------------------------------------------------------------------------------

    def _total(self, numbers: list[Signed]) -> str:
        """Add from left to right; unsigned numbers three at a time if a network for that ships."""
        digits = [text for _, text in numbers]
        if any(negative for negative, _ in numbers):
            total = text_of(*numbers[0])
            for other in numbers[1:]:
                total = self._sum((total.startswith(MINUS), total.removeprefix(MINUS)), other)
            return total
        three = len(digits) > 2 and "add" not in self._networks.given and self._engine not in tasks.COMPANIONS
        three = three and tasks.for_step("add three", self._networks.base) in runs.shipped()
        for text in digits[2:]:
            number(text, self._digits)  # refuse it now, not after the first ones are added
        while len(digits) > 1:
            if three and len(digits) > 2:
                digits[:3] = [self._do("add three", *digits[:3])]
            else:
                digits[:2] = [self._do("add", *digits[:2])]
        return digits[0]

    def _sum(self, a: Signed, b: Signed) -> str:
        """Add numbers of one sign, or subtract the smaller from the larger and take the larger one's sign."""
        if a[0] == b[0]:
            return text_of(a[0], self._do("add", a[1], b[1]))
        order = self._do("cmp", a[1], b[1])
        if order == "=":
            return self._digits[0]
        (negative, top), (_, bottom) = (a, b) if order == ">" else (b, a)
        return text_of(negative, self._do("sub", top, bottom))

    def _comparison(self, a: Signed, b: Signed) -> str:
        """Compare; of two negative numbers the larger one is smaller."""
        if a[0] != b[0]:
            number(a[1], self._digits)
            number(b[1], self._digits)
            self._note(f"a negative number is less than one that is not: {'<' if a[0] else '>'}")
            return "<" if a[0] else ">"
        first, second = (b[1], a[1]) if a[0] else (a[1], b[1])
        return self._do("cmp", first, second)

    def _signed_product(self, a: Signed, b: Signed) -> str:
        """Multiply; the product is negative if the signs differ."""
        x, y = (number(text, self._digits) for _, text in (a, b))
        return text_of(a[0] != b[0], self._product(*((x, y) if len(x) >= len(y) else (y, x))))

    def _signed_division(self, a: Signed, b: Signed) -> str:
        """Divide, rounding down: with different signs and a remainder, the quotient is one lower."""
        x, y = (number(text, self._digits) for _, text in (a, b))
        _refuse_zero(y)
        quotient, rest = self._division(x, y)
        if a[0] != b[0] and rest != self._digits[0]:
            quotient = self._do("add", quotient, self._digits[1])
            rest = self._do("sub", y, rest)
        return f"{text_of(a[0] != b[0], quotient)} {text_of(b[0], rest)}"

    # --- without signs ------------------------------------------------------------------------------------------------

    def _product(self, top: str, bottom: str) -> str:
        """Multiply by each digit of the lower number, units first, and add up; each sum makes one more digit final."""
        by_tables = self._by_tables(len(bottom), ("times", "add"), ("sub",), lambda long: long.product(top, bottom))
        if by_tables is not None:
            return by_tables
        zero = self._digits[0]
        partial: dict[str, str] = {}
        final: list[str] = []
        pending = zero
        for place, digit in enumerate(reversed(bottom)):
            if digit not in partial:
                partial[digit] = self._row("times", top, digit)
            pending = self._row("add", pending, partial[digit]) if place else partial[digit]
            final.append(pending[-1])
            if place < len(bottom) - 1:
                self._note(f"write {final[-1]}, carry {pending[:-1] or zero}")
                pending = pending[:-1] or zero
            self._watch(place + 1, len(bottom))
        return without_zeros(pending + "".join(reversed(final[:-1])))

    def _division(self, top: str, divisor: str) -> tuple[str, str]:
        """Bring down one digit after the other, and subtract the largest multiple of the divisor that fits."""
        digits = self._digits
        if len(divisor) == 1:
            answer, _, remainder = self._do("divide", top, divisor).partition(" r")
            return answer, remainder
        if len(top) >= len(divisor):
            kinds, rows = ("times", "cmp", "sub"), len(top) - len(divisor) + 1
            by_tables = self._by_tables(rows, kinds, (), lambda long: long.division(top, divisor))
            if by_tables is not None:
                return by_tables
        multiples = [digits[0], divisor, *("" for _ in digits[2:])]
        rest, quotient = top[: len(divisor) - 1], list[str]()
        for place in range(len(divisor) - 1, len(top)):
            rest = without_zeros(rest + top[place])
            low, high = 0, len(digits)  # the multiple of low fits, that of high does not
            while high - low > 1:
                middle = (low + high) // 2
                if not multiples[middle]:
                    multiples[middle] = self._row("times", divisor, digits[middle])
                order = self._row("cmp", rest, multiples[middle])
                low, high = (low, middle) if order == "<" else (middle, high)
            if low:
                rest = self._row("sub", rest, multiples[low])
            quotient.append(digits[low])
            self._note(f"the quotient's next digit is {digits[low]}; {rest} is left")
            self._watch(place + 1, len(top))
        return without_zeros("".join(quotient)), without_zeros(rest)

    # --- by compiled code ---------------------------------------------------------------------------------------------

    def _by_tables(
        self, rows: int, kinds: tuple[str, ...], more: tuple[str, ...], work: Callable[[LongArithmetic], Found]
    ) -> Found | None:
        """Do many rows at once by the tables of certified networks; None if there is more to tell, or it does not pay.

        `more` are kinds of steps that are used if there are networks for them.
        """
        if self._listener is not None or rows < 2:
            return None
        networks = {kind: self._networks.find(kind) for kind in kinds}
        for kind in more:
            with suppress(AlgaError):
                networks[kind] = self._networks.find(kind)
        claimed = {kind: network.run.claimed for kind, network in networks.items()}
        machines = {
            kind: machine_of(networks[kind].procedure, table)
            for kind, table in claimed.items()
            if table is not None
            and networks[kind].engine_for(self._engine) == "table"
            and not networks[kind].procedure.source
        }
        if not machines.keys() >= {*kinds}:
            return None
        long = table_engine.long_arithmetic(machines, rows, self._watch, self._cancel)
        try:
            found = None if long is None else work(long)
        except NoColumnError:
            return None
        if long is not None:
            for kind, columns in long.steps.items():
                about = networks[kind].about("table", claimed[kind], 0)
                self._tally.add(Result(operands=(), answer="", step_count=columns, **about))
        return found

    # --- by the networks ----------------------------------------------------------------------------------------------

    def _row(self, kind: str, *numbers: str) -> str:
        """Solve one of many problems; the caller reports the progress of the whole."""
        return self._do(kind, *numbers, watch=unwatched)

    def _do(self, kind: str, *numbers: str, watch: Watch | None = None) -> str:
        """Solve one problem by the network for it."""
        watch = self._watch if watch is None else watch
        network = self._networks.find(kind)
        if self._listener is not None:
            self._listener.problem(network, numbers)
            result = network.trace(
                *numbers, engine=self._engine, tell=self._listener.step, watch=watch, cancel=self._cancel
            )
        else:
            (result,) = network.solve_many([numbers], engine=self._engine, watch=watch, cancel=self._cancel)
        self._tally.add(result)
        if self._listener is not None:
            self._parts.append(result)
        if result.answer is None:
            raise _FailedError
        return result.answer

    def _note(self, text: str) -> None:
        if self._listener is not None:
            self._parts.append(text)
            self._listener.note(text)
