"""Hostile clients: each kind repeats one attack and counts the responses. Runs as its own process."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import Random
from typing import Final
from urllib.parse import urlsplit

HELD: Final = 20.0  # seconds after which an idle client starts again
LARGE: Final = ("times-a-digit-base-16", "division-by-a-digit-base-16", "addition-of-three")
SMALL: Final = ("addition", "comparison", "subtraction-base-8", "parity")
PRODUCT: Final = {"operands": ["7" * 100_000, "89" * 50_000]}
TRACE: Final = {"operands": ["7" * 20_000, "8" * 20_000]}

Attack = Callable[["Attacker"], Awaitable[None]]


class Attacker:
    """One hostile client on its own connection."""

    def __init__(self, host: str, port: int, rng: Random, heard: Counter[str]) -> None:
        self.host, self.port, self.rng, self.heard = host, port, rng, heard
        self.reader: asyncio.StreamReader
        self.writer: asyncio.StreamWriter

    async def attack(self, kind: Attack) -> None:
        """Connect, attack once, and disconnect."""
        self.reader, self.writer = await asyncio.open_connection(self.host, self.port, limit=2**12)
        try:
            async with asyncio.timeout(HELD):
                await kind(self)
        finally:
            self.writer.transport.abort()

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def post(self, path: str, content: object, **headers: str) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        await self.send(self.head("POST", path, **{"content-length": str(len(body)), **headers}) + body)

    def head(self, method: str, path: str, **headers: str) -> bytes:
        known = {"host": self.host, "content-type": "application/json", **headers}
        return "\r\n".join([f"{method} {path} HTTP/1.1", *(f"{k}: {v}" for k, v in known.items()), "", ""]).encode()

    async def status(self) -> str:
        """Read and count a status line; empty if the connection was closed."""
        line = await self.reader.readline()
        status = line.split()[1].decode() if line.startswith(b"HTTP/1.1 ") else "ended"
        self.heard[status] += 1
        return status


async def never_reads_a_trace(a: Attacker) -> None:
    await a.post("/v1/add/steps", TRACE)
    await asyncio.sleep(HELD)


async def never_reads_answers(a: Attacker) -> None:
    await a.send(a.head("GET", f"/v1/domain?model={a.rng.choice(SMALL)}") * 100)
    await asyncio.sleep(HELD)


async def slow_headers(a: Attacker) -> None:
    for byte in a.head("GET", "/"):
        await a.send(bytes([byte]))
        await asyncio.sleep(1)


async def slow_body(a: Attacker) -> None:
    await a.send(a.head("POST", "/v1/add", **{"content-length": "900000"}) + b"{" * 500_000)
    for _ in range(int(HELD)):
        await a.send(b"{")
        await asyncio.sleep(1)


async def says_nothing(a: Attacker) -> None:
    await a.status()


async def half_closed(a: Attacker) -> None:
    await a.post("/v1/mul", PRODUCT)
    a.writer.write_eof()
    await a.status()


async def huge_body(a: Attacker) -> None:
    if a.rng.random() < 0.5:
        await a.send(a.head("POST", "/v1/add", **{"content-length": str(10**12)}))
    else:
        await a.send(a.head("POST", "/v1/add", **{"transfer-encoding": "chunked"}))
        with suppress(ConnectionError):
            for _ in range(300):
                await a.send(b"10000\r\n" + b"9" * 2**16 + b"\r\n")
    await a.status()


async def bad_json(a: Attacker) -> None:
    bad = (b"[" * 300_000, b'{"operands":', b"\xff\xfe", b'{"operands": ["1", "2"], "base": 1e400}', b"{}", b"null")
    await a.post(f"/v1/{a.rng.choice(('add', 'mul', 'damage', 'add/steps'))}", a.rng.choice(bad))
    await a.status()


async def no_http(a: Attacker) -> None:
    await a.send(a.rng.randbytes(200) + b"\r\n\r\n")
    await a.status()


async def other_site(a: Attacker) -> None:
    foreign = a.rng.choice(({"host": "evil.example"}, {"origin": "https://evil.example"}, {"origin": "null"}))
    await a.post("/v1/add", {"operands": ["1", "2"]}, **foreign)
    if await a.status() == "200":
        a.heard["wrongly served"] += 1


async def drops_a_trace(a: Attacker) -> None:
    await a.post("/v1/add/steps", TRACE)
    await a.reader.read(100)


async def drops_a_product(a: Attacker) -> None:
    await a.post("/v1/mul", PRODUCT)
    await asyncio.sleep(a.rng.random())


async def long_product(a: Attacker) -> None:
    await a.post("/v1/mul", PRODUCT)
    await a.status()


async def long_sum_by_the_network(a: Attacker) -> None:
    await a.post("/v1/add", {"operands": ["7" * 100_000, "8"], "engine": "sequential"})
    await a.status()


async def damages(a: Attacker) -> None:
    await a.post("/v1/damage", {"amount": a.rng.uniform(-5, 5), "model": a.rng.choice(SMALL + LARGE)})
    await a.status()


async def asks_for_domains(a: Attacker) -> None:
    await a.send(a.head("GET", f"/v1/domain?model={a.rng.choice(SMALL + LARGE)}"))
    await a.status()


KINDS: Final[dict[Attack, int]] = {
    never_reads_a_trace: 60, never_reads_answers: 20, slow_headers: 30, slow_body: 20, says_nothing: 60, half_closed: 6,
    huge_body: 2, bad_json: 4, no_http: 4, other_site: 4, drops_a_trace: 6, drops_a_product: 6, long_product: 6,
    long_sum_by_the_network: 4, damages: 4, asks_for_domains: 4,
}  # fmt: skip


async def attack(address: str, seconds: float, share: float) -> dict[str, dict[str, int]]:
    """Attack with every kind at once; return the responses and the number of tries of each."""
    url, end = urlsplit(address), time.monotonic() + seconds
    heard = {kind: Counter[str]() for kind in KINDS}

    async def again(kind: Attack, number: int) -> None:
        rng = Random(f"{kind.__name__} {number}")
        while time.monotonic() < end:
            heard[kind]["tried"] += 1
            try:
                await Attacker(str(url.hostname), int(url.port or 0), rng, heard[kind]).attack(kind)
            except (OSError, TimeoutError, ValueError) as problem:
                heard[kind][f"({type(problem).__name__})"] += 1
            await asyncio.sleep(rng.uniform(0.2, 1))

    async with asyncio.TaskGroup() as group:
        for kind, count in KINDS.items():
            for number in range(max(1, round(count * share))):
                group.create_task(again(kind, number))
    return {kind.__name__: dict(sorted(heard[kind].items())) for kind in KINDS}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(attack(sys.argv[1], float(sys.argv[2]), float(sys.argv[3])))))
