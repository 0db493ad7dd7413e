"""Timing of all methods in one run; ratios matter, because machines are noisy.

At every length all methods take three turns; in each turn a method repeats for a moment, and its best time counts. Each
answer is compared with exact arithmetic. Timings expected to take over a minute are skipped and recorded as such.
"""

from __future__ import annotations

import math
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import alga
from alga.base.errors import AlgaError
from alga.base.progress import Watch, unwatched
from alga.research.bench import methods as compared
from alga.research.bench.methods import FILE_DIGITS, SHORTEST, Method, pair
from alga.research.bench.subjects import Subject, subjects
from alga.solve.solver import Solver
from alga.tasks import step_of

MOST_DIGITS: Final = 10**8
MAX_SECONDS: Final = 60.0  # timings expected to take longer are skipped
ONCE_SECONDS: Final = 3.0  # slower methods are timed once
TURN_SECONDS: Final = 0.05  # faster methods repeat for this long
TURNS: Final = 3
WEIGHED_FROM: Final = 10**6  # digits: the memory of shorter sums is lost in the noise
COMPARED: Final = (
    ("table", "decimal"), ("table", "gmpy2"), ("table", "int"), ("table", "copy"), ("table", "plain"),
    ("sequential", "plain"), ("batched", "plain"), ("lookahead", "sequential"),
)  # fmt: skip


@dataclass
class Cell:
    """One method at one length: its best time, or why it was skipped."""

    digits: int
    seconds: float | None = None
    per_digit: float | None = None  # nanoseconds
    megabytes: float | None = None  # growth of the process at its peak
    right: bool | None = None
    skipped: str = ""


@dataclass
class Timed:
    """One subject's cells, by the name of the method."""

    subject: Subject
    cells: dict[str, list[Cell]] = field(default_factory=dict)

    def ratios(self) -> dict[str, float]:
        """Return how long each method takes, that which they are compared with being 1."""
        against = {cell.digits: cell.seconds for cell in self.cells[self.subject.against] if cell.seconds}
        return {
            f"{name} at {cell.digits:,}": float(f"{cell.seconds / against[cell.digits]:.3g}")
            for name, cells in self.cells.items()
            for cell in cells
            if name != self.subject.against and cell.seconds and cell.digits in against
        }

    def as_dict(self) -> dict[str, Any]:
        """Return all figures as plain values."""
        subject = self.subject
        return {
            "title": subject.title,
            "size": subject.size,
            "ways": {name: label for name, (label, _) in subject.ways.items()},
            "cells": _plain(self.cells),
            f"times as long as {subject.against}": self.ratios(),
        }


@dataclass
class Bench:
    """All cells of one run, by the name of the method; then the other subjects."""

    ways: list[Method]
    cells: dict[str, list[Cell]] = field(default_factory=dict)
    rounds: dict[int, int] = field(default_factory=dict)  # of the lookahead engine, by digits
    others: list[Timed] = field(default_factory=list)

    def timed(self, way: str) -> list[Cell]:
        """Return the cells of a method that were timed, shortest first."""
        return [cell for cell in self.cells.get(way, []) if cell.seconds is not None]

    def as_dict(self) -> dict[str, Any]:
        """Return all figures as plain values."""
        return {
            "machine": _machine(),
            "ways": {way.name: way.label for way in self.ways},
            "cells": _plain(self.cells),
            "lookahead_rounds": self.rounds,
            "ratios": self.ratios(),
            "subjects": {timed.subject.name: timed.as_dict() for timed in self.others},
        }

    @property
    def all_cells(self) -> list[Cell]:
        """Every cell of every subject."""
        every = [self.cells, *(timed.cells for timed in self.others)]
        return [cell for cells in every for row in cells.values() for cell in row]

    def ratios(self) -> dict[str, float]:
        """Return how many times as fast one method is as another, per digit.

        The table engine is compared with the longest sum that the plain procedure was timed on.
        """
        found: dict[str, float] = {}
        speeds = {way: {c.digits: c.per_digit for c in self.timed(way) if c.per_digit} for way in self.cells}
        for digits in sorted({cell.digits for cells in self.cells.values() for cell in cells}):
            for fast, slow in COMPARED:
                others = speeds.get(slow, {})
                other = list(others.values())[-1:] if (fast, slow) == ("table", "plain") else [others.get(digits)]
                quick = speeds.get(fast, {}).get(digits)
                if quick and other and other[0]:
                    found[f"{fast} over {slow} at {digits:,}"] = round(other[0] / quick, 2)
        if flat := [speed for digits, speed in speeds.get("table", {}).items() if digits >= FILE_DIGITS]:
            found[f"table, slowest over fastest length from {FILE_DIGITS:,} on"] = round(max(flat) / min(flat), 2)
        return found


def run(solver: Solver, *, longest: int = MOST_DIGITS, watch: Watch = unwatched) -> Bench:
    """Time every method at 100 digits, 1,000 and so on; `watch` counts timings."""
    layout = solver.procedure.layout
    if (step_of(solver.procedure), layout.arity, layout.base) != ("add", 2, 10):
        raise AlgaError(f"the benchmark adds two numbers in base ten; the model {solver.run.name} does not")
    if solver.own_engine != "sequential":
        raise AlgaError(f"the benchmark needs a network that adds column by column; {solver.run.name} looks ahead")
    if longest < SHORTEST:
        raise AlgaError(f"the benchmark starts at {SHORTEST} digits, got {longest}")
    lengths = [SHORTEST * 10**i for i in range(20) if SHORTEST * 10**i <= longest]
    with compared.ways(solver) as ways, _any_int():
        bench = Bench(ways, {way.name: [] for way in ways})
        total, done = len(lengths) * len(ways) * TURNS, 0
        for digits in lengths:
            x, y = pair(digits)
            expected = solver.procedure.oracle(x, y)
            cells = {way.name: _begin(bench, way, digits) for way in ways}
            for turn in range(TURNS):
                for way in ways:
                    cell = cells[way.name]
                    if not cell.skipped and (turn == 0 or (cell.seconds or 0) < ONCE_SECONDS):
                        _time_sum(way, cell, x, y, expected)
                    watch(done := done + 1, total)
            if any(cell.digits == digits for cell in bench.timed("lookahead")):
                bench.rounds[digits] = solver.solve(x, y, engine="lookahead").as_dict()["rounds"]
    return bench


def _begin(bench: Bench, way: Method, digits: int) -> Cell:
    """Return a new cell, skipped if the growth of the last two timings predicts too long a time."""
    cell, before = Cell(digits), [(cell.digits, cell.seconds) for cell in bench.timed(way.name) if cell.seconds]
    bench.cells[way.name].append(cell)
    if digits < way.least:
        cell.skipped = f"starts at {way.least:,} digits"
    elif before:
        length, seconds = before[-1]
        growth = max(10.0, seconds / before[-2][1]) if len(before) > 1 else 10.0
        expected = seconds * growth ** round(math.log10(digits / length))
        if expected > MAX_SECONDS:
            cell.skipped = f"would take about {expected:,.0f} s"
    return cell


def time_others(longest: int, watch: Watch = unwatched) -> list[Timed]:
    """Time the other subjects at sizes up to `longest`; `watch` counts timings."""
    with tempfile.TemporaryDirectory() as folder, _any_int():
        found = [Timed(subject, {name: [] for name in subject.ways}) for subject in subjects(Path(folder))]
        work = [(timed, size) for timed in found for size in timed.subject.up_to(longest)]
        total, done = sum(len(timed.subject.ways) * TURNS for timed, _ in work), 0
        for timed, size in work:
            problem = timed.subject.problem(size)
            expected = timed.subject.answer(*problem)
            cells = {name: Cell(size) for name in timed.subject.ways}
            for turn in range(TURNS):
                for name, (_, solve) in timed.subject.ways.items():
                    if turn == 0 or (cells[name].seconds or 0) < ONCE_SECONDS:
                        answer = _time(solve, problem, cells[name])
                        cells[name].right = answer == expected and cells[name].right is not False
                    watch(done := done + 1, total)
            for name, cell in cells.items():
                timed.cells[name].append(cell)
    return found


def _time_sum(way: Method, cell: Cell, x: str, y: str, expected: str) -> None:
    first = cell.seconds is None
    if first:
        way.prepare(x, y)
    before = _peak(reset=True) if first and cell.digits >= WEIGHED_FROM else None
    answer = _time(way.add, (x, y), cell)
    assert cell.seconds is not None
    cell.per_digit = cell.seconds / (cell.digits * way.sums) * 1e9
    if before is not None and (after := _peak()) is not None:
        cell.megabytes = round(max(0.0, after - before), 1)
    if way.found is not None:
        cell.right = way.found(answer) == expected and cell.right is not False


def _time(solve: Callable[..., Any], problem: tuple[Any, ...], cell: Cell) -> Any:
    """Solve a problem again and again for a moment; keep the best time. Returns the last answer."""
    ends = time.perf_counter() + TURN_SECONDS
    while True:
        began = time.perf_counter()
        answer = solve(*problem)
        seconds = time.perf_counter() - began
        if cell.seconds is None or seconds < cell.seconds:
            cell.seconds = seconds
        if time.perf_counter() > ends:
            return answer


def _plain(cells: dict[str, list[Cell]]) -> dict[str, Any]:
    return {
        name: [{key: value for key, value in vars(cell).items() if value not in (None, "")} for cell in row]
        for name, row in cells.items()
    }


def _peak(reset: bool = False) -> float | None:
    """Return this process's peak memory in megabytes since the last reset; None if unknown."""
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
        status = Path("/proc/self/status").read_text()
    except OSError:
        return None
    return next(float(line.split()[1]) / 1000 for line in status.splitlines() if line.startswith("VmHWM"))


@contextmanager
def _any_int() -> Iterator[None]:
    """Lift Python's limit on the digits of an int, and put it back."""
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(limit)


def _machine() -> dict[str, Any]:
    found = {"platform": f"{platform.system()} {platform.machine()}", "cores": os.cpu_count()}
    found |= {"python": platform.python_version(), "alga": alga.__version__}
    for package in ("torch", "numpy", "numba", "gmpy2"):
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found
