"""The ways of adding that are compared: the paper's plain procedure, the engines, exact arithmetic, a plain copy."""

from __future__ import annotations

import decimal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, Final

from alga import files
from alga.answers import Answer
from alga.calculator import Calculator
from alga.errors import AlgaError
from alga.tokens import START, STOP_ID

SHORTEST: Final = 100  # digits
LONG: Final = 100_000
WARM: Final = 2_000_000  # digits: enough to load the compiled loop
TOGETHER: Final = 1000  # sums side by side
FAILED: Final = "no sum"

Pair = tuple[str, str]


@dataclass(frozen=True)
class Way:
    """One way of adding: a name, words for people, and a function of two texts that is timed."""

    name: str
    label: str
    add: Callable[[str, str], Any]
    least: int = 1  # digits
    sums: int = 1  # added in one timing
    prepare: Callable[[str, str], object] = lambda _x, _y: None  # before the first timing of a length
    found: Callable[[Any], str | None] | None = lambda answer: answer  # the sum; None where there is nothing to compare


def pair(digits: int, seed: int = 0) -> Pair:
    """Return two random numbers of so many digits, the same for every run."""
    rng, as_digits = Random(f"{digits} {seed}"), bytes(ord("0") + i % 10 for i in range(256))
    x, y = (str(rng.randint(1, 9)) + rng.randbytes(digits - 1).translate(as_digits).decode() for _ in range(2))
    return x, y


@contextmanager
def ways(calculator: Calculator) -> Iterator[list[Way]]:
    """Yield all ways that can run here, each warm."""
    tables = Calculator.from_pretrained(
        calculator.run.name
    )  # whose network stays unopened, as the table engine needs none

    def by(engine: str) -> Callable[[str, str], str | None]:
        network = tables if engine == "table" else calculator
        return lambda x, y: network.solve(x, y, engine=engine).answer

    @lru_cache(maxsize=1)
    def problems(digits: int) -> list[Pair]:
        return [pair(digits, seed) for seed in range(TOGETHER)]

    def batched(x: str, _: str) -> list[Answer]:
        return calculator.solve_many(problems(len(x)), engine="sequential")

    def first_if_all_right(answers: list[Answer]) -> str:
        """Compare all answers; return the first, which is that of the sum that all ways share."""
        right = all(answer.answer == calculator.task.answer(*answer.operands) for answer in answers)
        return answers[0].answer or FAILED if right else FAILED

    def exactly(x: str, y: str) -> str:
        context = decimal.Context(prec=len(x) + 2, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
        return str(context.add(decimal.Decimal(x), decimal.Decimal(y)))

    def copied(x: str, y: str) -> None:
        x.encode()
        y.encode()

    with tempfile.TemporaryDirectory() as folder:
        found = [
            Way("plain", "the paper's procedure, plainly", _plainly(calculator)),
            Way("sequential", "engine sequential, one sum", by("sequential")),
            Way(
                "batched",
                f"engine sequential, {TOGETHER:,} sums",
                batched,
                sums=TOGETHER,
                prepare=lambda x, _: problems(len(x)),
                found=first_if_all_right,
            ),
            *([Way("lookahead", "engine lookahead, one sum", by("lookahead"))] if _looks_ahead(calculator) else []),
            Way("table", "engine table, text to text", by("table")),
            _files(tables, Path(folder)),
            Way("int", "Python int", lambda x, y: str(int(x) + int(y))),
            Way("decimal", "Python decimal", exactly),
            *_gmpy2(),
            Way("copy", "copying the two texts", copied, found=None),
        ]
        tables.solve(*pair(WARM), engine="table")  # loads the compiled loop
        for way in found:
            way.prepare(*pair(SHORTEST))
            way.add(*pair(SHORTEST))
        yield found


def _looks_ahead(calculator: Calculator) -> bool:
    """Tell whether a network goes with this one that finds all carries at once: with those that ship."""
    try:
        return calculator.companion is not calculator
    except AlgaError:
        return False


def _plainly(calculator: Calculator) -> Callable[[str, str], str]:
    """Return the paper's procedure: one problem alone, every token computed from the beginning, on one thread."""
    import torch  # noqa: PLC0415 - importing this module should not take a second

    task, tokens, model = calculator.task, calculator.run.config.tokens, calculator.run.model

    @torch.inference_mode()
    def add(x: str, y: str) -> str:
        outputs: list[str] = []
        for column in task.columns(x, y):
            prompt = task.prompt(outputs[-1] if outputs else None, column)
            ids = [*tokens.prompts([prompt])[0], tokens.ids[START]]
            written: list[int] = []
            while STOP_ID not in written and len(written) < tokens.output_length:
                written.append(int(model(torch.tensor([ids + written]))[0, -1].argmax()))
            output = tokens.output(tokens.text(written))
            if output is None:
                return FAILED
            outputs.append(output)
        return task.read(outputs)

    def on_one_thread(x: str, y: str) -> str:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # a second gains nothing on so little work
        try:
            return add(x, y)
        finally:
            torch.set_num_threads(threads)

    return on_one_thread


def _files(calculator: Calculator, folder: Path) -> Way:
    """Return the table engine from file to file."""
    paths = [folder / name for name in "xy"]

    def prepare(x: str, y: str) -> None:
        for path, text in zip(paths, (x, y), strict=True):
            path.write_text(text)

    def add(_x: str, _y: str) -> None:
        with files.writing(folder / "sum") as sink:
            calculator.stream(paths, sink)

    def found(_: object) -> str:
        return (folder / "sum").read_text()

    return Way("files", "engine table, file to file", add, least=LONG, prepare=prepare, found=found)


def _gmpy2() -> list[Way]:
    try:
        import gmpy2  # noqa: PLC0415 - optional
    except ImportError:
        return []
    return [Way("gmpy2", "gmpy2", lambda x, y: str(gmpy2.mpz(x) + gmpy2.mpz(y)))]
