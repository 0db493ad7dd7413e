"""Full disks and read-only folders, on small file systems of the harness.

They are mounted in a mount namespace (`unshare`): invisible to others, and gone when the harness ends.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.faults.bench import EXPORTS, TRAIN, Bench, Fault, clean, copied, lines, results, whole
from tests.faults.kills import content

PAGE = 4096


@contextlib.contextmanager
def small_disk(bench: Bench, size: int) -> Iterator[Path]:
    """Yield a folder on a file system of this many bytes."""
    folder = bench.fresh("disk")
    _mount("-t", "tmpfs", "-o", f"size={size // PAGE * PAGE}", "faults", folder)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def grow(folder: Path) -> None:
    """Make a small disk large enough."""
    _mount("-o", "remount,size=256m", folder)


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Make a folder read-only, even for root."""
    _mount("--bind", folder, folder)
    try:
        _mount("-o", "remount,bind,ro", folder)
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def _mount(*arguments: object) -> None:
    subprocess.run(["mount", *map(str, arguments)], check=True)


def refused(command: object, reason: str) -> None:
    """Require exit code 2 and one line with the reason."""
    code, said = command.wait(), command.said  # type: ignore[attr-defined]
    assert code == 2, f"exit code {code}: {said}"
    assert len(said) == 1, f"expected one line, got {said}"
    assert reason in said[0], f"expected {reason!r}, got {said[0]!r}"


FULL = "no space left on device"


def full_training(bench: Bench, rng: Random) -> int:
    """Train on a disk that is too small; make room and resume."""
    used = sum(-(-path.stat().st_size // PAGE) * PAGE for path in bench.trained.iterdir())
    with small_disk(bench, rng.randint(2, used // PAGE) * PAGE) as disk:
        command = bench.run(*TRAIN, "--out", disk / "run")
        if command.wait() == 0:
            whole(disk / "run")
            return 0
        refused(command, FULL)
        whole(disk / "run")
        grow(disk)
        bench.finish_training(disk / "run")
    return 1


def full_sweep(bench: Bench, rng: Random) -> int:
    """Sweep onto a disk that is too small for the results."""
    with small_disk(bench, 64 * PAGE) as disk:
        out = disk / "out.jsonl"
        some = "\n".join(lines(bench.swept / "plan.jsonl")[: rng.randint(0, 2)])
        if some:
            # Then pad with spaces almost to the end of the page, so that the next line is cut short.
            out.write_text(f"{some.ljust(-(-len(some) // PAGE) * PAGE - rng.randint(1, 300))}\n")
        with (disk / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
            while True:
                filler.write(bytes(PAGE))
        command = bench.run("lab", "sweep", bench.swept / "plan.toml", "--out", out, "--workers", 2)
        refused(command, FULL)
        grow(disk)
        bench.finish_sweep(out)
    return 1


def full_export(bench: Bench, rng: Random) -> int:
    """Export onto a disk that is too small for the file."""
    name = "table.json"
    return _full_file(bench, rng, ("export", *EXPORTS[name]), name, bench.exported[name])


def full_addition(bench: Bench, rng: Random) -> int:
    """Add from files to a file on a disk that is too small for the sum."""
    add = ("add", f"@{bench.numbers / 'a'}", f"@{bench.numbers / 'b'}", "--out")
    return _full_file(bench, rng, add, "sum", (bench.numbers / "sum").read_bytes())


def _full_file(bench: Bench, rng: Random, arguments: tuple[object, ...], name: str, expected: bytes) -> int:
    before = rng.choice((None, b"an older file\n"))
    with small_disk(bench, rng.randint(1, (len(expected) - 1) // PAGE) * PAGE) as disk:
        if before is not None:
            (disk / name).write_bytes(before)
        refused(bench.run(*arguments, disk / name), FULL)
        assert content(disk / name) == before, "half a file looks whole"
        clean(disk)
        grow(disk)
        assert bench.run(*arguments, disk / name).wait() == 0
        assert content(disk / name) == expected
        clean(disk)
    return 1


def cannot_write(bench: Bench, rng: Random) -> int:
    """Try each kind of write in a read-only folder; then use what is there."""
    folder = bench.fresh()
    copied(bench.unfinished, folder / "unfinished")
    copied(bench.trained, folder / "run")
    shutil.copy(bench.swept / "plan.jsonl", folder / "swept.jsonl")
    add = ("add", f"@{bench.numbers / 'a'}", f"@{bench.numbers / 'b'}", "--out")
    commands: tuple[tuple[object, ...], ...] = (
        (*TRAIN, "--out", folder / "new"),
        ("train", "--resume", folder / "unfinished"),
        ("lab", "sweep", bench.swept / "plan.toml", "--out", folder / "new.jsonl", "--workers", 1),
        ("export", folder / "table.json"),
        (*add, folder / "sum"),
        ("certify", "parity", "--out", folder / "certificate"),
    )
    before = _everything(folder)
    with read_only(folder):
        for command in commands:
            refused(bench.run(*command), "read-only file system")
        assert _everything(folder) == before, "a read-only folder has changed"
        used = bench.run("cmp", "12", "7", "--model", folder / "run")
        assert (used.wait(), used.out) == (0, ">\n"), used.err
        assert bench.run("certify", folder / "run").wait() == 0
    bench.finish_training(folder / "unfinished")
    assert results(folder / "swept.jsonl") == results(bench.swept / "plan.jsonl")
    return len(commands)


def _everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


LINE = "exit code 2, one line; nothing half-written; with room made, "
FAULTS = (
    Fault("disk full", "training", f"{LINE}it goes on to the bits of an undisturbed run", 10, 1, 12, full_training),
    Fault("disk full", "sweep", f"{LINE}it goes on to an undisturbed sweep's results", 2, 1, 60, full_sweep),
    Fault("disk full", "export", f"{LINE}the same command writes the file", 12, 1, 2, full_export),
    Fault("disk full", "addition from files to a file", f"{LINE}the same command writes it", 12, 1, 3, full_addition),
    Fault(
        "read-only folder",
        "training, resuming, sweep, export, addition, certificate",
        "exit code 2, one line; the folder is unchanged, and a run in it can be used",
        18, 6, 6, cannot_write,
    ),
)  # fmt: skip
