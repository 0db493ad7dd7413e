"""Results -> docs/reliability.md."""

from __future__ import annotations

from textwrap import fill
from typing import Any


def page(results: dict[str, Any]) -> str:
    """Return the page."""
    injected = sum(row["injected"] for row in results["faults"])
    lost = sum(row["lost"] for row in results["faults"])
    rows = [
        f"| {row['fault']} | {row['during']} | {row['injected']:,} | {row['injected'] - row['lost']:,} "
        f"| {row['lost']:,} | {row['promise']} |"
        for row in results["faults"]
    ]
    machine = ", ".join(f"{key} {value}" for key, value in results["machine"].items())
    head = [HEAD, f"**{injected:,} faults injected, {injected - lost:,} survived, {lost:,} lost.** ({machine}.)"]
    if results["cut"]:
        head.append("\n*From a cut run, which shows that the harness works, and no more.*")
    if not results["mounts"]:
        head.append("\n*Full disks and read-only folders were not tried: no mount namespace could be had there.*")
    table = ["", "| fault | during | injected | survived | lost | survived means |", f"|{' --- |' * 6}"]
    notes = [f"\n{fill(note, 120)}" for note in results.get("notes", [])]  # about the run, added by hand
    return "\n".join([*head, *table, *rows, *notes, TAIL])


HEAD = """# What survives

Trainings take long, machines fail, and a file that is half there is worse than none. This page says what ALGA promises
about that, and shows it by doing the damage on purpose. The table is written by `make faults` from
`results/faults.json`; the harness is in `tests/faults`, and a short version of it is among the slow tests.

## What is promised

- **A file is whole or not there.** Everything is written to a hidden file beside its place, brought to disk, renamed.
  What a kill leaves of it ends in `.unfinished`, is never taken for the file, and is removed by its next writer. Lines
  that are added to a file (metrics, results of sweeps) are brought to disk one by one; half a line is cut off.
- **A training that was stopped goes on, to the same bits** (on a CPU, with the same threads and versions): weights,
  table, certificate and metrics, the measured seconds apart. The checkpoint has all that the next step depends on, and
  its own hash; it is saved every five seconds, so that is what a kill costs. If the kill comes while a finished run is
  being written, resuming only writes it.
- **A sweep that was stopped goes on**: each result is on disk when it is there, and is not computed again.
- **Ctrl-C and SIGTERM end the work in order**: a training finishes its step, saves, and says how it goes on; a sweep
  (and the lab, and the comparison) ends its workers; nothing half-written stays. One line, exit code 130 or 143.
- **One training per folder.** The second gets one line. The lock is the operating system's, so a kill -9 leaves none.
- **A run folder is sealed.** `SHA256SUMS` has the hash of every file in it but the drawn curves; a shipped network with
  one flipped bit anywhere, in the seal too, is refused. By hand: `sha256sum -c SHA256SUMS`. A seal shows damage, not
  forgery: who can write the folder can write a new seal.
- **A run changes at one moment.** New weights, table, certificate and card are first written beside the old ones; then
  the seal is replaced, and readers take what it names. Whoever loads the run meanwhile, or after a full disk or a kill,
  finds the old run or the new one, whole. What a kill left to be put in its place, the next writer puts there.
- **A full disk or a read-only folder** costs one line and exit code 2, never what was there before.
- **Hostile files are refused in one line**, in bounded time and memory, and no link in a run folder is followed: see
  [SECURITY.md](../SECURITY.md).

## What was done
"""

TAIL = """
How: *kill -9* comes half of the time at a random point in time, half of the time right after a random change in the
folder that is written to, one to six times in a row, before the work may come to its end and is compared with that of
an undisturbed command. One kill in ten of a training, an export or an addition strikes the command as people type it,
start-up and all; the others strike a fork of a process that has imported torch already, with a checkpoint every 0.2 s
instead of every 5, so that they meet the work and not the import. Sweeps start real workers, and about one kill in
seven strikes a worker or a helper process instead of the sweep. *Disk full* is a small tmpfs of a random size,
*read-only* a bind mount, both in a mount namespace of the harness's own, so root cannot write there either. *Links*
lead to a copy outside of the run, *pipes* have nobody at their other end; the commands are `certify --save`,
`train --resume` and one that only reads. *Bit flips* strike the first, the last and one byte in each of 24 parts of
every file. *Start of a command* begins when ALGA's first line has run: before it, for some 20 ms (80 were seen on a
busy machine), Python itself prints a traceback for Ctrl-C.

## What is not shown

- **Power cuts.** Files are brought to disk (`fsync`) before they are renamed; folders are not, so after a power cut a
  file may be its older self. Nobody pulled a plug.
- **Network file systems.** The lock and the renaming are the operating system's; on NFS they are as good as its own. A
  file system without locks is refused for trainings and sweeps.
- **Other systems.** Linux only; macOS has the same calls and was not tried, Windows has not.
- **GPUs**: a resumed training goes on there too, but its bits are not promised.
- **Memory that flips bits**, while a process runs: nothing here would notice.
"""
