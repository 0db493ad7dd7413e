"""Hostile requests: anything gets one clear JSON line, and the next request is served."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alga.serve.limits import Limits
from tests.serving import serving

VERBS = ("add", "sub", "mul", "divmod", "cmp", "add/steps", "divmod/steps", "damage")
QUERIES = ("step", "domain", "certificate", "weights")
HELD: list[str] = []  # hypothesis does not work with function fixtures
OURS = re.compile(r"/(home|root|work|tmp|usr)\b|Traceback|\.py\b")

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=()), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
digits = st.text("0123456789-", max_size=6) | st.text(st.characters(exclude_categories=()), max_size=3)
fields = {
    "operands": st.lists(digits, max_size=4) | anything,
    "engine": st.sampled_from(["table", "sequential", "lookahead", None]) | anything,
    "model": st.sampled_from(["addition", "parity", "../addition", None]) | anything,
    "base": st.integers(0, 40) | anything,
    "amount": st.floats() | st.integers() | anything,
    "tensor": st.text(max_size=5) | anything,
    "index": st.integers() | anything,
}
problems = st.fixed_dictionaries({}, optional={**fields, "\ud800": anything}) | anything


@pytest.fixture(scope="module", autouse=True)
def server() -> Iterator[None]:
    with serving(Limits(seconds=30, digits=1000)) as address:
        HELD.append(address)
        yield
        assert httpx.post(f"{address}/v1/add", json={"operands": ["65785", "8765"]}).json()["answer"] == "74550"
    HELD.clear()


def sane(response: httpx.Response) -> None:
    """Require an answer, or a one-line JSON refusal that reveals nothing about this machine."""
    assert response.status_code in {200, 400, 404, 405, 413, 422}, response.text
    assert not OURS.search(response.text)
    if response.status_code != 200:
        said = response.json()
        assert list(said) == ["error"]
        assert len(response.text) < 2000


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(VERBS), problems)
def test_any_json_is_answered_or_refused(verb: str, problem: Any) -> None:
    content = json.dumps(problem).encode()
    sane(httpx.post(f"{HELD[0]}/v1/{verb}", content=content, headers={"content-type": "application/json"}, timeout=60))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(VERBS), st.binary(max_size=60), st.sampled_from(["application/json", "text/plain", "x", ""]))
def test_any_body_is_answered_or_refused(verb: str, content: bytes, kind: str) -> None:
    sane(httpx.post(f"{HELD[0]}/v1/{verb}", content=content, headers={"content-type": kind}, timeout=60))


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(QUERIES),
    st.dictionaries(
        st.sampled_from(["model", "prompt", "amount", "tensor", "index"]),
        st.text(max_size=8) | st.sampled_from(["addition", "15C77", "1e999", "nan", "-1", "9" * 400]),
    ),
)
def test_any_query_is_answered_or_refused(name: str, query: dict[str, str]) -> None:
    sane(httpx.get(f"{HELD[0]}/v1/{name}", params=query, timeout=60))


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=80), st.sampled_from([b"", b"GET ", b"POST /v1/add HTTP/1.1\r\n", b"GET /v1/step?prompt="]))
def test_any_bytes_are_answered_or_the_connection_is_closed(sent: bytes, begun: bytes) -> None:
    address = urlsplit(HELD[0])
    with socket.create_connection((address.hostname, address.port), timeout=60) as raw:
        raw.sendall(begun + sent + b"\r\n\r\n")
        raw.shutdown(socket.SHUT_WR)
        got = b""
        while piece := raw.recv(4096):
            got += piece
    assert re.match(rb"$|HTTP/1.1 [24]", got), got
    assert not OURS.search(got.decode(errors="replace"))


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 400_000,
        b'{"operands":' * 50_000,
        b'{"operands": ["1", "2"], "base": ' + b"9" * 500_000 + b"}",
        b'{"operands": [' + b'"1",' * 200_000 + b'"1"]}',
        b'{"operands": ["1", "2"], "base": 1e400}',
        b'{"amount": NaN}',
        b'{"operands": ["1", "2"], "operands": ["3", "4"]}',
    ],
    ids=["deep list", "deep object", "long integer", "many operands", "infinite", "nan", "twice"],
)
def test_json_that_grows_in_memory_is_refused_quickly(content: bytes) -> None:
    for verb in ("add", "damage"):
        response = httpx.post(
            f"{HELD[0]}/v1/{verb}", content=content, headers={"content-type": "application/json"}, timeout=60
        )
        sane(response)
        assert response.status_code != 200 or (verb == "add" and b'["3", "4"]' in content), response.text
