"""Clients that disconnect, never read or stay idle do not block the server for others."""

from __future__ import annotations

import socket
import struct
import time
from contextlib import ExitStack

import httpx
import pytest

from alga.serve import middleware, server
from alga.serve.limits import Limits
from tests.serving import LONG_SUM, PAPER, PRODUCT, SOON, connected, post, read_to_end, serving, until


def test_work_ends_when_the_client_disconnects() -> None:
    with serving(Limits(concurrent=1, waiting=0, seconds=3000, digits=10**6)) as address:

        def status() -> int:
            return httpx.post(f"{address}/v1/add", json=LONG_SUM, timeout=SOON).status_code

        with connected(address) as raw:
            raw.sendall(post("/v1/mul", PRODUCT))
            until(lambda: status() == 503)
        until(lambda: status() == 200)


def test_leaving_the_queue_makes_room(asked: list[int]) -> None:
    with serving(Limits(concurrent=1, waiting=8, seconds=3000, digits=10**6)) as address, ExitStack() as stack:
        stack.enter_context(connected(address)).sendall(post("/v1/mul", PRODUCT))

        def waits() -> bool:
            with connected(address) as raw:
                raw.settimeout(0.2)
                raw.sendall(post("/v1/add", LONG_SUM))
                try:
                    return not raw.recv(1)  # a full queue refuses at once
                except TimeoutError:
                    return True

        with connected(address) as waiting:
            waiting.sendall(post("/v1/mul", PRODUCT))
            until(lambda: len(asked) == 2)
            assert not waits()
        until(waits)


@pytest.mark.slow
def test_140_clients_that_never_read_do_not_block_the_server() -> None:
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
            read_to_end(raw)  # which ends


@pytest.mark.slow
def test_response_that_is_never_read_is_dropped() -> None:
    asked = 150
    with serving(Limits(seconds=1)) as address, connected(address) as raw:
        httpx.get(f"{address}/v1/domain", timeout=SOON)
        raw.sendall(b"GET /v1/domain HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n" * asked)  # 30 MB of answers
        time.sleep(2.5)
        assert read_to_end(raw).count(b"HTTP/1.1 200") < asked


def test_longest_idle_connection_is_closed_first() -> None:
    with serving(Limits(connections=8)) as address, ExitStack() as stack:
        idle = []
        for _ in range(8):
            idle.append(stack.enter_context(connected(address)))
            idle[-1].sendall(b"GET / HTTP/1.1\r\nx-slow: ")
            time.sleep(0.02)
        assert httpx.post(f"{address}/v1/add", json=PAPER, timeout=SOON).json()["answer"] == "74550"
        assert read_to_end(idle[0]) == b""
        idle[-1].setblocking(False)
        with pytest.raises(BlockingIOError):
            idle[-1].recv(1)


def test_recently_served_connection_is_not_closed_first() -> None:
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
        assert [read_to_end(raw) for raw in silent[:4]] == [b""] * 4
        assert served()


def test_connections_with_work_in_progress_stay_open(asked: list[int]) -> None:
    with serving(Limits(connections=2, seconds=3000, digits=10**6)) as address, ExitStack() as stack:
        products = [stack.enter_context(connected(address)) for _ in range(2)]
        for raw in products:
            raw.sendall(post("/v1/mul", PRODUCT))

        def turned_away() -> bool:
            with connected(address) as raw:
                return read_to_end(raw).startswith(b"HTTP/1.1 503")

        until(lambda: len(asked) == 2)
        assert turned_away()
        for raw in products:
            raw.setblocking(False)
            with pytest.raises(BlockingIOError):
                raw.recv(1)


@pytest.mark.slow
def test_server_shuts_down_quietly_with_requests_in_progress(
    asked: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    with ExitStack() as stack:
        with serving(Limits(seconds=3000, digits=10**6)) as address:
            for sent in (post("/v1/mul", PRODUCT), post("/v1/mul", PRODUCT), post("/v1/add", PAPER)[:-1]):
                stack.enter_context(connected(address)).sendall(sent)
            until(lambda: len(asked) == 2)
        assert caplog.records == []


def test_disconnects_during_a_response_do_not_fill_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(middleware, "PIECE", 1000)
    with serving() as address:
        httpx.get(f"{address}/v1/domain", timeout=SOON)
        for i in range(60):
            with connected(address) as raw:
                raw.sendall(b"GET /v1/domain HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
                raw.recv(1)
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close with a reset
                time.sleep(0.0001 * i)
    assert caplog.records == []


def test_responses_do_not_wait_for_acknowledgements() -> None:
    with server.listen("127.0.0.1", 0) as taken:
        assert taken.proto == socket.IPPROTO_TCP  # asyncio turns off Nagle's algorithm if this is set
