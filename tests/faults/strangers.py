"""Links and pipes in place of a run's files; full disks and kills while a certificate is saved."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from random import Random

from alga import runs
from alga.runs import CHECKPOINT, checksums
from alga.training.metrics import CURVES
from tests.faults.bench import Bench, Fault, clean, copied, whole
from tests.faults.commands import moment
from tests.faults.disk import FULL, PAGE, grow, refused, small_disk

PROVEN = {0, 1}  # either exit code: whether float64 is proven does not matter here


def content_of(folder: Path) -> dict[str, bytes | str]:
    """Return a folder's content: bytes of files, targets of links, kinds of everything else."""
    return {
        path.name: str(path.readlink()) if path.is_symlink()
        else path.read_bytes() if path.is_file()
        else str(path.stat().st_mode)
        for path in sorted(folder.iterdir())
    }  # fmt: skip


def strength(run: Path) -> str:
    """Return the strength of a run's certificate; the run must be certified."""
    certificate = runs.load(run).certificate
    assert certificate is not None, "the certificate is lost"
    return certificate.strength


def full_certificate(bench: Bench, rng: Random) -> int:
    """Save a new certificate on a disk that is too small; make room and save again."""
    used = sum(-(-path.stat().st_size // PAGE) * PAGE for path in bench.trained.iterdir())
    with small_disk(bench, used + rng.randint(0, 4) * PAGE) as disk:
        run = copied(bench.trained, disk / "run")
        before = content_of(run)
        command = bench.run("certify", run, "--proof", "--save")
        if command.wait() in PROVEN:
            assert strength(run) == "proven"
            return 0
        refused(command, FULL)
        assert content_of(run) == before, "a full disk has changed the run"
        assert strength(run) == "checked"
        grow(disk)
        assert bench.run("certify", run, "--proof", "--save").wait() in PROVEN
        assert strength(run) == "proven"
        clean(run)
    return 1


def killed_certificate(bench: Bench, rng: Random) -> int:
    """Kill a command that saves a new certificate; the run must be the old or the new one."""
    _ = bench.trained
    keep = ("certify", bench.folder / "work" / "run", "--proof", "--save")
    timed = copied(bench.trained, bench.fresh("timed") / "run")
    seconds = bench.seconds("certify", "certify", timed, "--proof", "--save")
    run = copied(bench.trained, bench.fresh() / "run")
    command = bench.run(*keep)
    if not moment(rng, seconds, run, most=20)(command):
        return 0
    command.strike(signal.SIGKILL)
    command.wait()
    whole(run)
    assert strength(run) in {"checked", "proven"}
    assert bench.run(*keep).wait() in PROVEN
    assert strength(run) == "proven"
    clean(run)
    return 1


def links(bench: Bench, rng: Random) -> int:
    """Replace each file of a run with a link to a file elsewhere."""
    return sum(_exchanged(bench, name, run, command, "is a link") for name, run, command in _places(bench))


def pipes(bench: Bench, rng: Random) -> int:
    """Replace each file of a run with a pipe, on which a read would hang."""
    return sum(_exchanged(bench, name, run, command, "got a pipe") for name, run, command in _places(bench))


def _places(bench: Bench) -> Iterator[tuple[str, Path, tuple[object, ...]]]:
    """Yield each file of a run, with each of the commands that read or write it."""
    run = bench.folder / "work" / "run"
    for name in (*checksums.SEALED, checksums.CHECKSUMS):
        yield name, bench.trained, ("certify", run, "--save")
        yield name, bench.trained, ("cmp", "12", "7", "--model", run)
    for name in (*checksums.SEALED, checksums.CHECKSUMS, CHECKPOINT, *CURVES):
        yield name, bench.unfinished, ("train", "--resume", run)


def _exchanged(bench: Bench, name: str, from_run: Path, command: tuple[object, ...], reason: str) -> int:
    work = bench.fresh()
    run, outside = copied(from_run, work / "run"), work / "outside"
    outside.write_bytes((run / name).read_bytes() if (run / name).exists() else b"precious\n")
    held = outside.read_bytes()
    (run / name).unlink(missing_ok=True)
    if reason == "is a link":
        (run / name).symlink_to(outside)
    else:
        os.mkfifo(run / name)
    before = content_of(run)
    refused(bench.run(*command), reason)
    assert content_of(run) == before, f"{name}: the run has changed"
    assert outside.read_bytes() == held, f"{name}: a file outside of the run has changed"
    return 1


LINE = "exit code 2, one line; nothing in the run or outside of it is changed"
ALL = 2 * (len(checksums.SEALED) + 1) + len(checksums.SEALED) + 2 + len(CURVES)  # places and commands
KEEPING = "certificate that is kept (`certify --save`)"
FAULTS = (
    Fault("kill -9", KEEPING, "the run is the old one or the new one; run again, it is the new one", 50, 4, 4,
          killed_certificate),
    Fault("link", "every file of a run", LINE, ALL, ALL, 1, links),
    Fault("pipe", "every file of a run", LINE, ALL, ALL, 1, pipes),
)  # fmt: skip
ON_SMALL_DISKS = (
    Fault("disk full", KEEPING, "exit code 2, one line; the run is unchanged; with room made, the certificate is kept",
          12, 2, 4, full_certificate),
)  # fmt: skip
