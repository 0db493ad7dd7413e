"""The door: who may ask, how much, until when; headers on every answer; the end of work that nobody waits for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection
from typing import Final

from starlette.datastructures import URL, Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from alga.serve.limits import Limits, RefusedError

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
DRAINED: Final = 20  # times the limit: what is read and dropped, as one who still sends does not hear an answer
PIECE: Final = 2**16  # bytes of an answer that are handed on at once: what waits for a slow reader
LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})
ANY: Final = "*"
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Checks a request and reads its body whole before the application sees it; ends the work when the client leaves.

    `bound` is the host it listens on; `hosts` are other sites' names that it may be reached by, `*` stands for any.
    Starlette's TrustedHostMiddleware knows neither of origins nor of the address that a request came to, and does not
    answer in JSON.
    """

    def __init__(self, app: ASGIApp, limits: Limits, bound: str = "", hosts: Collection[str] = ()) -> None:
        self._app, self._limits = app, limits
        self._hosts = frozenset(host.lower() for host in hosts)
        self._names = LOCAL | {bound.lower()} | self._hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        out = _sending(send)
        if (foreign := self._foreign(scope)) is not None:
            await _refuse(out, RefusedError(403, foreign), close=False)
            return
        try:
            async with asyncio.timeout(self._limits.seconds):
                body = await self._body(scope, receive)
        except TimeoutError:
            late = f"the request took longer than {self._limits.seconds:g} seconds to arrive"
            await _refuse(out, RefusedError(408, late), close=True)
            return
        except RefusedError as refused:
            await _refuse(out, refused, close=True)
            return
        if body is not None:  # else it went away
            await self._answer(scope, body, receive, out)

    async def _answer(self, scope: Scope, body: bytes, receive: Receive, out: Send) -> None:
        """Let the application answer for as long as there is a client."""
        unread = [body]

        async def read() -> Message:
            if not unread:
                await asyncio.Event().wait()  # for ever: that the client leaves is seen to here
            return {"type": "http.request", "body": unread.pop(), "more_body": False}

        async def gone() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass

        if scope["method"] == "HEAD":  # uvicorn leaves out the body
            scope = {**scope, "method": "GET"}
        work, leaving = asyncio.ensure_future(self._app(scope, read, out)), asyncio.ensure_future(gone())
        try:
            await asyncio.wait((work, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            work.cancel()
        await asyncio.wait((work, leaving))
        if not work.cancelled():
            work.result()

    def _foreign(self, scope: Scope) -> str | None:
        """Say what is wrong with a request that another site's page sent; None where nothing is.

        Such a page may have given our address a name of its own, so that the browser takes us for its site. The address
        that a request came to is as good as our names: no other site can have that for its own.
        """
        if ANY in self._hosts:
            return None
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        here = str((scope.get("server") or [""])[0]).removeprefix("::ffff:")
        if _name(f"//{host}") not in self._names | {here}:
            return f"the host {host[:100]!r} is not served here; alga serve --allow-host allows a name"
        own = {f"{scheme}://{host}".lower() for scheme in ("http", "https")}
        if origin is None or origin.lower() in own or _name(origin) in self._hosts:
            return None
        return f"pages of other sites may not ask here, got the origin {origin[:100]!r}"

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        most = self._limits.body
        stated = dict(scope["headers"]).get(b"content-length", b"0")
        too_large = RefusedError(413, f"a request may have up to {most:,} bytes here")
        if stated.isdigit() and int(stated[:20]) > DRAINED * most:
            raise too_large
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            part = message.get("body", b"")
            size += len(part)
            if size <= most:
                parts.append(part)
            more = message.get("more_body", False)
            if size > most and (not more or size > DRAINED * most):
                raise too_large
            if not more:
                return b"".join(parts)


def _name(url: str) -> str | None:
    """Return the host that a URL names, None where it names none."""
    try:
        return URL(url).hostname
    except ValueError:
        return None


def _sending(send: Send) -> Send:
    """Return a `send` that adds our headers, and hands on a long body piece by piece as the client takes it."""

    async def out(message: Message) -> None:
        if message["type"] == "http.response.start":
            added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", ()), *added]}
            await send(message)
            return
        body, more = message.get("body", b""), message.get("more_body", False)
        for start in range(0, max(1, len(body)), PIECE):
            last = start + PIECE >= len(body)
            await send({**message, "body": body[start : start + PIECE], "more_body": more or not last})
            await asyncio.sleep(0)  # else asyncio logs a line for each piece to a client that has left

    return out


async def _refuse(send: Send, refused: RefusedError, *, close: bool) -> None:
    body = json.dumps({"error": str(refused)}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if close:  # the rest of the body is not read, so the connection cannot be used again
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
