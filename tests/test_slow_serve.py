"""Slow: the server under strangers' requests, under slow and oversize ones, and under fifty clients at once."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from alga.calculator import load
from tests.conftest import held

pytestmark = [pytest.mark.slow, pytest.mark.alone]


@contextmanager
def running(*options: str) -> Iterator[tuple[str, int]]:
    """Run `alga serve` as a process; give its address and process id."""
    command = [sys.executable, "-m", "alga", "serve", "--no-open", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip().rstrip("/"), process.pid
        finally:
            process.terminate()


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
            slow_body = b"POST /v1/add HTTP/1.1\r\nhost: x\r\ncontent-length: 90\r\n\r\n{"
            connection.sendall(slow_body if i % 2 else b"GET / HTTP/1.1\r\nhost: x\r\nx: ")
        ended = time.monotonic() + 3
        served = 0
        with httpx.Client(base_url=address, timeout=10) as client:
            while time.monotonic() < ended:
                assert client.post("/v1/add", json={"operands": ["999", "1"]}).json()["answer"] == "1000"
                served += 1
                large = client.post("/v1/add", content=b"9" * 2_000_000)
                assert (large.status_code, "bytes" in large.json()["error"]) == (413, True)
                assert client.post("/v1/add", content=b"{]").status_code == 422
        assert served > 20
        for connection in loris:
            connection.settimeout(10)
            assert connection.recv(4096).startswith(b"HTTP/1.1 408")
            connection.close()


def test_fifty_clients_for_half_a_minute_get_right_answers_only() -> None:
    oracle = load().task.answer
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
        before = held(pid)
        for thread in threads:
            thread.join()
        after = held(pid)
    assert wrong == []
    assert min(counts) > 0
    print(f"{sum(counts):,} answers, {before:,} kB after 10 s, {after:,} kB after 30 s")  # noqa: T201
    assert 0 < after < before * 1.05
