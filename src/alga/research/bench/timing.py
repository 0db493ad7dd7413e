"""Timing of all methods of adding in one run; ratios matter, because machines are noisy.

At every length all methods take three turns; in each turn a method repeats for a moment, and its best time counts. Each
answer is compared with exact arithmetic. Timings expected to take over a minute are skipped and recorded as such.
"""

from __future__ import annotations

import math
import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from alga import runs
from alga.base.errors import AlgaError
from alga.base.progress import Watch, unwatched
from alga.research.bench import methods as compared
from alga.research.bench.methods import LONG, SHORTEST, Method, pair
from alga.solve.solver import Solver

LONGEST: Final = 10**8
MAX_SECONDS: Final = 60.0  # of one timing; what is expected to take longer is skipped
ONCE_SECONDS: Final = 3.0  # what takes longer is timed once
TURN_SECONDS: Final = 0.05  # in which what takes less is timed again
TURNS: Final = 3
WEIGHED_FROM: Final = 10**6  # digits: what shorter sums take is lost in the rest


@dataclass
class Cell:
    """One way at one length: its best time, or why it was skipped."""

    digits: int
    seconds: float | None = None
    per_digit: float | None = None  # nanoseconds
    megabytes: float | None = None  # that the process grew by at its peak
    right: bool | None = None
    skipped: str = ""


@dataclass
class Bench:
    """All cells of one run, by the name of the way."""

    ways: list[Method]
    cells: dict[str, list[Cell]] = field(default_factory=dict)
    rounds: dict[int, int] = field(default_factory=dict)  # of the lookahead engine, by digits

    def cell(self, way: str, digits: int) -> Cell | None:
        """Return a cell that was timed; None where there is none."""
        return next((c for c in self.cells.get(way, []) if c.digits == digits and c.seconds is not None), None)

    def longest(self, way: str) -> Cell | None:
        """Return the longest cell of a way that was timed."""
        return next((cell for cell in reversed(self.cells.get(way, [])) if cell.seconds is not None), None)

    def as_dict(self) -> dict[str, Any]:
        """Return all figures as plain values."""
        return {
            "machine": _machine(),
            "ways": {way.name: way.label for way in self.ways},
            "cells": {
                name: [{key: value for key, value in vars(cell).items() if value not in (None, "")} for cell in cells]
                for name, cells in self.cells.items()
            },
            "lookahead_rounds": self.rounds,
            "ratios": self.ratios(),
        }

    def ratios(self) -> dict[str, float]:
        """Return how many times as fast one way is as another, per digit; a way that is slow counts at its longest."""
        found: dict[str, float] = {}

        def compare(fast: str, slow: str, digits: int, slow_digits: int | None = None) -> None:
            quick = self.cell(fast, digits)
            other = self.longest(slow) if slow_digits is None else self.cell(slow, slow_digits)
            if quick and other and quick.per_digit and other.per_digit:
                found[f"{fast} over {slow} at {digits:,}"] = round(other.per_digit / quick.per_digit, 2)

        lengths = sorted({cell.digits for cells in self.cells.values() for cell in cells})
        for digits in lengths:
            for slow in ("decimal", "gmpy2", "int", "copy"):
                compare("table", slow, digits, digits)
            compare("table", "plain", digits)
            compare("sequential", "plain", digits, digits)
            compare("batched", "plain", digits, digits)
            compare("lookahead", "sequential", digits, digits)
        flat = [cell.per_digit for n in lengths if n >= LONG and (cell := self.cell("table", n)) and cell.per_digit]
        if flat:
            found[f"table, slowest over fastest length from {LONG:,} on"] = round(max(flat) / min(flat), 2)
        return found


def run(solver: Solver, *, longest: int = LONGEST, watch: Watch = unwatched) -> Bench:
    """Time every way at 100 digits, 1,000 and so on; `watch` is told of timings."""
    layout = solver.procedure.layout
    if (runs.step_of(solver.procedure), layout.arity, layout.base) != ("add", 2, 10):
        raise AlgaError(f"the benchmark adds two numbers in base ten; the model {solver.run.name} does not")
    if solver.own_engine != "sequential":
        raise AlgaError(f"the benchmark is about networks that go column by column; {solver.run.name} looks ahead")
    if longest < SHORTEST:
        raise AlgaError(f"the benchmark begins at {SHORTEST} digits, got {longest}")
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
                        _time(way, cell, x, y, expected)
                    watch(done := done + 1, total)
            if bench.cell("lookahead", digits):
                bench.rounds[digits] = solver.solve(x, y, engine="lookahead").as_dict()["rounds"]
    return bench


def _begin(bench: Bench, way: Method, digits: int) -> Cell:
    """Return a new cell, skipped where it would take too long going by the two before it."""
    cell, before = Cell(digits), [cell for cell in bench.cells[way.name] if cell.seconds is not None]
    bench.cells[way.name].append(cell)
    if digits < way.least:
        cell.skipped = f"begins at {way.least:,} digits"
    elif bench.cells[way.name][:-1] and before and before[-1].seconds:
        growth = max(10.0, before[-1].seconds / before[-2].seconds) if len(before) > 1 and before[-2].seconds else 10.0
        steps = round(math.log10(digits / before[-1].digits))
        if (expected := before[-1].seconds * growth**steps) > MAX_SECONDS:
            cell.skipped = f"would take about {expected:,.0f} s"
    return cell


def _time(way: Method, cell: Cell, x: str, y: str, expected: str) -> None:
    first = cell.seconds is None
    if first:
        way.prepare(x, y)
    before = _peak(reset=True) if first and cell.digits >= WEIGHED_FROM else None
    ends = time.perf_counter() + TURN_SECONDS
    while True:
        began = time.perf_counter()
        answer = way.add(x, y)
        seconds = time.perf_counter() - began
        if cell.seconds is None or seconds < cell.seconds:
            cell.seconds, cell.per_digit = seconds, seconds / (cell.digits * way.sums) * 1e9
        if time.perf_counter() > ends:
            break
    if before is not None and (after := _peak()) is not None:
        cell.megabytes = round(max(0.0, after - before), 1)
    if way.found is not None:
        cell.right = way.found(answer) == expected and cell.right is not False


def _peak(reset: bool = False) -> float | None:
    """Return the largest memory that this process has had, in megabytes, since the last reset; None where unknown."""
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
    packages = ("alga", "torch", "numpy", "numba", "gmpy2")
    return {
        "platform": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in packages if _installed(name)},
    }


def _installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True
