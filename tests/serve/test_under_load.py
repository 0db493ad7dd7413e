"""Slow: the server under random, slow and oversized requests, and under fifty concurrent clients."""

from __future__ import annotations

import json
import random
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from alga.solve.solver import Solver
from tests.conftest import ROOT, memory_of
from tests.load.__main__ import EXPECTED
from tests.reliability import page
from tests.serving import running

pytestmark = [pytest.mark.slow, pytest.mark.alone]


def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    # Digits that the base does not have and division by zero are refused though the schema allows them: 422 is right.
    config = """
    [checks.positive_data_acceptance]
    expected-statuses = ["2xx", 404, 413, 422]
    """
    (tmp_path / "schemathesis.toml").write_text(config.replace("    ", ""))
    with running() as (address, _):
        tool = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(tmp_path / "schemathesis.toml")]
        command = [*tool, "run", f"{address}/openapi.json", "--max-examples", "25", "--seed", "1", "--no-color"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=600)
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
        assert httpx.post(f"{address}/v1/add", json={"operands": ["65785", "8765"]}).json()["answer"] == "74550"


def test_bad_requests_get_clear_errors_while_others_are_served() -> None:
    with running("--seconds", "2") as (address, _):
        port = urlsplit(address).port
        loris = [socket.create_connection(("127.0.0.1", port)) for _ in range(100)]
        for i, connection in enumerate(loris):
            slow_body = b"POST /v1/add HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 90\r\n\r\n{"
            connection.sendall(slow_body if i % 2 else b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx: ")
        with httpx.Client(base_url=address, timeout=10) as client:
            for _ in range(30):
                assert client.post("/v1/add", json={"operands": ["999", "1"]}).json()["answer"] == "1000"
                large = client.post("/v1/add", content=b"9" * 2_000_000)
                assert (large.status_code, "bytes" in large.json()["error"]) == (413, True)
                assert client.post("/v1/add", content=b"{]").status_code == 422
        for connection in loris:
            connection.settimeout(10)
            assert connection.recv(4096).startswith(b"HTTP/1.1 408")
            connection.close()


def test_fifty_clients_get_only_right_answers_for_half_a_minute() -> None:
    oracle = Solver.load().procedure.oracle
    wrong: list[object] = []
    counts = [0] * 50
    with running() as (address, pid):
        ended = time.monotonic() + 30

        def client(number: int) -> None:
            rng = random.Random(number)
            with httpx.Client(base_url=address, timeout=30) as session:
                while time.monotonic() < ended:
                    a, b = ("".join(rng.choices("0123456789", k=rng.randint(1, 300))) for _ in range(2))
                    engine = rng.choice([None, "table", "sequential", "lookahead"])
                    response = session.post("/v1/add", json={"operands": [a, b], "engine": engine})
                    if response.status_code != 200 or response.json()["answer"] != oracle(a, b):
                        wrong.append((response.status_code, engine, a, b, response.text[:200]))
                    counts[number] += 1
                    if number % 10 == 0:
                        steps = session.post("/v1/add/steps", json={"operands": [a, b]})
                        if f'"answer": "{oracle(a, b)}"' not in steps.text:
                            wrong.append(("steps", a, b, steps.text[-200:]))

        threads = [threading.Thread(target=client, args=(number,)) for number in range(50)]
        for thread in threads:
            thread.start()
        time.sleep(10)
        before = memory_of(pid)
        for thread in threads:
            thread.join()
        after = memory_of(pid)
    assert wrong == []
    assert min(counts) > 0
    print(f"{sum(counts):,} answers, {before:,} kB after 10 s, {after:,} kB after 30 s")  # noqa: T201
    assert 0 < after < before * 1.05


def test_memory_of_damaged_copies_is_released() -> None:
    with running() as (address, pid):
        codes: list[int] = []

        def damage(times: int) -> None:
            with httpx.Client(base_url=address, timeout=60) as client:
                codes.extend(client.post("/v1/damage", json={"amount": 2.0}).status_code for _ in range(times))

        damage(1)
        before = memory_of(pid)
        threads = [threading.Thread(target=damage, args=(8,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        after = memory_of(pid)
    print(f"{before:,} kB before, {after:,} kB after {codes.count(200)} damages")  # noqa: T201
    assert codes.count(200) > 8
    assert 0 < after < before + 100_000


def test_running_out_of_files_keeps_the_server_reachable(tmp_path: Path) -> None:
    with running(files=256, log=tmp_path / "log") as (address, _):
        port = urlsplit(address).port
        silent = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(500)]
        for _ in range(10):
            assert httpx.post(f"{address}/v1/add", json={"operands": ["999", "1"]}).json()["answer"] == "1000"
        for connection in silent:
            connection.close()
    assert set((tmp_path / "log").read_text().splitlines()) <= set(EXPECTED)


def test_short_load_run_serves_honest_clients(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.load", "--seconds", "15", "--results", tmp_path / "load.json"]
    command += ["--page", tmp_path / "page.md", "--fuzz", tmp_path / "none.json"]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    results = json.loads((tmp_path / "load.json").read_text())
    assert results["honest"]["all"]["asked"] > 20
    assert sum(heard["tried"] for heard in results["hostile"].values()) > 240
    faults = json.loads((ROOT / "results" / "faults.json").read_text())
    assert (tmp_path / "page.md").read_text() == page(faults, results)
    assert "From a cut run" in page(faults, results)
