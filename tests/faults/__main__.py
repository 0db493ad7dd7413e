"""`make faults`: inject every fault the requested number of times, then write results and page; can be resumed."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

# One thread per process, since the harness forks. Must be set before numpy and torch are imported.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
os.environ.setdefault("GOMP_SPINCOUNT", "10000")

ROUNDS_WITHOUT = 200  # in a row without a fault: the harness is broken
LARGEST_LOG = 2**26  # bytes
IN_NAMESPACE = "ALGA_FAULTS_IN_NAMESPACE"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("runs/faults"), help="where it works, and goes on")
    parser.add_argument("--results", type=Path, default=Path("results/faults.json"))
    parser.add_argument("--page", type=Path, default=Path("docs/reliability.md"))
    parser.add_argument("--load", type=Path, default=Path("results/load.json"), help="the rest of the page")
    parser.add_argument("--fuzz", type=Path, default=Path("results/fuzz.json"), help="likewise")
    parser.add_argument("--only", default="", help="only faults whose name contains this; writes no page")
    parser.add_argument("--cut", action="store_true", help="a few of each, in minutes")
    return parser.parse_args()


def main() -> None:
    arguments = _arguments()
    if IN_NAMESPACE not in os.environ:
        _enter_namespace()

    import matplotlib.pyplot  # noqa: F401 - what a command imports is imported once, here
    import onnxruntime  # noqa: F401
    import onnxscript  # noqa: F401

    import alga.cli.app
    import alga.export
    import alga.research.trials
    import alga.training.trainer  # noqa: F401 - forks begin with all of these loaded
    from alga.base import files
    from alga.base.errors import AlgaError
    from tests.faults import disk, flips, kills, signals, strangers
    from tests.faults.bench import Bench
    from tests.reliability import machine, write

    mounts = os.environ[IN_NAMESPACE] == "1"
    bench = Bench(arguments.folder.resolve(), mounts)
    faults = [*kills.FAULTS, *strangers.FAULTS, *signals.FAULTS, *flips.FAULTS]
    faults += [*disk.FAULTS, *strangers.ON_SMALL_DISKS] if mounts else []
    faults = [fault for fault in faults if arguments.only in fault.name and (fault.cut or not arguments.cut)]
    log = arguments.folder / "rounds.jsonl"
    rows = [json.loads(line) for line in files.whole_lines(log, LARGEST_LOG)]
    files.cut_half_line(log, b'{"fault": "')
    meter = _Meter(faults, rows, arguments.cut)
    for fault in faults:
        wanted, idle = fault.cut if arguments.cut else fault.count, 0
        while (done := sum(row["injected"] for row in rows if row["fault"] == fault.name)) < wanted:
            number = sum(row["fault"] == fault.name for row in rows)
            meter.tell(fault.name, done, wanted)
            began, lost = time.monotonic(), None
            try:
                injected = fault.inject(bench, Random(f"{fault.name} {number}"))
            except (AssertionError, AlgaError) as problem:
                injected, lost = 1, str(problem) or "a check failed"
                print(f"LOST: {fault.name}, round {number}: {lost}", file=sys.stderr, flush=True)
            row = {"fault": fault.name, "round": number, "injected": injected, "lost": lost}
            files.append(log, json.dumps(row | {"seconds": round(time.monotonic() - began, 2)}))
            rows.append(row)
            meter.add(fault, injected, time.monotonic() - began)
            idle = 0 if injected else idle + 1
            assert idle < ROUNDS_WITHOUT, f"{fault.name}: no round injects anything"
    if not arguments.only:
        content = {"machine": machine(), "cut": arguments.cut, "mounts": mounts, "faults": _table(faults, rows)}
        files.write(arguments.results, f"{json.dumps(content, indent=1)}\n".encode())
        write(arguments.page, arguments.results, arguments.load, arguments.fuzz)
    lost = [row for row in rows if row["lost"] and any(row["fault"] == fault.name for fault in faults)]
    print(f"{sum(row['injected'] for row in rows):,} faults injected, {len(lost)} lost", file=sys.stderr)
    sys.exit(1 if lost else 0)


def _enter_namespace() -> None:
    """Restart in a private mount namespace, where small disks can be mounted; without one if that fails."""
    for options in (["--mount"], ["--map-root-user", "--mount"]):
        enter = ["unshare", *options]
        try:
            tried = subprocess.run([*enter, "mount", "-t", "tmpfs", "faults", "/tmp"], capture_output=True, check=False)
        except FileNotFoundError:
            break
        if tried.returncode == 0:
            os.environ[IN_NAMESPACE] = "1"
            os.execvp("unshare", [*enter, sys.executable, "-m", "tests.faults", *sys.argv[1:]])
    os.environ[IN_NAMESPACE] = "0"
    os.execv(sys.executable, [sys.executable, "-m", "tests.faults", *sys.argv[1:]])


class _Meter:
    """Progress and estimated time left."""

    def __init__(self, faults: list[Any], rows: list[dict[str, Any]], cut: bool) -> None:
        self._left = {fault.name: (fault.cut if cut else fault.count) * fault.seconds for fault in faults}
        for fault in faults:
            done = sum(row["injected"] for row in rows if row["fault"] == fault.name)
            self._left[fault.name] = max(0.0, self._left[fault.name] - done * fault.seconds)
        self._expected = self._taken = 0.0

    def add(self, fault: Any, injected: int, seconds: float) -> None:
        self._left[fault.name] = max(0.0, self._left[fault.name] - injected * fault.seconds)
        self._expected += injected * fault.seconds
        self._taken += seconds

    def tell(self, name: str, done: int, wanted: int) -> None:
        pace = self._taken / self._expected if self._expected else 1.0
        minutes = pace * sum(self._left.values()) / 60
        print(f"{name}: {done:,} of {wanted:,}; about {minutes:.0f} min left", file=sys.stderr, flush=True)


def _table(faults: list[Any], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for each kind of fault: how many were injected, survived and lost."""
    table: dict[tuple[str, str], dict[str, Any]] = {}
    for fault in faults:
        own = [row for row in rows if row["fault"] == fault.name]
        entry = table.setdefault(
            (fault.kind, fault.during),
            {"fault": fault.kind, "during": fault.during, "promise": fault.promise, "injected": 0, "lost": 0},
        )
        entry["injected"] += sum(row["injected"] for row in own)
        entry["lost"] += sum(row["lost"] is not None for row in own)
    return list(table.values())


if __name__ == "__main__":
    main()
