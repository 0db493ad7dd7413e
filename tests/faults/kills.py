"""kill -9 at random moments."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from random import Random

from tests.faults.bench import EXPORTS, TRAIN, Bench, Fault, clean, ended, results, whole
from tests.faults.commands import Command, alive, children, moment

COLD = 0.1  # the share of kills that hit the real command, including start-up
WORKERS_END = 4.0  # seconds that workers may outlive their sweep


def training(bench: Bench, rng: Random) -> int:
    """Kill a training one to three times, then let it finish."""
    _ = bench.trained
    seconds = bench.seconds("train", *TRAIN, "--out", bench.folder / "work" / "run")
    run, kills = bench.fresh() / "run", 0
    for _ in range(rng.randint(1, 3)):
        if ended(run) or not _kill_during(bench, rng, bench.resume_command(run), seconds, run):
            break
        kills += 1
        whole(run)
    bench.finish_training(run)
    return kills


def _kill_during(
    bench: Bench, rng: Random, arguments: tuple[object, ...], seconds: float, watched: Path, **limit: int
) -> bool:
    """Run a command and kill it; return whether it was still running."""
    warm = rng.random() >= COLD
    strike = moment(rng, seconds if warm else 3 * seconds, watched, **limit)
    command = bench.run(*arguments, warm=warm)
    if not strike(command):
        assert command.wait() == 0, command.err
        return False
    command.strike(signal.SIGKILL)
    command.wait()
    return True


def sweep(bench: Bench, rng: Random) -> int:
    """Kill a sweep, or one of its processes, several times, then let it finish."""
    workers = rng.choice((1, 1, 2))
    plan, out, kills = bench.swept / "plan.toml", bench.fresh() / "out.jsonl", 0
    seconds = bench.seconds(
        "sweep", "lab", "sweep", plan, "--out", bench.folder / "work" / "timed.jsonl", "--workers", 2
    )
    bench.fresh()
    for _ in range(rng.randint(3, 6)):
        strike = moment(rng, seconds, out.parent, most=4)
        command = bench.run("lab", "sweep", plan, "--out", out, "--workers", workers)
        if strike(command):
            kills += 1
            _strike_sweep(command, rng)
        code = command.wait()
        assert code in {0, 1, -signal.SIGKILL}, f"exit code {code}: {command.err}"
        if code in {0, 1}:  # it had finished: start over
            assert results(out) == results(bench.swept / "plan.jsonl")
            out.unlink()
    bench.finish_sweep(out)
    return kills


def _strike_sweep(command: Command, rng: Random) -> None:
    """Kill a sweep and check that its workers end; or kill a worker or a helper process."""
    started = children(command.pid)
    if len(started) > 1 and rng.random() < 0.15:
        with contextlib.suppress(ProcessLookupError):
            os.kill(rng.choice(started), signal.SIGKILL)
        return
    command.strike(signal.SIGKILL)
    command.wait()
    until = time.monotonic() + WORKERS_END
    while alive(started) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(started), "workers outlive their sweep"


def export(bench: Bench, rng: Random) -> int:
    """Kill an export; the file must be the old or the new one, and the next export must write the new one."""
    name = "parity.onnx" if rng.random() < 0.3 else "table.json"
    return _to_file(bench, rng, f"export-{name}", ("export", bench.folder / "work" / name, *EXPORTS[name]), name)


def addition(bench: Bench, rng: Random) -> int:
    """Kill an addition from files to a file, likewise."""
    add = ("add", f"@{bench.numbers / 'a'}", f"@{bench.numbers / 'b'}", "--out", bench.folder / "work" / "sum")
    return _to_file(bench, rng, "add", add, "sum")


def _to_file(bench: Bench, rng: Random, kind: str, arguments: tuple[object, ...], name: str) -> int:
    expected = (bench.numbers / "sum").read_bytes() if name == "sum" else bench.exported[name]
    seconds = bench.seconds(kind, *arguments)
    path, kills = bench.fresh() / name, 0
    before = rng.choice((None, b"an older file\n"))
    if before is not None:
        path.write_bytes(before)
    for _ in range(rng.randint(1, 4)):
        if not _kill_during(bench, rng, arguments, seconds, path.parent, most=12 if name == "sum" else 3):
            break
        kills += 1
        assert content(path) in (before, expected), "half a file looks whole"
    command = bench.run(*arguments)
    assert command.wait() == 0, command.err
    assert content(path) == expected
    clean(path.parent)
    return kills


def content(path: Path) -> bytes | None:
    """Return the content of a file; None if it does not exist."""
    return path.read_bytes() if path.exists() else None


BITS = "goes on, and ends in the bits of an undisturbed run"
FILE = "the file is the old one or the whole new one; run again, it is the new one, and nothing is left over"
FAULTS = (
    Fault("kill -9", "training", BITS, 50, 4, 6, training),
    Fault("kill -9", "sweep", "workers end too; ends with an undisturbed sweep's results", 50, 3, 15, sweep),
    Fault("kill -9", "export", FILE, 50, 4, 4, export),
    Fault("kill -9", "addition from files to a file", FILE, 50, 4, 3, addition),
)
