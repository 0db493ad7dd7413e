"""What else the benchmark times beside Python's own arithmetic: short sums, many sums, products and quotients.

As for long sums, all methods of a subject take turns in one run, the best time counts, and every answer is compared
with exact arithmetic.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from alga.research.bench.methods import Pair, pair
from alga.solve.calculator import Calculator
from alga.solve.engines import table as table_engine
from alga.tasks.numbers import exact, signed_answer

DIGITS_IN_BULK: Final = 20
SCRIPT: Final = "import sys\nfor line in sys.stdin:\n    a, b = line.split()\n    print(int(a) + int(b))\n"
ALGA_SCRIPT: Final = """import sys, alga
pairs = [line.split() for line in sys.stdin]
print("\\n".join(alga.load().solve_many(pairs, operation="add").answers))
"""
QUOTIENT_SHARE: Final = 20  # a quotient's second number has a twentieth of the first one's digits


@dataclass(frozen=True)
class Subject:
    """Something to be timed by several methods, at several sizes."""

    name: str
    title: str
    size: str  # what a size counts
    unit: str  # of the time given
    sizes: Sequence[int]
    problem: Callable[[int], tuple[Any, ...]]
    answer: Callable[..., Any]  # to a problem, by exact arithmetic
    ways: dict[str, tuple[str, Callable[..., Any]]]  # by name: a label and the function that is timed
    against: str  # the method that all others are compared with
    parts: Callable[[int], int] = field(default=lambda _: 1)  # by which a time is divided

    def up_to(self, longest: int) -> list[int]:
        """Return the sizes that a benchmark up to so many digits has."""
        return [size for size in self.sizes if size <= longest]


def subjects(folder: Path) -> list[Subject]:
    """Return all subjects; files are written to a folder."""
    calculator = Calculator()
    table_engine.load_compiled()
    return [
        _short(calculator), _many(calculator), _lines(folder), _python(calculator, folder), _products(calculator),
        _quotients(calculator),
    ]  # fmt: skip


def _short(calculator: Calculator) -> Subject:
    return Subject(
        "short", "One short sum", "digits of each number", "a sum",
        (20, 50, 100, 300, 1000, 10_000), pair, lambda x, y: signed_answer("add", (x, y), 10),
        {
            "alga": ("alga, `Calculator.add`", calculator.add),
            "result": ("alga, with all that is told", lambda x, y: calculator.solve(x, y, operation="add").answer),
            "int": ("Python int", lambda x, y: str(int(x) + int(y))),
            "decimal": ("Python decimal", lambda x, y: str(exact(x, y).add(Decimal(x), Decimal(y)))),
        },
        "int",
    )  # fmt: skip


@lru_cache(maxsize=2)
def _pairs(count: int) -> list[Pair]:
    text, size = "".join(pair(count * DIGITS_IN_BULK)), DIGITS_IN_BULK
    return [(text[i : i + size], text[i + size : i + 2 * size]) for i in range(0, len(text), 2 * size)]


def _sums(problems: list[Pair]) -> list[str]:
    return [str(int(x) + int(y)) for x, y in problems]


def _many(calculator: Calculator) -> Subject:
    return Subject(
        "many", f"Many sums of {DIGITS_IN_BULK} digits", "sums", "a sum",
        (100, 1000, 10_000, 100_000), lambda count: (_pairs(count),), _sums,
        {
            "alga": ("alga, `solve_many`", lambda problems: calculator.solve_many(problems, operation="add").answers),
            "int": ("a Python loop over int", _sums),
        },
        "int", parts=lambda count: count,
    )  # fmt: skip


@dataclass(frozen=True)
class _File:
    """A file of sums, a line each, and the processes that solve it: with the start of Python, and of the compiler."""

    folder: Path

    def problem(self, count: int) -> tuple[Path]:
        source = self.folder / "pairs"
        source.write_text("".join(f"{x} {y}\n" for x, y in _pairs(count)))
        return (source,)

    def answer(self, path: Path) -> str:
        pairs = (line.split() for line in path.read_text().splitlines())
        return "".join(f"{int(x) + int(y)}\n" for x, y in pairs)

    def by(self, *command: str) -> Callable[[Path], str]:
        """Return a function that has a Python process read the file."""

        def add(path: Path) -> str:
            out = self.folder / "sums"
            with path.open("rb") as given, out.open("wb") as taken:
                subprocess.run([sys.executable, *command], stdin=given, stdout=taken, check=True)
            return out.read_text()

        return add


COMMAND: Final = ("-m", "alga", "add", "--pairs", "-")


def _lines(folder: Path) -> Subject:
    file = _File(folder)
    ways = {
        "alga": ("alga add --pairs", file.by(*COMMAND)),
        "int": ("a Python script over int", file.by("-c", SCRIPT)),
    }
    title, sizes = f"A file of sums of {DIGITS_IN_BULK} digits, end to end", (1000, 100_000, 1_000_000)
    return Subject(
        "lines", title, "lines", "a line", sizes, file.problem, file.answer, ways, "int", parts=lambda count: count
    )


def _python(calculator: Calculator, folder: Path) -> Subject:
    """The same from Python and by the command line: whole processes, and a calculator that is there already."""
    file = _File(folder)

    def solve(path: Path) -> str:
        pairs = [line.split() for line in path.read_text().splitlines()]
        return "".join(f"{answer}\n" for answer in calculator.solve_many(pairs, operation="add").answers)

    ways = {
        "loaded": ("alga from Python, loaded before", solve),
        "script": ("alga from Python, the whole process", file.by("-c", ALGA_SCRIPT)),
        "command": ("alga add --pairs, the whole process", file.by(*COMMAND)),
    }
    title, sizes = f"Sums of {DIGITS_IN_BULK} digits, from Python and by the command line", (1, 100, 10_000, 100_000)
    return Subject("python", title, "sums", "all of them", sizes, file.problem, file.answer, ways, "command")


def _products(calculator: Calculator) -> Subject:
    return Subject(
        "products", "A product of two numbers of equal length", "digits of each number", "a product",
        (20, 100, 1000, 10_000, 100_000), pair, lambda x, y: signed_answer("mul", (x, y), 10),
        {
            "alga": ("alga, `Calculator.mul`", calculator.mul),
            "int": ("Python int", lambda x, y: str(int(x) * int(y))),
            "decimal": ("Python decimal", lambda x, y: str(exact(x, y).multiply(Decimal(x), Decimal(y)))),
        },
        "int",
    )  # fmt: skip


def _quotients(calculator: Calculator) -> Subject:
    def problem(digits: int) -> Pair:
        x, y = pair(digits)
        return x, y[: max(2, digits // QUOTIENT_SHARE)]

    def divided(x: str, y: str) -> tuple[str, ...]:
        return tuple(map(str, divmod(int(x), int(y))))

    return Subject(
        "quotients", "A quotient by a number of a twentieth of the length", "digits of the first number", "a quotient",
        (100, 1000, 10_000, 100_000), problem,
        lambda x, y: tuple(signed_answer("divmod", (x, y), 10).split()),
        {"alga": ("alga, `Calculator.divmod`", calculator.divmod), "int": ("Python int", divided)},
        "int",
    )  # fmt: skip
