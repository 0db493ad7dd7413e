"""`make load`: honest and hostile clients on one server for ten minutes, then results and page."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import IO, Any

import httpx

from alga.base import files
from tests.conftest import memory_of
from tests.load.honest import Asked, visitors
from tests.reliability import machine, write

CLIENTS = 8
SAMPLE = 5.0  # seconds between memory samples


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--share", type=float, default=1.0, help="of the hostile clients")
    parser.add_argument("--results", type=Path, default=Path("results/load.json"))
    parser.add_argument("--faults", type=Path, default=Path("results/faults.json"), help="the rest of the page")
    parser.add_argument("--fuzz", type=Path, default=Path("results/fuzz.json"), help="likewise")
    parser.add_argument("--page", type=Path, default=Path("docs/reliability.md"))
    arguments = parser.parse_args()
    results = load(arguments.seconds, arguments.share)
    files.write(arguments.results, f"{json.dumps(results, indent=1)}\n".encode())
    write(arguments.page, arguments.faults, arguments.results, arguments.fuzz)
    shown = {key: results[key] for key in ("honest", "memory", "log", "wrong", "failures")}
    print(json.dumps(shown, indent=1))
    sys.exit(1 if results["wrong"] or results["log"]["lines"] or results["failures"] else 0)


def load(seconds: float, share: float = 1.0) -> dict[str, Any]:
    """Run a server under load; return the results."""
    command = [sys.executable, "-m", "alga", "serve", "--no-open", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        log: list[str] = []
        reading = threading.Thread(target=_read, args=(server.stderr, log))
        reading.start()
        try:
            address = server.stdout.readline().strip().rstrip("/")
            httpx.get(f"{address}/v1/models", timeout=60).raise_for_status()  # every network is loaded by then
            memory = [memory_of(server.pid)]
            attack = [sys.executable, "-m", "tests.load.hostile", address, str(seconds), str(share)]
            with subprocess.Popen(attack, stdout=subprocess.PIPE, text=True) as hostile:
                threads, told = visitors(address, CLIENTS, seconds)
                while any(thread.is_alive() for thread in threads):
                    time.sleep(min(SAMPLE, seconds / 10))
                    memory.append(memory_of(server.pid))
                heard = json.loads(hostile.communicate()[0])
        finally:
            server.terminate()
            server.wait()
            reading.join()
    unexpected = [line for line in log if line not in EXPECTED]
    return {
        "machine": machine(),
        "seconds": seconds,
        "share": share,
        "honest": {kind: _row(told, kind) for kind in sorted({asked.kind for asked in told})} | {"all": _row(told)},
        "hostile": heard,
        "memory": _memory(memory),
        "log": {"lines": len(unexpected), "first": unexpected[:20], "last": unexpected[-20:]},
        "wrong": _wrong(heard),
        "failures": [vars(asked) for asked in told if asked.wrong][:20],
    }


EXPECTED = ("Loading the network …", "Press Ctrl-C to stop.", "alga: stopped by SIGTERM")


def _read(stream: IO[str], log: list[str]) -> None:
    log.extend(line.rstrip("\n") for line in stream)


def _row(told: list[Asked], kind: str | None = None) -> dict[str, Any]:
    own = sorted(asked.seconds for asked in told if kind in (None, asked.kind))
    failed = sum(bool(asked.wrong) for asked in told if kind in (None, asked.kind))
    cuts = statistics.quantiles(own, n=20, method="inclusive") if len(own) > 1 else own * 19
    return {
        "asked": len(own),
        "failed": failed,
        "median": round(cuts[9], 4),
        "p95": round(cuts[18], 4),
        "worst": round(own[-1], 4),
    }


def _memory(samples: list[int]) -> dict[str, Any]:
    """Return memory in megabytes: at the start, at the end, at the peak, and at each tenth of the time."""
    in_mb = [round(kilobytes / 1024) for kilobytes in samples]
    tenths = [in_mb[round(i * (len(in_mb) - 1) / 10)] for i in range(11)]
    return {"start": in_mb[0], "end": in_mb[-1], "most": max(in_mb), "tenths": tenths}


def _wrong(heard: dict[str, dict[str, int]]) -> dict[str, int]:
    """Return responses that hostile clients must never get: server errors, and answers to other sites' pages."""
    counts: Counter[str] = Counter()
    for heard_of_one in heard.values():
        for status, count in heard_of_one.items():
            if status == "wrongly served" or (status.startswith("5") and status not in ("503", "504")):
                counts[status] += count
    return dict(counts)


if __name__ == "__main__":
    main()
