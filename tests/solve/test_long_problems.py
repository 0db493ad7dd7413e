"""Slow: engines compared on thousands of problems, and files too large for memory."""

from __future__ import annotations

import filecmp
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from alga import runs, tasks
from alga.solve import evaluation
from alga.solve.calculator import Calculator
from alga.solve.solver import Solver
from tests.conftest import memory_of, wait_for

pytestmark = pytest.mark.slow

LARGE = 200_000_000  # digits


def test_all_engines_agree_on_thousands_of_hard_problems(adder: Solver) -> None:
    problems = [p.operands for p in evaluation.draw(adder.procedure, count=3000, max_digits=300, seed=1)]
    expected = [adder.procedure.oracle(*operands) for operands in problems]
    for engine in ("table", "sequential", "lookahead"):
        assert [answer.answer for answer in adder.solve_many(problems, engine=engine)] == expected


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two large numbers, a and b, and their sum by exact arithmetic."""
    folder, rng = tmp_path_factory.mktemp("large"), Random(0)
    as_digits = bytes(ord("0") + i % 10 for i in range(256))
    for name in "ab":
        with (folder / name).open("wb") as file:
            file.write(b"7")
            for _ in range(LARGE // 10**7):
                file.write(rng.randbytes(10**7).translate(as_digits))
    exact = tasks.find("addition").oracle(*((folder / name).read_text() for name in "ab"))
    (folder / "exact").write_text(f"{exact}\n")
    return folder


def command(folder: Path) -> list[str]:
    add = [f"@{folder / 'a'}", f"@{folder / 'b'}", "--out", str(folder / "sum")]
    return [sys.executable, "-m", "alga", "add", *add]


def test_large_files_are_added_in_bounded_memory(large: Path) -> None:
    process, peak = subprocess.Popen(command(large)), 0
    while process.poll() is None:
        peak = max(peak, memory_of(process.pid, "VmHWM"))
        time.sleep(0.02)
    assert process.returncode == 0
    assert 0 < peak < 300_000  # kilobytes
    assert filecmp.cmp(large / "sum", large / "exact", shallow=False)


def test_kill_midway_leaves_no_finished_looking_file(large: Path) -> None:
    (large / "sum").unlink(missing_ok=True)
    killed = 0
    for i in range(8):
        process = subprocess.Popen(command(large), text=True)
        before = {*large.glob(".sum.*")}
        wait_for(lambda before=before: {*large.glob(".sum.*")} - before, process)  # type: ignore[misc]
        time.sleep(0.05 * i)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if (large / "sum").exists():  # it had finished
            assert filecmp.cmp(large / "sum", large / "exact", shallow=False)
            (large / "sum").unlink()
        else:
            killed += 1
    assert killed >= 3
    for left in large.glob(".*.unfinished"):
        left.unlink()


@pytest.mark.parametrize("kind", ["random", "nines", "sparse"])
def test_large_products_and_quotients_are_exact(kind: str) -> None:
    rng = Random(kind)

    def number(digits: int) -> int:
        match kind:
            case "nines":
                return 10**digits - 1 - rng.randrange(3)
            case "sparse":
                return 10 ** (digits - 1) + rng.randrange(10)
            case _:
                return rng.randrange(10 ** (digits - 1), 10**digits)

    calculator = Calculator()
    a, b = number(1000), number(1000)
    assert calculator.mul(a, -b) == -a * b
    a, b = number(10_000), number(500)
    assert calculator.divmod(-a, b) == divmod(-a, b)


def test_every_shipped_network_can_be_recertified() -> None:
    command = [sys.executable, "-m", "alga", "certify", "--all"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    shipped = len(runs.shipped())
    assert f"{shipped} of {shipped} networks certified" in done.stdout
