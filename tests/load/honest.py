"""Honest clients: sums, other operations, traces and pages, each answer compared with exact arithmetic, each timed."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

import httpx

PATIENCE: Final = 30.0  # seconds
VISIT: Final = 10  # requests on one connection


@dataclass(frozen=True)
class Asked:
    """One request: its kind, its seconds, and what was wrong."""

    kind: str
    seconds: float
    wrong: str = ""


def _number(rng: Random, most: int) -> str:
    return str(rng.randrange(10 ** rng.randint(1, most)))


def _answer(response: httpx.Response, expected: str) -> str:
    if response.status_code != 200:
        return f"{response.status_code} {response.text[:100]}"
    answer = response.json()["answer"]
    return "" if answer == expected else f"{answer} instead of {expected}"


def sums(client: httpx.Client, rng: Random) -> str:
    a, b = _number(rng, 60), _number(rng, 60)
    engine = rng.choice([None, "table", "sequential", "lookahead"])
    return _answer(client.post("/v1/add", json={"operands": [a, b], "engine": engine}), str(int(a) + int(b)))


def operations(client: httpx.Client, rng: Random) -> str:
    a, b = _number(rng, 30), _number(rng, 20)
    exact = {"sub": int(a) - int(b), "mul": int(a) * int(b), "cmp": "<=>"[(int(a) > int(b)) - (int(a) < int(b)) + 1]}
    if int(b):
        exact["divmod"] = "{} {}".format(*divmod(int(a), int(b)))
    verb = rng.choice(sorted(exact))
    return _answer(client.post(f"/v1/{verb}", json={"operands": [a, b]}), str(exact[verb]))


def traces(client: httpx.Client, rng: Random) -> str:
    a, b = _number(rng, 60), _number(rng, 60)
    response = client.post("/v1/add/steps", json={"operands": [a, b]})
    if response.status_code != 200 or f'"answer": "{int(a) + int(b)}"' not in response.text:
        return f"{response.status_code} {response.text[-100:]}"
    return ""


def pages(client: httpx.Client, rng: Random) -> str:
    """Load the page like a browser, with its first requests."""
    index = client.get("/")
    parts = re.findall(r'(?:src|href)="([\w.-]+\.(?:js|css))"', index.text)
    asked = [f"/{part}" for part in parts]
    asked += ["/v1/models", "/v1/domain", "/v1/certificate", "/v1/step?prompt=15C77"]
    for path in asked:
        response = client.get(path)
        if response.status_code != 200:
            return f"{path}: {response.status_code} {response.text[:100]}"
    return "" if len(parts) > 3 else "the page has no parts"


KINDS: Final[dict[Callable[[httpx.Client, Random], str], int]] = {sums: 10, operations: 4, traces: 3, pages: 2}


def visit(address: str, rng: Random, end: float, told: list[Asked]) -> None:
    """Send requests of all kinds until the end, reconnecting now and then."""
    while time.monotonic() < end:
        with httpx.Client(base_url=address, timeout=PATIENCE) as client:
            for _ in range(VISIT):
                (kind,) = rng.choices([*KINDS], [*KINDS.values()])
                began = time.monotonic()
                try:
                    wrong = kind(client, rng)
                except (httpx.HTTPError, ValueError, KeyError) as problem:
                    wrong = f"{type(problem).__name__}: {problem}"
                told.append(Asked(kind.__name__, time.monotonic() - began, wrong))
                time.sleep(rng.uniform(0, 0.4))
                if time.monotonic() >= end:
                    break


def visitors(address: str, count: int, seconds: float) -> tuple[list[threading.Thread], list[Asked]]:
    """Start honest clients; return their threads and the list of their requests."""
    told: list[Asked] = []
    end = time.monotonic() + seconds
    threads = [threading.Thread(target=visit, args=(address, Random(i), end, told)) for i in range(count)]
    for thread in threads:
        thread.start()
    return threads, told
