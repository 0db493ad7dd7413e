"""Server fixtures: a client, and a count of the requests that reach the workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from alga.serve.workers import WorkerPool
from tests.serving import SOON, serving


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
