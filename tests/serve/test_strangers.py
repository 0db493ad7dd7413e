"""The server among strangers: other sites' pages, clients that never read or leave, long problems, many connections."""

from __future__ import annotations

import json
import resource
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from alga.base.errors import AlgaError
from alga.serve import limits, middleware, server
from alga.serve.cost import is_long
from alga.serve.limits import Deadline, Limits
from alga.serve.registry import ModelRegistry
from alga.serve.workers import WorkerPool
from tests.conftest import ROOT, Alga
from tests.serving import serving

PAPER = {"operands": ["65785", "8765"]}
PRODUCT = {"operands": ["7" * 200_000, "8" * 200_000]}  # takes about a minute
LONG_SUM = {"operands": ["7" * 2000, "9"], "engine": "sequential"}  # needs a thread for long problems, but not for long
SOON = 60.0  # seconds: a hang, on whatever machine


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with serving() as address, httpx.Client(base_url=address, timeout=SOON) as client:
        yield client


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that grows with every request that reaches the workers."""
    grown: list[int] = []
    run = WorkerPool.run

    def counted(*given: Any, **more: Any) -> Any:
        grown.append(1)
        return run(*given, **more)

    monkeypatch.setattr(WorkerPool, "run", counted)
    return grown


def connected(address: str) -> socket.socket:
    """Return a connection with as little room for what is not read as can be."""
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.settimeout(SOON)
    raw.connect(("127.0.0.1", urlsplit(address).port))
    return raw


def post(path: str, content: object) -> bytes:
    body = json.dumps(content).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def all_that_comes(raw: socket.socket) -> bytes:
    """Read until the other side ends the connection, in whatever way."""
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


# --- other sites' pages -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "localhost.", "[", ""])
def test_foreign_host_is_refused(client: httpx.Client, host: str) -> None:
    refused(client.post("/v1/add", json=PAPER, headers={"host": host}), 403, "is not served here")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8765", "[::1]:8765"])
def test_this_machines_names_are_served(client: httpx.Client, host: str) -> None:
    assert client.post("/v1/add", json=PAPER, headers={"host": host}).json()["answer"] == "74550"


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost:8765", "["])
def test_foreign_origin_is_refused(client: httpx.Client, origin: str) -> None:
    refused(client.post("/v1/add", json=PAPER, headers={"origin": origin}), 403, "got the origin")


def test_own_origin_is_served(client: httpx.Client) -> None:
    own = str(client.base_url).rstrip("/")
    assert client.post("/v1/add", json=PAPER, headers={"origin": own}).json()["answer"] == "74550"


def test_allowed_hosts_are_served_behind_a_proxy_too() -> None:
    with serving(hosts=("Lab.example",)) as address, httpx.Client(base_url=address, timeout=SOON) as client:
        for headers in (
            {"host": "lab.example"},
            {"host": "lab.example:8080", "origin": "http://lab.example:8080"},
            {"origin": "https://lab.example"},  # the proxy has put our own host
        ):
            assert client.post("/v1/add", json=PAPER, headers=headers).json()["answer"] == "74550"
        refused(client.get("/", headers={"host": "other.example"}), 403, "'other.example' is not served here")
    with serving(hosts=("*",)) as address:
        assert httpx.get(f"{address}/healthz", headers={"host": "any.example"}).status_code == 200


# --- what is asked for ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/page.js", "/healthz", "/v1/certificate?model=parity", "/nothing"])
def test_head_answers_as_get_does_without_the_body(client: httpx.Client, path: str) -> None:
    whole, head = client.get(path), client.head(path)
    assert (head.status_code, head.content) == (whole.status_code, b"")
    assert head.headers["content-length"] == str(len(whole.content))
    assert client.head("/v1/add").status_code == 405


@pytest.mark.parametrize("seconds", ["nan", "inf", "-inf", "-1", "0"])
def test_seconds_that_are_no_time_are_refused(seconds: str, alga: Alga) -> None:
    with pytest.raises(AlgaError, match="the limit on seconds must be at least 1 and finite, got"):
        Limits(seconds=float(seconds))
    told = alga("serve", "--no-open", "--seconds", seconds)
    assert (told.code, told.err.count("\n")) == (2, 1)


def test_damage_to_a_large_network_is_refused_in_advance(client: httpx.Client) -> None:
    large = {"amount": 1.0, "model": "addition-of-three"}
    refused(client.post("/v1/damage", json=large), 413, "3,178,368,000 prompts × weights, up to 1,000,000,000")
    refused(client.get("/v1/step", params={"prompt": "111", **large}), 413, "too large to be damaged here")
    with serving(Limits(damage=1_000_000)) as address:
        refused(httpx.post(f"{address}/v1/damage", json={"amount": 1.0}, timeout=SOON), 413, "addition is too large")
        small = httpx.post(f"{address}/v1/damage", json={"amount": 1.0, "model": "comparison"}, timeout=SOON)
        assert small.status_code == 200


def test_more_connections_than_open_files_are_refused_in_one_line(alga: Alga, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (100, 100))
    told = alga("serve", "--no-open", "--connections", "160")
    assert (told.code, told.err.count("\n")) == (2, 1)
    assert "160 connections need 256 open files, and 100 are allowed here" in told.err


# --- long and short ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "lengths", "by_network", "long"),
    [
        ("add", (100_000, 100_000), False, False),
        ("add", (2000, 2), True, True),
        ("add", (30, 30, 30, 30), True, False),
        ("sub", (300, 300), True, False),
        ("mul", (100_000, 100_000), False, True),
        ("mul", (100_000, 1), False, True),
        ("mul", (20, 20), True, False),
        ("divmod", (2000, 1000), False, True),
        ("divmod", (100_000, 1), False, True),
        ("divmod", (20, 30), True, False),
    ],
)
def test_cost_is_told_from_lengths(verb: str, lengths: tuple[int, ...], by_network: bool, long: bool) -> None:
    assert is_long(verb, ["7" * length for length in lengths], 10, by_network=by_network) is long


def test_short_problems_do_not_wait_behind_long_products() -> None:
    with ExitStack() as stack:
        address = stack.enter_context(serving(Limits(seconds=3000, digits=10**6)))
        products = [stack.enter_context(connected(address)) for _ in range(6)]
        for raw in products:
            raw.sendall(post("/v1/mul", PRODUCT))
        for _ in range(5):
            assert httpx.post(f"{address}/v1/add", json=PAPER, timeout=SOON).json()["answer"] == "74550"
            traced = httpx.post(f"{address}/v1/add/steps", json=PAPER, timeout=SOON)
            assert '"answer": "74550"' in traced.text
        for raw in products:
            raw.setblocking(False)
            with pytest.raises(BlockingIOError):
                raw.recv(1)


def test_work_lets_other_threads_have_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that computes and lets go for microseconds at a time keeps the event loop from ever getting in."""
    slept: list[float] = []
    monkeypatch.setattr(limits.time, "sleep", slept.append)
    monkeypatch.setattr(limits, "WORKED", -1.0)
    deadline = Deadline(60)
    deadline.check()
    deadline.check()
    assert slept == [limits.RESTED] * 2


def test_what_is_made_once_is_made_once_for_all_who_ask_meanwhile() -> None:
    registry, made, begun = ModelRegistry(), [], threading.Barrier(4)

    def ask() -> None:
        begun.wait()
        registry.cached("thing", "parity", lambda: time.sleep(0.1) or made.append(1))  # type: ignore[func-returns-value]

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]
    assert registry.is_cached("thing", "parity")


# --- clients that leave, or do nothing --------------------------------------------------------------------------------


def test_work_ends_when_the_client_of_a_plain_request_is_gone() -> None:
    with serving(Limits(concurrent=1, waiting=0, seconds=3000, digits=10**6)) as address:

        def status() -> int:
            return httpx.post(f"{address}/v1/add", json=LONG_SUM, timeout=SOON).status_code

        with connected(address) as raw:
            raw.sendall(post("/v1/mul", PRODUCT))
            until(lambda: status() == 503)
        until(lambda: status() == 200)


def test_who_waits_and_leaves_makes_room_for_others(asked: list[int]) -> None:
    with serving(Limits(concurrent=1, waiting=8, seconds=3000, digits=10**6)) as address, ExitStack() as stack:
        stack.enter_context(connected(address)).sendall(post("/v1/mul", PRODUCT))

        def waits() -> bool:
            with connected(address) as raw:
                raw.settimeout(0.2)
                raw.sendall(post("/v1/add", LONG_SUM))
                try:
                    return not raw.recv(1)  # who may not wait is told at once
                except TimeoutError:
                    return True

        with connected(address) as waiting:
            waiting.sendall(post("/v1/mul", PRODUCT))
            until(lambda: len(asked) == 2)
            assert not waits()
        until(waits)


def test_140_clients_that_never_read_do_not_make_it_unreachable() -> None:
    with serving(Limits(seconds=1)) as address, ExitStack() as stack:
        trace = post("/v1/add/steps", {"operands": ["7" * 20_000, "8" * 20_000]})
        deaf = [stack.enter_context(connected(address)) for _ in range(140)]
        for raw in deaf:
            raw.sendall(trace)
        for _ in range(10):
            assert httpx.post(f"{address}/v1/add", json=PAPER, timeout=SOON).json()["answer"] == "74550"
            assert httpx.get(f"{address}/", timeout=SOON).status_code == 200
        until(lambda: httpx.post(f"{address}/v1/add", json=LONG_SUM, timeout=SOON).status_code == 200)
        for raw in deaf:
            all_that_comes(raw)  # which ends


def test_an_answer_that_is_not_taken_is_given_up() -> None:
    asked = 150
    with serving(Limits(seconds=1)) as address, connected(address) as raw:
        httpx.get(f"{address}/v1/domain", timeout=SOON)
        raw.sendall(b"GET /v1/domain HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n" * asked)  # 30 MB of answers
        time.sleep(2.5)
        assert all_that_comes(raw).count(b"HTTP/1.1 200") < asked


def test_the_connection_that_was_idle_longest_makes_room() -> None:
    with serving(Limits(connections=8)) as address, ExitStack() as stack:
        idle = []
        for _ in range(8):
            idle.append(stack.enter_context(connected(address)))
            idle[-1].sendall(b"GET / HTTP/1.1\r\nx-slow: ")
            time.sleep(0.02)
        assert httpx.post(f"{address}/v1/add", json=PAPER, timeout=SOON).json()["answer"] == "74550"
        assert all_that_comes(idle[0]) == b""
        idle[-1].setblocking(False)
        with pytest.raises(BlockingIOError):
            idle[-1].recv(1)


def test_who_was_served_is_not_the_first_to_make_room() -> None:
    with serving(Limits(connections=4)) as address, ExitStack() as stack:
        client = stack.enter_context(connected(address))

        def served() -> bool:
            client.sendall(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
            got = b""
            while b'"ok":true' not in got and (piece := client.recv(4096)):
                got += piece
            return got.startswith(b"HTTP/1.1 200")

        assert served()
        silent = [stack.enter_context(connected(address)) for _ in range(8)]
        assert [all_that_comes(raw) for raw in silent[:4]] == [b""] * 4
        assert served()


def test_connections_that_are_worked_for_stay(asked: list[int]) -> None:
    with serving(Limits(connections=2, seconds=3000, digits=10**6)) as address, ExitStack() as stack:
        products = [stack.enter_context(connected(address)) for _ in range(2)]
        for raw in products:
            raw.sendall(post("/v1/mul", PRODUCT))

        def turned_away() -> bool:
            with connected(address) as raw:
                return all_that_comes(raw).startswith(b"HTTP/1.1 503")

        until(lambda: len(asked) == 2)
        assert turned_away()
        for raw in products:
            raw.setblocking(False)
            with pytest.raises(BlockingIOError):
                raw.recv(1)


def test_the_server_ends_without_a_word_on_what_was_under_way(
    asked: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    with ExitStack() as stack:
        with serving(Limits(seconds=3000, digits=10**6)) as address:
            for sent in (post("/v1/mul", PRODUCT), post("/v1/mul", PRODUCT), post("/v1/add", PAPER)[:-1]):
                stack.enter_context(connected(address)).sendall(sent)
            until(lambda: len(asked) == 2)
        assert caplog.records == []


def test_clients_that_leave_in_the_middle_of_an_answer_do_not_fill_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(middleware, "PIECE", 1000)
    with serving() as address:
        httpx.get(f"{address}/v1/domain", timeout=SOON)
        for i in range(60):
            with connected(address) as raw:
                raw.sendall(b"GET /v1/domain HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
                raw.recv(1)
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closed by a reset
                time.sleep(0.0001 * i)
    assert caplog.records == []


def test_answers_do_not_wait_for_acknowledgements() -> None:
    with server.listen("127.0.0.1", 0) as taken:
        assert taken.proto == socket.IPPROTO_TCP  # asyncio switches Nagle's algorithm off where this is said


def test_the_committed_load_is_ten_minutes_without_a_failure() -> None:
    results = json.loads((ROOT / "results" / "load.json").read_text())
    assert (results["seconds"], results["share"]) == (600, 1)
    assert (results["honest"]["all"]["failed"], results["wrong"], results["log"]["lines"]) == (0, {}, 0)
    warm, *rest = results["memory"]["tenths"][1:]
    assert rest[-1] < 1.05 * warm
