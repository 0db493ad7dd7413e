"""The methods of adding that the benchmark times: the paper's procedure, the engines, exact arithmetic, a copy."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, Final

from alga.base import files
from alga.base.errors import AlgaError
from alga.network.tokens import START, STOP_ID
from alga.solve.calculator import Calculator
from alga.solve.engines import table as table_engine
from alga.solve.solver import Solver
from alga.tasks.numbers import exact

SHORTEST: Final = 100  # digits
FILE_DIGITS: Final = 100_000
BATCH_SUMS: Final = 1000  # sums side by side

Pair = tuple[str, str]


@dataclass(frozen=True)
class Method:
    """A method of adding: a name, a label, and the function of two texts that is timed."""

    name: str
    label: str
    add: Callable[[str, str], Any]
    least: int = 1  # digits
    sums: int = 1  # added in one timing
    prepare: Callable[[str, str], object] = lambda _x, _y: None  # called before the first timing of a length
    found: Callable[[Any], str | None] | None = lambda answer: answer  # reads the sum; None if there is none


def pair(digits: int, seed: int = 0) -> Pair:
    """Return two random numbers of `digits` digits, the same in every run."""
    rng, as_digits = Random(f"{digits} {seed}"), bytes(ord("0") + i % 10 for i in range(256))
    x, y = (str(rng.randint(1, 9)) + rng.randbytes(digits - 1).translate(as_digits).decode() for _ in range(2))
    return x, y


@contextmanager
def ways(solver: Solver) -> Iterator[list[Method]]:
    """Yield all methods that can run here, warmed up."""
    tables = Solver.load(solver.run.name)  # the table engine never loads its network

    def by(engine: str) -> Callable[[str, str], str | None]:
        return lambda x, y: solver.solve(x, y, engine=engine).answer

    with tempfile.TemporaryDirectory() as folder:
        found = [
            Method("plain", "the paper's procedure, plainly", _plainly(solver)),
            Method("sequential", "engine sequential, one sum", by("sequential")),
            _batched(solver),
            *([Method("lookahead", "engine lookahead, one sum", by("lookahead"))] if _looks_ahead(solver) else []),
            Method("table", "engine table, text to text", Calculator(models=[tables], engine="table").add),
            _files(tables, Path(folder)),
            Method("int", "Python int", lambda x, y: str(int(x) + int(y))),
            Method("decimal", "Python decimal", lambda x, y: str(exact(x, y).add(Decimal(x), Decimal(y)))),
            *_gmpy2(),
            Method("copy", "copying the two texts", _copied, found=None),
        ]
        table_engine.load_compiled()
        for way in found:
            way.prepare(*pair(SHORTEST))
            way.add(*pair(SHORTEST))
        yield found


def _batched(solver: Solver) -> Method:
    """Return the sequential engine on many sums at once."""

    @lru_cache(maxsize=1)
    def problems(digits: int) -> list[Pair]:
        return [pair(digits, seed) for seed in range(BATCH_SUMS)]

    def add(x: str, _: str) -> list[Any]:
        return [*solver.solve_many(problems(len(x)), engine="sequential")]

    def found(answers: list[Any]) -> str | None:
        """Check all answers; return the first, the sum that all methods compute."""
        right = all(answer.answer == solver.procedure.oracle(*answer.operands) for answer in answers)
        return answers[0].answer if right else None

    label = f"engine sequential, {BATCH_SUMS:,} sums"
    return Method("batched", label, add, sums=BATCH_SUMS, prepare=lambda x, _: problems(len(x)), found=found)


def _looks_ahead(solver: Solver) -> bool:
    """Return whether a lookahead network belongs to this one, as for the shipped adder."""
    try:
        return solver.runner("lookahead") is not solver
    except AlgaError:
        return False


def _plainly(solver: Solver) -> Callable[[str, str], str | None]:
    """Return the paper's procedure: one problem, no cache, one thread."""
    import torch

    procedure, tokens, model = solver.procedure, solver.run.config.step_tokens, solver.run.model

    @torch.inference_mode()
    def add(x: str, y: str) -> str | None:
        outputs: list[str] = []
        for column in procedure.columns(x, y):
            prompt = procedure.prompt(outputs[-1] if outputs else None, column)
            ids = [*tokens.prompts([prompt])[0], tokens.ids[START]]
            written: list[int] = []
            while STOP_ID not in written and len(written) < tokens.output_length:
                written.append(int(model(torch.tensor([ids + written]))[0, -1].argmax()))
            output = tokens.output(tokens.text(written))
            if output is None:
                return None
            outputs.append(output)
        return procedure.read(outputs)

    def on_one_thread(x: str, y: str) -> str | None:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # a second is no faster for so little work
        try:
            return add(x, y)
        finally:
            torch.set_num_threads(threads)

    return on_one_thread


def _files(solver: Solver, folder: Path) -> Method:
    """Return the table engine from file to file."""
    paths, total = [folder / name for name in "xy"], folder / "sum"

    def prepare(x: str, y: str) -> None:
        for path, text in zip(paths, (x, y), strict=True):
            path.write_text(text)

    def add(_x: str, _y: str) -> None:
        with files.writing(total) as sink:
            solver.stream(paths, sink)

    label = "engine table, file to file"
    return Method("files", label, add, least=FILE_DIGITS, prepare=prepare, found=lambda _: total.read_text())


def _copied(x: str, y: str) -> None:
    x.encode()
    y.encode()


def _gmpy2() -> list[Method]:
    try:
        import gmpy2
    except ImportError:
        return []
    return [Method("gmpy2", "gmpy2", lambda x, y: str(gmpy2.mpz(x) + gmpy2.mpz(y)))]
