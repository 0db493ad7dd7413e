"""SIGTERM, Ctrl-C during start-up, and two trainings in one folder."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from random import Random

from tests.faults.bench import EXPORTS, TRAIN, Bench, Fault, clean, copied, whole
from tests.faults.commands import Command, alive, children, moment
from tests.faults.disk import refused
from tests.faults.kills import WORKERS_END, content

TERMINATED, INTERRUPTED = 143, 130


def stopped(command: Command, code: int = TERMINATED) -> None:
    """Require a clean exit: the right exit code and at most one line."""
    ended = command.wait(60)
    assert ended == code, f"exit code {ended}: {command.err[-500:]}"
    assert "Traceback" not in command.err, command.err[-500:]
    assert len([line for line in command.said if not line.endswith("…")]) <= 1, command.err


def training(bench: Bench, rng: Random) -> int:
    """Stop a training; resume it."""
    _ = bench.trained
    seconds = bench.seconds("train", *TRAIN, "--out", bench.folder / "work" / "run")
    run = bench.fresh() / "run"
    command = bench.run(*TRAIN, "--out", run)
    if not moment(rng, seconds, run)(command):
        return 0
    command.strike(signal.SIGTERM)
    past_its_end = command.wait() == 0
    if not past_its_end:
        stopped(command)
        if (run / "metrics.jsonl").exists():
            assert f"alga train --resume {run}" in command.err, command.err
            assert (run / "SHA256SUMS").exists()
    whole(run)
    bench.finish_training(run)
    return int(not past_its_end)


def sweep(bench: Bench, rng: Random) -> int:
    """Stop a sweep; resume it."""
    plan, out = bench.swept / "plan.toml", bench.fresh() / "out.jsonl"
    command = bench.run("lab", "sweep", plan, "--out", out, "--workers", 2, warm=False)
    while not out.exists() and command.poll() is None:
        time.sleep(0.01)
    time.sleep(rng.uniform(0, 0.5))
    struck = _end_with_workers(command)
    bench.finish_sweep(out)
    return int(struck)


def _end_with_workers(command: Command) -> bool:
    """Stop a command and check that its workers end; False if it had already ended."""
    started = children(command.pid)
    if (code := command.poll()) is not None:
        assert code in {0, 1}, command.err
        return False
    command.strike(signal.SIGTERM)
    past_its_end = command.wait() in {0, 1}
    if not past_its_end:
        stopped(command)
    until = time.monotonic() + WORKERS_END
    while alive(started) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(started), "workers outlive the command"
    return not past_its_end


def studies(bench: Bench, rng: Random) -> int:
    """Stop the lab or the comparison; their files must contain only whole lines."""
    folder = bench.fresh()
    arguments: tuple[object, ...] = rng.choice(
        (
            ("lab", "study", "share", "--quick", "--out", folder, "--results", folder, "--workers", 2),
            ("lab", "compare", "reversed", "alga", "--setting", "quick", "--out", folder, "--workers", 2),
        )
    )
    command = bench.run(*arguments, warm=False)
    until = time.monotonic() + 60
    while not list(folder.glob("*.jsonl")) and command.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(rng.uniform(0, 1))
    struck = _end_with_workers(command)
    assert all(path.read_text().endswith("\n") for path in folder.glob("*.jsonl"))
    clean(folder)
    return int(struck)


def to_a_file(bench: Bench, rng: Random) -> int:
    """Stop an addition from files to a file, or an export."""
    add = ("add", f"@{bench.numbers / 'a'}", f"@{bench.numbers / 'b'}", "--out", bench.folder / "work" / "sum")
    export = ("export", bench.folder / "work" / "parity.onnx", *EXPORTS["parity.onnx"])
    kind, arguments, name = rng.choice((("add", add, "sum"), ("export-parity.onnx", export, "parity.onnx")))
    expected = (bench.numbers / "sum").read_bytes() if name == "sum" else bench.exported[name]
    seconds = bench.seconds(kind, *arguments)
    path = bench.fresh() / name
    path.write_bytes(b"an older file\n")
    command = bench.run(*arguments)
    if not moment(rng, seconds, path.parent, most=3)(command):
        return 0
    command.strike(signal.SIGTERM)
    past_its_end = command.wait() == 0
    if not past_its_end:
        stopped(command)
    assert content(path) in (b"an older file\n", expected), "half a file looks whole"
    clean(path.parent)
    return int(not past_its_end)


def starting(bench: Bench, rng: Random) -> int:
    """Press Ctrl-C while the command starts."""
    command = bench.run(*rng.choice((("add", "1", "2"), ("train", "--recipe", "none"), ("--help",))), warm=False)
    while not _begun(command.pid) and command.poll() is None:
        time.sleep(0.0005)
    time.sleep(rng.uniform(0, 0.6))
    if command.poll() is not None:
        return 0
    number, code = rng.choice(((signal.SIGINT, INTERRUPTED), (signal.SIGTERM, TERMINATED)))
    command.strike(number)
    at_its_end = command.wait() in {0, 2}
    if not at_its_end:
        stopped(command, code)
    assert "Traceback" not in command.err, command.err
    return int(not at_its_end)


def _begun(pid: int) -> bool:
    """Tell whether Python has started and reached ALGA; before that, ALGA cannot handle Ctrl-C."""
    try:
        handled = next(
            line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigCgt")
        )
    except (OSError, StopIteration):
        return False
    return bool(int(handled.split()[1], 16) >> (signal.SIGTERM - 1) & 1)  # alga handles SIGTERM, Python does not


def two_trainings(bench: Bench, rng: Random) -> int:
    """Start two trainings in one folder: at the same time, one after the other, or after the first was killed."""
    _ = bench.trained
    run = bench.fresh() / "run"
    way = rng.choice(("together", "second", "resumed", "killed"))
    if way == "resumed":
        copied(bench.unfinished, run)
    first = bench.run(*bench.resume_command(run))
    if way in {"second", "killed"}:
        while not (run / "metrics.jsonl").exists() and first.poll() is None:
            time.sleep(0.001)
    if way == "killed":
        first.strike(signal.SIGKILL)
        first.wait()
        bench.finish_training(run)
        return 1
    second = bench.run(*(bench.resume_command(run) if way == "resumed" else (*TRAIN, "--out", run)))
    if way != "second":
        codes = sorted((first.wait(), second.wait()))
        assert codes == [0, 2], f"exit codes {codes}: {first.err} {second.err}"
        loser = first if first.wait() == 2 else second
    else:
        loser = second
        assert first.wait() == 0, first.err
    refused(loser, "another process is writing to" if way == "resumed" else "")
    same = {"another process is writing to", "already holds a run"}
    assert any(reason in loser.said[0] for reason in same), loser.said
    bench.finish_training(run)
    return 1


ORDER = "exit code 143, at most one line, no traceback; "
FAULTS = (
    Fault("SIGTERM", "training", f"{ORDER}goes on, and ends in the bits of an undisturbed run", 12, 2, 8, training),
    Fault("SIGTERM", "sweep", f"{ORDER}no worker is left; ends with an undisturbed sweep's results", 3, 1, 40, sweep),
    Fault("SIGTERM", "lab, comparison", f"{ORDER}no worker is left, results are whole lines", 4, 1, 20, studies),
    Fault("SIGTERM", "addition from files to a file, export", f"{ORDER}nothing half-written", 20, 2, 3, to_a_file),
    Fault(
        "Ctrl-C or SIGTERM", "start of a command", "exit code 130 or 143, no traceback", 40, 4, 2, starting
    ),
    Fault(
        "two trainings", "one run folder",
        "one goes on undisturbed, the other ends with one line; after a kill -9 the folder is free",
        16, 3, 12, two_trainings,
    ),
)  # fmt: skip
