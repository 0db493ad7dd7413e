"""Shared by the server tests: a server in a thread on a free port, stopped when the test ends."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from alga.serve import server
from alga.serve.limits import Limits
from alga.serve.registry import ModelRegistry


@contextmanager
def serving(limits: Limits | None = None, models: tuple[str, ...] = (), hosts: tuple[str, ...] = ()) -> Iterator[str]:
    """Run a server; yield its address."""
    registry = ModelRegistry(models)
    taken = server.listen("127.0.0.1", 0)
    ready = threading.Event()
    running = server.server(registry, limits or Limits(), ready.set, "127.0.0.1", hosts)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [taken]}, daemon=True)
    thread.start()
    assert ready.wait(30)
    try:
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"
    finally:
        running.should_exit = True
        thread.join(10)
        taken.close()


@contextmanager
def running(*options: str, files: int = 1024, log: Path | None = None) -> Iterator[tuple[str, int]]:
    """Run `alga serve` as a process with a limit on open files; yield its address and process id."""
    command = [sys.executable, "-m", "alga", "serve", "--no-open", "--port", "0", *options]
    limited = ["bash", "-c", f'ulimit -n {files}; exec "$@"', "bash", *command]
    with ExitStack() as stack:
        err = stack.enter_context(log.open("w")) if log else None
        process = stack.enter_context(subprocess.Popen(limited, stdout=subprocess.PIPE, stderr=err, text=True))
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip().rstrip("/"), process.pid
        finally:
            process.terminate()


PAPER = {"operands": ["65785", "8765"]}
SOON = 60.0  # seconds: a hang on any machine


def connected(address: str) -> socket.socket:
    """Return a connection with the smallest possible receive buffer."""
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.settimeout(SOON)
    raw.connect(("127.0.0.1", urlsplit(address).port))
    return raw


def post(path: str, content: object) -> bytes:
    body = json.dumps(content).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def read_to_end(raw: socket.socket) -> bytes:
    """Read until the other side closes or resets the connection."""
    got = bytearray()
    with suppress(ConnectionError):
        while piece := raw.recv(2**16):
            got += piece
    return bytes(got)


def until(there: Callable[[], bool]) -> None:
    end = time.monotonic() + SOON
    while not there():
        assert time.monotonic() < end
        time.sleep(0.05)


def refused(response: httpx.Response, status: int, said: str) -> None:
    assert response.status_code == status, response.text
    assert list(response.json()) == ["error"]
    assert said in response.json()["error"]


def events(text: str) -> list[tuple[str, object]]:
    found = re.findall(r"event: (\w+)\ndata: (.*)\n\n", text)
    return [(name, json.loads(data)) for name, data in found]


PRODUCT = {"operands": ["7" * 50_000, "8" * 50_000], "engine": "sequential"}  # would take a day
LONG_SUM = {"operands": ["7" * 2000, "9"], "engine": "sequential"}  # counts as long, but ends soon
