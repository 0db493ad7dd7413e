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

Trainings take long, machines fail, and a half-written file is worse than none. This page states what ALGA guarantees,
and shows it by injecting faults on purpose. `make faults` writes the table from `results/faults.json`; the harness is
in `tests/faults`, and the slow tests run a short version of it.

## What is promised

- **A file is complete or absent.** Everything is written to a hidden temporary file in the same folder, flushed to disk
  and renamed. After a kill that file ends in `.unfinished`; it is never read, and the next writer removes it. Lines
  appended to a file (metrics, results of sweeps) are flushed one by one; an incomplete last line is dropped.
- **A stopped training resumes to the same bits** (on a CPU, with the same threads and versions): weights, table,
  certificate and metrics, except the measured seconds. The checkpoint has everything that the next step depends on, and
  its own hash; it is saved every five seconds, so a kill costs that much. If a finished run is killed while it is
  being written, resuming only writes it.
- **A stopped sweep resumes**: each result is on disk as soon as it is known, and is not computed again.
- **Ctrl-C and SIGTERM shut down cleanly**: a training finishes its step, saves, and prints how to resume; a sweep (and
  the lab, and the comparison) ends its workers; nothing half-written stays. One line, exit code 130 or 143.
- **One training per folder.** A second one is refused in one line. The lock is the operating system's, so kill -9
  releases it.
- **A run folder has checksums.** `SHA256SUMS` has the hash of every file in it except the drawn curves; a shipped
  network with one flipped bit anywhere, also in `SHA256SUMS` itself, is refused. `sha256sum -c SHA256SUMS`
  checks it by hand. Checksums show damage, not forgery: anyone who can write to the folder can write new ones.
- **A run changes atomically.** New weights, table, certificate and card are first written next to the old ones; then
  `SHA256SUMS` is replaced, and readers use the files it names. Anyone who loads the run meanwhile, or after a full disk
  or a kill, gets the complete old run or the complete new one. Files that a kill left unmoved are moved into place by
  the next writer.
- **A full disk or a read-only folder** gives one line and exit code 2; existing files stay intact.
- **Hostile files are refused in one line**, in bounded time and memory, and no link in a run folder is followed: see
  [SECURITY.md](../SECURITY.md).

## What was done
"""

TAIL = """
How: half of the *kill -9* come at a random time, half right after a random change in the output folder, one to six
times in a row; then the work runs to its end and is compared with that of an undisturbed command. One kill in ten of a
training, an export or an addition hits the real command, including start-up; the others hit a fork of a process that
has already imported torch, with a checkpoint every 0.2 s instead of every 5, so that they hit the work and not the
import. Sweeps start real workers, and about one kill in seven hits a worker or a helper process instead of the sweep.
*Disk full* is a small tmpfs of a random size, *read-only* a bind mount, both in a private mount namespace, so even root
cannot write there. *Links* point to a copy outside the run, *pipes* have no process at the other end; the commands are
`certify --save`, `train --resume` and one that only reads. *Bit flips* hit the first byte, the last byte and one byte
in each of 24 parts of every file. *Start of a command* begins when ALGA's first line has run: before that, for about
20 ms (80 ms on a busy machine), Python itself prints a traceback on Ctrl-C.

## What is not shown

- **Power cuts.** Files are flushed (`fsync`) before they are renamed; folders are not, so after a power cut a file may
  be the old version. This was not tested.
- **Network file systems.** Locks and renames are the operating system's, and on NFS only as good as NFS. Trainings and
  sweeps refuse a file system without locks.
- **Other systems.** Only Linux was tested; macOS has the same system calls, Windows does not.
- **GPUs**: a training resumes there too, but not necessarily to the same bits.
- **Bit flips in memory** while a process runs are not detected.
"""
