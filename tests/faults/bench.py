"""The harness's folder, reference results of undisturbed commands, and what "nothing lost" means."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

from alga import runs
from alga.base import files
from alga.base.folders import UNFINISHED
from alga.runs import CHECKPOINT, checksums, config
from tests.faults.commands import Command

TRAIN = ("train", "--recipe", "small", "--task", "comparison", "--seed", "1", "--threads", "1", "--device", "cpu")
PLAN = """
recipe = "small"
task = "parity"
seeds = 2
[grid]
batch_size = [16, 32]
steps = 60
"""
DIGITS = 40_000_000
KNOWN = {*checksums.SEALED, checksums.CHECKSUMS, CHECKPOINT, files.LOCK, "curves.png", "curves.svg"}
LINES = {"metrics.jsonl"}


@dataclass(frozen=True)
class Fault:
    """One kind of fault: how it is injected, how often, and what must hold afterwards."""

    kind: str
    during: str
    promise: str
    count: int
    cut: int  # in the short version
    seconds: float  # per fault, roughly; for the time left
    inject: Callable[[Bench, Random], int]  # one round: returns the number injected, raises AssertionError on a loss
    part: str = ""  # which part it hits, if it goes part by part

    @property
    def name(self) -> str:
        """Its name in the harness's files."""
        return f"{self.kind}, {self.during} {self.part}".rstrip()


class Bench:
    """A folder with reference results of undisturbed commands, made on first use and cached."""

    def __init__(self, folder: Path, mounts: bool) -> None:
        self.folder, self.mounts = folder, mounts
        self._started = 0
        (folder / "logs").mkdir(parents=True, exist_ok=True)

    def run(self, *arguments: object, warm: bool = True, cwd: Path | None = None) -> Command:
        """Start a command."""
        self._started += 1  # children of a killed command may still write to its log
        return Command(*arguments, log=self.folder / "logs" / f"{self._started % 100}", warm=warm, cwd=cwd)

    def fresh(self, name: str = "work") -> Path:
        """Return a new empty folder."""
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder

    def _reference(self, name: str, make: Callable[[Path], None]) -> Path:
        folder = self.folder / f"reference-{name}"
        if not folder.exists():
            make(begun := self.fresh("reference"))
            begun.rename(folder)
        return folder

    @cached_property
    def trained(self) -> Path:
        """An undisturbed run, made by the real command."""

        def make(folder: Path) -> None:
            assert self.run(*TRAIN, "--out", folder / "run", warm=False).wait() == 0

        return self._reference("trained", make) / "run"

    @cached_property
    def unfinished(self) -> Path:
        """A run stopped midway by a signal."""

        def make(folder: Path) -> None:
            command = self.run(*TRAIN, "--out", folder / "run")
            while len(lines(folder / "run" / "metrics.jsonl")) < 8:
                assert command.poll() is None, command.err
                time.sleep(0.01)
            command.strike(2)
            assert command.wait() == 130
            whole(folder / "run")
            assert (folder / "run" / CHECKPOINT).exists()

        return self._reference("unfinished", make) / "run"

    @cached_property
    def swept(self) -> Path:
        """A folder with a plan and the results of an undisturbed sweep."""

        def make(folder: Path) -> None:
            (folder / "plan.toml").write_text(PLAN)
            assert self.run("lab", "sweep", folder / "plan.toml", "--workers", 2, warm=False).wait() in {0, 1}

        return self._reference("swept", make)

    @cached_property
    def numbers(self) -> Path:
        """A folder with two large numbers and their sum by exact arithmetic."""

        def make(folder: Path) -> None:
            as_digits = bytes(ord("0") + i % 10 for i in range(256))
            for name in "ab":
                (folder / name).write_bytes(b"7" + Random(name).randbytes(DIGITS).translate(as_digits))
            exact = runs.load("addition").config.task.oracle(*((folder / name).read_text() for name in "ab"))
            (folder / "sum").write_text(f"{exact}\n")

        return self._reference("numbers", make)

    @cached_property
    def exported(self) -> dict[str, bytes]:
        """The files of undisturbed exports, by name."""

        def make(folder: Path) -> None:
            for name, arguments in EXPORTS.items():
                assert self.run("export", folder / name, *arguments, warm=False).wait() == 0

        folder = self._reference("exported", make)
        return {name: (folder / name).read_bytes() for name in EXPORTS}

    def seconds(self, name: str, *arguments: object) -> float:
        """Return how long a warm command takes here, measured once."""
        path = self.folder / f"seconds-{name}"
        if not path.exists():
            self.fresh()
            began = time.monotonic()
            assert self.run(*arguments).wait() in {0, 1}
            path.write_text(f"{time.monotonic() - began}")
        return float(path.read_text())

    # --- finishing the work, and comparing ----------------------------------------------------------------------------

    def resume_command(self, run: Path) -> tuple[object, ...]:
        """Return the command that resumes a training, or starts it if nothing was started."""
        return ("train", "--resume", run) if (run / "config.json").exists() else (*TRAIN, "--out", run)

    def finish_training(self, run: Path) -> None:
        """Resume a training to its end; require the same bits as an undisturbed one."""
        if not ended(run):
            command = self.run(*self.resume_command(run))
            assert command.wait() == 0, command.err
        whole(run)
        same_run(run, self.trained)

    def finish_sweep(self, out: Path) -> None:
        """Resume a sweep to its end; require the results of an undisturbed one."""
        command = self.run("lab", "sweep", self.swept / "plan.toml", "--out", out, "--workers", 2)
        assert command.wait() in {0, 1}, command.err
        assert results(out) == results(self.swept / "plan.jsonl"), "the results are not those of an undisturbed sweep"
        clean(out.parent)


EXPORTS: dict[str, tuple[object, ...]] = {"table.json": (), "parity.onnx": ("--model", "parity")}


def ended(run: Path) -> bool:
    """Tell whether a training has finished and is fully written, so there is nothing to resume."""
    return (run / "certificate.json").exists() and not (run / CHECKPOINT).exists()


def whole(run: Path) -> None:
    """Require that a run which loads is right, and that the folder has no other files."""
    if not run.exists():
        return
    names = {path.name for path in run.iterdir()}
    strangers = {name for name in names if name not in KNOWN and not name.endswith((UNFINISHED, checksums.WAITING))}
    assert not strangers, f"the run folder holds {strangers}"
    if "config.json" in names:
        config.load(run)
    if checksums.CHECKSUMS in names:
        checksums.steady(run, checksums.Snapshot.check)
        assert {"config.json", "model.safetensors", "README.md"} <= names, "sealed, and not whole"
    if "certificate.json" in names:
        assert runs.load(run).certified
    elif "model.safetensors" in names:
        assert not runs.load(run).certified


def same_run(run: Path, other: Path) -> None:
    """Require that two finished runs are equal apart from times, with no leftover files."""
    expected = {path.name for path in other.iterdir()}
    assert {path.name for path in run.iterdir()} == expected, "other files than an undisturbed run"
    for name in ("model.safetensors", "table.json", "certificate.json", "config.json", "README.md"):
        assert (run / name).read_bytes() == (other / name).read_bytes(), f"{name} differs from an undisturbed run's"
    assert [untimed(line) for line in lines(run / "metrics.jsonl")] == [
        untimed(line) for line in lines(other / "metrics.jsonl")
    ], "metrics.jsonl differs from an undisturbed run's"


def lines(path: Path) -> list[str]:
    """Return a file's lines; none if it does not exist."""
    return path.read_text().splitlines() if path.exists() else []


def untimed(line: str) -> dict[str, Any]:
    """Return a line of JSON without measured times."""
    return {key: value for key, value in json.loads(line).items() if key not in {"seconds", "all_seconds"}}


def results(path: Path) -> dict[str, Any]:
    """Return a sweep's results by settings, without measured times; each must occur once."""
    rows = [json.loads(line) for line in lines(path)]
    named = {json.dumps(row["settings"], sort_keys=True): untimed(json.dumps(row["result"])) for row in rows}
    assert len(named) == len(rows), "a run is there twice"
    return named


def clean(folder: Path) -> None:
    """Require that no half-written file and no lock is left."""
    left = [path.name for path in folder.iterdir() if path.name.endswith((UNFINISHED, checksums.WAITING, files.LOCK))]
    assert not left, f"left over: {left}"


def copied(run: Path, to: Path) -> Path:
    """Return a copy of a run."""
    return Path(shutil.copytree(run, to))
