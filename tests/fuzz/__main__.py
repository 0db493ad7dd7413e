"""Run atheris on one target for a while, and record the number of inputs and findings.

Each target runs in its own process (atheris ends the process that it runs in). A finding is kept as a file in the
folder; give it to `--replay` to see it again.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

MEMORY = 1024  # megabytes that reading may take in addition to torch
SECONDS_EACH = 20  # that one input may take
COMPILED = [
    "alga.network.compiled",
    "alga.network.forward",
    "alga.solve.engines.loop",
]  # numba cannot compile instrumented code; these read no files
MEMORY_DISK = Path("/dev/shm")  # a file there costs microseconds


def fuzz(name: str, folder: Path, seconds: int) -> None:
    """Run atheris on one target in this process; does not return."""
    import atheris

    with atheris.instrument_imports(include=["alga"], exclude=COMPILED):
        from tests.fuzz.targets import targets
    target = targets()[name]
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for i, seed in enumerate(target.seeds):
        (corpus / f"seed-{i}").write_bytes(seed)
    limits = [f"-max_total_time={seconds}", f"-timeout={SECONDS_EACH}", f"-rss_limit_mb={MEMORY + 700}"]
    longest = f"-max_len={max(map(len, target.seeds)) + 4096}"
    atheris.Setup([sys.argv[0], *limits, longest, f"-artifact_prefix={folder}/finding-", str(corpus)], target)
    atheris.Fuzz()


def campaign(names: list[str], folder: Path, seconds: int, results: Path | None) -> int:
    """Fuzz targets one after another; return 1 if there was a finding."""
    failed = False
    for name in names:
        row = _session(name, folder, seconds)
        failed |= bool(row["findings"] or row["exit"])
        print(json.dumps(row), flush=True)
        if results is not None:
            added(results, row)
    return 1 if failed else 0


def _session(name: str, folder: Path, seconds: int) -> dict[str, Any]:
    """Fuzz one target in its own process, in a RAM folder if the system has one."""
    own = folder / name.replace(" ", "-")
    own.mkdir(parents=True, exist_ok=True)
    before = set(own.glob("finding-*"))
    command = [sys.executable, "-m", "tests.fuzz", name, "--seconds", str(seconds), "--folder", str(own), "--here"]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK if MEMORY_DISK.is_dir() else None) as place:
        environment = {**os.environ, "TMPDIR": place, "OMP_NUM_THREADS": "1"}
        with (own / "log").open("w") as log:
            done = subprocess.run(command, stdout=log, stderr=log, check=False, env=environment)
    tried = re.findall(r"^#(\d+)\s", (own / "log").read_text(errors="replace"), re.MULTILINE)
    return {
        "target": name,
        "seconds": round(time.monotonic() - began),
        "inputs": int(tried[-1]) if tried else 0,
        "findings": len(set(own.glob("finding-*")) - before),
        "exit": done.returncode,
    }


def added(results: Path, row: dict[str, Any]) -> None:
    """Add a session, and its machine, to earlier results."""
    from tests.reliability import machine

    held = json.loads(results.read_text()) if results.exists() else {"targets": {}, "mended": []}
    total = held["targets"].setdefault(row["target"], {"seconds": 0, "inputs": 0, "findings": 0})
    for key in total:
        total[key] += row[key]
    results.write_text(json.dumps(held | {"machine": machine()}, indent=2) + "\n")


def main() -> int:
    """Read the arguments."""
    from tests.fuzz.targets import targets

    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help=f"some of: {', '.join(targets())} (default: all)")
    parser.add_argument("--seconds", type=int, default=60, help="for each target (default: 60)")
    parser.add_argument("--folder", type=Path, default=Path("runs/fuzz"), help="corpus, logs and findings")
    parser.add_argument("--results", type=Path, help="add what was done to this JSON")
    parser.add_argument("--page", type=Path, help="write the page again from these results and the committed ones")
    parser.add_argument("--replay", type=Path, help="read one finding again")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.replay is not None:
        targets()[given.targets[0]](given.replay.read_bytes())
        return 0
    ended = campaign(given.targets or list(targets()), given.folder, given.seconds, given.results)
    if given.page is not None and given.results is not None:
        from tests.reliability import write

        write(given.page, Path("results/faults.json"), Path("results/load.json"), given.results)
    return ended


if __name__ == "__main__":
    if "--here" in sys.argv:
        name, folder = sys.argv[1], Path(sys.argv[sys.argv.index("--folder") + 1])
        fuzz(name, folder, int(sys.argv[sys.argv.index("--seconds") + 1]))
    sys.exit(main())
