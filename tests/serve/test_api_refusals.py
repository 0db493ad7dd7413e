"""What the server refuses: one JSON line, a status, and time limits on work and requests."""

from __future__ import annotations

import json
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpx
import pytest

from alga.serve.limits import Limits, RefusedError, check_digits
from tests.serving import PAPER, events, serving

NO_NUMBERS = {
    "": "a number needs at least one digit, got the empty text",
    "+5": "a number has only the digits 0-9, got '+' at position 1",
    "٣": "a number has only the digits 0-9, got '٣' at position 1",
    "1.5": "a number has only the digits 0-9, got '.' at position 2",
    "1,234": "a number has only the digits 0-9, got ',' at position 2",
    "12 345": "a number has only the digits 0-9, got ' ' at position 3",
    "-": "a number needs at least one digit, got the empty text",
    "--5": "a number has only the digits 0-9, got '-' at position 2",
    "-1.5": "a number has only the digits 0-9, got '.' at position 3",
}


@pytest.mark.parametrize("text", NO_NUMBERS)
@pytest.mark.parametrize("verb", ["add", "sub", "mul", "divmod", "cmp"])
def test_invalid_number_is_refused_with_a_clear_message(client: httpx.Client, verb: str, text: str) -> None:
    asked = [({"operands": ["-7", text]}, ""), ({"operands": [text, "7"]}, "/steps")]
    asked += [({"operands": [text, "7"], "engine": engine}, "") for engine in ("table", "sequential")]
    asked += [({"operands": ["7", text], "engine": "lookahead"}, "")] if verb == "add" and text[:1] != "-" else []
    for request, steps in asked:
        response = client.post(f"/v1/{verb}{steps}", json=request)
        assert (response.status_code, response.json()) == (422, {"error": NO_NUMBERS[text]}), request


def test_sign_does_not_count_as_a_digit() -> None:
    check_digits(["-" + "1" * 10, "1" * 10], 10)
    with pytest.raises(RefusedError, match="up to 10 digits here, got 11"):
        check_digits(["1" * 11], 10)


JSON = {"content-type": "application/json"}


REFUSALS = [
    ("post", "/v1/add", {"json": {"operands": ["12x", "1"]}}, 422, "got 'x' at position 3"),
    ("post", "/v1/add", {"json": {"operands": ["1"]}}, 422, "operands"),
    ("post", "/v1/add", {"json": {"operands": [1, 2]}}, 422, "string"),
    ("post", "/v1/add", {"json": {"operands": ["1", "2"], "engin": "table"}}, 422, "engin"),
    ("post", "/v1/add", {"json": {"operands": ["1", "2"], "engine": "abacus"}}, 422, "engine"),
    ("post", "/v1/add", {"json": {"operands": ["1", "2"], "model": "../../etc"}}, 404, "no model"),
    ("post", "/v1/add", {"json": {"operands": ["1", "2"], "model": "times-a-digit"}}, 422, "does not add"),
    ("post", "/v1/add", {"json": {"operands": ["1" * 100_001, "2"]}}, 413, "up to 100,000 digits"),
    ("post", "/v1/add", {"content": b"x" * 1_000_001}, 413, "1,000,000 bytes"),
    ("post", "/v1/add", {"content": b'{"operands":', "headers": JSON}, 422, "json"),
    ("post", "/v1/add", {"content": b"\xff\xfe", "headers": JSON}, 422, ""),
    ("post", "/v1/divmod", {"json": {"operands": ["1", "0"]}}, 422, "divided by zero"),
    ("post", "/v1/mul", {"json": {"operands": ["1", "2", "3"]}}, 422, "takes two numbers"),
    ("post", "/v1/add/steps", {"json": {"operands": ["12x", "1"]}}, 422, "got 'x'"),
    ("post", "/v1/add/steps", {"json": {"operands": ["1" * 20_001, "1"]}}, 413, "up to 20,000 digits"),
    ("get", "/v1/step", {"params": {"prompt": "15C777"}}, 422, "takes up to 5"),
    ("get", "/v1/step", {"params": {"prompt": "abc"}}, 422, "not in the vocabulary"),
    ("post", "/v1/damage", {"json": {"amount": 1, "tensor": "heart"}}, 422, "no tensor 'heart'"),
    ("post", "/v1/damage", {"json": {"amount": 1, "index": 10**6}}, 422, "numbers 0 to"),
    ("post", "/v1/damage", {"json": {"amount": 1, "problem": {"verb": "sub", "operands": ["5", "x"]}}}, 422, "got 'x'"),
    ("post", "/v1/damage", {"json": {"amount": 1, "problem": {"verb": "sub", "operands": ["1"] * 3}}}, 422, "two numb"),
    (
        "post",
        "/v1/damage",
        {"json": {"amount": 1, "problem": {"verb": "mul", **PAPER}, "model": "comparison"}},
        422,
        "does not mul",
    ),
    ("get", "/v1/domain", {"params": {"model": "abacus"}}, 404, "no model"),
    ("get", "/v1/add", {}, 405, "not allowed"),
    ("get", "/../../etc/passwd", {}, 404, "not found"),
    ("get", "/page.py", {}, 404, "not found"),
]


@pytest.mark.parametrize(("method", "path", "request_", "status", "said"), REFUSALS)
def test_refusal_is_one_json_line(
    client: httpx.Client, method: str, path: str, request_: dict[str, object], status: int, said: str
) -> None:
    response = client.request(method, path, **request_)  # type: ignore[arg-type]
    assert response.status_code == status, response.text
    assert list(response.json()) == ["error"]
    assert said in response.json()["error"].lower()
    assert not re.search(r"/(home|root|work|tmp|usr)\b|Traceback|\.py\b", response.text.replace("page.py", ""))


def test_step_limit_ends_a_stream() -> None:
    with serving(Limits(steps=200)) as address:
        response = httpx.post(f"{address}/v1/mul/steps", json={"operands": ["7" * 60, "9" * 60]}, timeout=60)
    name, data = events(response.text)[-1]
    assert name == "error"
    assert "more than 200 steps" in str(data)


def test_busy_server_says_so_and_recovers() -> None:
    with serving(Limits(concurrent=1, waiting=0, seconds=20)) as address:
        slow = {"operands": ["9" * 20_000, "1"], "engine": "sequential"}
        with ThreadPoolExecutor(6) as pool:
            asked = [pool.submit(httpx.post, f"{address}/v1/add", json=slow, timeout=60) for _ in range(6)]
            codes = [future.result().status_code for future in asked]
        assert set(codes) == {200, 503}
        assert httpx.post(f"{address}/v1/add", json=PAPER).json()["answer"] == "74550"


def test_long_computation_is_stopped() -> None:
    long = {"operands": ["7" * 20_000, "8" * 20_000], "engine": "sequential"}
    with serving(Limits(seconds=1)) as address:
        httpx.post(f"{address}/v1/add", json={**PAPER, "engine": "sequential"}, timeout=60)  # opens the network
        response = httpx.post(f"{address}/v1/mul", json=long, timeout=60)
        assert response.status_code == 504
        assert "longer than 1 seconds" in response.json()["error"]
        assert httpx.get(f"{address}/healthz").status_code == 200


@pytest.mark.parametrize(
    ("sent", "status", "said"),
    [
        (b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: ", 408, "no whole request"),
        (b"POST /v1/add HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 50\r\n\r\n{", 408, "took longer than 1 seconds"),
        (b"hello there\r\n\r\n", 400, "invalid http request"),
    ],
)
def test_unfinished_request_times_out(sent: bytes, status: int, said: str) -> None:
    with serving(Limits(seconds=1)) as address, socket.create_connection(("127.0.0.1", urlsplit(address).port)) as raw:
        raw.sendall(sent)
        raw.settimeout(10)
        got = b""
        while piece := raw.recv(4096):
            got += piece
        head, _, body = got.partition(b"\r\n\r\n")
        assert head.startswith(f"HTTP/1.1 {status}".encode())
        assert said in json.loads(body)["error"]
