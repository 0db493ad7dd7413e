"""The server's limits; short problems do not wait behind long ones."""

from __future__ import annotations

import json
import resource
import threading
import time
from contextlib import ExitStack

import httpx
import pytest

from alga.base.errors import AlgaError
from alga.serve import limits
from alga.serve.limits import Deadline, Limits, is_long
from alga.serve.registry import ModelRegistry
from tests.conftest import ROOT, Alga
from tests.serving import PAPER, PRODUCT, SOON, connected, post, refused, serving

# --- requests ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/page.js", "/healthz", "/v1/certificate?model=parity", "/nothing"])
def test_head_matches_get_without_the_body(client: httpx.Client, path: str) -> None:
    whole, head = client.get(path), client.head(path)
    assert (head.status_code, head.content) == (whole.status_code, b"")
    assert head.headers["content-length"] == str(len(whole.content))
    assert client.head("/v1/add").status_code == 405


@pytest.mark.parametrize("seconds", ["nan", "inf", "-inf", "-1", "0"])
def test_invalid_seconds_are_refused(seconds: str, alga: Alga) -> None:
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


# --- long and short problems ------------------------------------------------------------------------------------------


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
def test_lengths_decide_which_problems_are_long(
    verb: str, lengths: tuple[int, ...], by_network: bool, long: bool
) -> None:
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


def test_work_yields_to_other_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that releases the GIL only for microseconds starves the event loop."""
    slept: list[float] = []
    monkeypatch.setattr(limits.time, "sleep", slept.append)
    monkeypatch.setattr(limits, "WORKED", -1.0)
    deadline = Deadline(60)
    deadline.check()
    deadline.check()
    assert slept == [limits.RESTED] * 2


def test_concurrent_requests_share_one_computation() -> None:
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


def test_committed_load_results_are_ten_minutes_without_failure() -> None:
    results = json.loads((ROOT / "results" / "load.json").read_text())
    assert (results["seconds"], results["share"]) == (600, 1)
    assert (results["honest"]["all"]["failed"], results["wrong"], results["log"]["lines"]) == (0, {}, 0)
    warm, *rest = results["memory"]["tenths"][1:]
    assert rest[-1] < 1.05 * warm
