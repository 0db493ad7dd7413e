"""Other sites' pages: foreign hosts and origins are refused, this machine's own are served."""

from __future__ import annotations

import httpx
import pytest

from tests.serving import PAPER, SOON, refused, serving


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
