"""Shared fixtures: shipped, faulty and forged networks, the author's weights, the command line."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time

os.environ.setdefault("GOMP_SPINCOUNT", "10000")  # as on the command line, before torch is imported
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # likewise, before numpy is imported
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import hypothesis
import pytest
import torch

from alga import tasks
from alga.network.kinds import tokens_of
from alga.network.step import Decode, Step
from alga.runs import SHIPPED, Weights, checksums
from alga.runs.config import Recipe
from alga.solve.solver import Solver
from alga.tasks import Task

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell starts background jobs like this
    signal.signal(signal.SIGINT, signal.default_int_handler)  # so that commands started by tests receive Ctrl-C
hypothesis.settings.register_profile("alga", deadline=None)  # a busy machine may stall on any example
hypothesis.settings.load_profile("alga")
torch.set_num_threads(1)  # tests already use every core; more threads would contend
pytest_plugins = ["tests.browsing"]
ROOT = Path(__file__).parents[1]
REFERENCE = ROOT.parent / "shared" / "reference"


def skip_or_fail(what: str, why: str) -> NoReturn:
    """Skip a test that lacks something, or fail if ALGA_REQUIRE names it."""
    if what in os.environ.get("ALGA_REQUIRE", "").split(","):
        pytest.fail(f"ALGA_REQUIRE asks for {what}: {why}")
    pytest.skip(why)


@pytest.fixture(scope="session")
def reference() -> Path:
    """The author's published weights; not in this repository, so usually absent."""
    if not REFERENCE.is_dir():
        skip_or_fail("reference", "the author's weights are not here (they are not part of the repository)")
    return REFERENCE


def program(name: str, what: str = "") -> str:
    """Return the path of a program that `make test` does not install."""
    found = shutil.which(name)
    return found or skip_or_fail(what or name, f"NOT TESTED: there is no {name} here (apt-get install {name})")


@pytest.fixture(scope="session")
def chromium() -> str:
    """The system's Chromium."""
    return program("chromium", "browser")


def start(*command: object, **more: Any) -> subprocess.Popen[str]:
    """Start a Python module, such as `alga`, as a process."""
    python = [sys.executable, "-m", *map(str, command)]
    return subprocess.Popen(python, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def memory_of(pid: int, kind: str = "VmRSS") -> int:
    """Return the memory of a process in kilobytes, now or at its peak (VmHWM); 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(kind)), 0)


def wait_for(there: Callable[[], object], process: subprocess.Popen[str], seconds: float = 300) -> None:
    """Wait for a result while the process that makes it runs."""
    until = time.monotonic() + seconds
    while not there():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.05)


@contextmanager
def no_hang(seconds: float = 120) -> Iterator[None]:
    """Fail if something hangs; this does not test speed."""

    def ring(*_: object) -> NoReturn:
        pytest.fail(f"it still runs after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def adder() -> Solver:
    return Solver.load()


@pytest.fixture
def parity(tmp_path: Path) -> Path:
    """A copy of the smallest shipped network, for a test to damage."""
    return Path(shutil.copytree(SHIPPED / "parity", tmp_path / "parity"))


@pytest.fixture
def curves() -> None:
    """Enable training curves, which take longer to draw than a small training."""


@pytest.fixture(autouse=True)
def _without_curves(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "curves" not in request.fixturenames:
        monkeypatch.setattr("alga.training.metrics.draw", lambda folder, title: None)


@pytest.fixture
def faulty() -> Callable[..., Decode]:
    """Make a decoder that is right except on the given prompts."""

    def make(task: Task, faults: Mapping[str, str] = {}, margin: float = 9.0) -> Decode:
        tokens = tokens_of(task)

        def decode(prompts: Sequence[str]) -> list[Step]:
            texts = [faults[p] if p in faults else tokens.written(task.domain[p].output) for p in prompts]
            return [Step(p, text, tokens.output(text), margin) for p, text in zip(prompts, texts, strict=True)]

        return decode

    return make


@dataclass
class Result:
    code: int
    out: str
    err: str


Alga = Callable[..., Result]


@pytest.fixture
def alga(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Run the command line in this process, without the lines of progress that a busy machine would get."""
    from alga.base import progress_bar
    from alga.cli.app import main

    monkeypatch.setattr(progress_bar, "PLAIN_SECONDS", math.inf)

    def run(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["alga", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return Result(int(ended.value.code or 0), captured.out, captured.err)

    return run


def tiny(**changes: object) -> Recipe:
    """Return a recipe that learns parity in about a second."""
    settings: dict[str, object] = {
        "name": "tiny", "task": "parity", "batch_size": 16, "learning_rate": 1e-2, "steps": 400, "check_every": 10,
        "margin": 1.0, "second_type_share": 0.7, "contexts": "domain", "width": 8, "hidden": 16, "layers": 1,
        "dropout": 0.05,
    }  # fmt: skip
    return Recipe(**(settings | changes))  # type: ignore[arg-type]


ALL_TASKS = tasks.names()


@pytest.fixture(scope="module")
def forged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped adder with one weight changed so that 15838 + 9458 is wrong; all hashes match."""
    folder = Path(shutil.copytree(SHIPPED / "addition", tmp_path_factory.mktemp("forged") / "run"))
    calculator = Solver.load()
    with torch.no_grad():
        calculator.run.model.head.weight[7] = -calculator.run.model.head.weight[7]
    (folder / "model.safetensors").write_bytes(Weights.of(calculator.run.config, calculator.run.model).data)
    stated = json.loads((folder / "certificate.json").read_text())
    stated["sha256"] = calculator.run.sha256
    (folder / "certificate.json").write_text(json.dumps(stated))
    checksums.seal(folder)
    return folder
