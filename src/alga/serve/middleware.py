"""ASGI middleware: checks host, origin, size and time of a request, adds headers, stops work if the client leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Final

from starlette.datastructures import URL, Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from alga.serve.limits import Limits, RefusedError

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
DRAINED: Final = 20  # times the limit: read and discarded, because a client that is still sending reads no response
PIECE: Final = 2**16  # bytes of a response sent at once: the most that is buffered for a slow reader
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


class RequestMiddleware:
    """Validates a request and reads its whole body before the application sees it.

    `bound` is the host that the server listens on; `hosts` are other names it may be reached by, `*` for any.
    Starlette's TrustedHostMiddleware knows neither origins nor the address that a request arrived at, and does not
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
        send, headers = _with_headers(send), {}
        try:
            self._check_host(scope)
            headers = {"connection": "close"}  # if the body is refused, its rest is never read
            async with asyncio.timeout(self._limits.seconds):
                body = await self._body(scope, receive)
        except (RefusedError, TimeoutError) as problem:
            late = RefusedError(408, f"the request took longer than {self._limits.seconds:g} seconds to arrive")
            refused = problem if isinstance(problem, RefusedError) else late
            await JSONResponse({"error": str(refused)}, refused.status, headers)(scope, receive, send)
            return
        if body is not None:  # else the client has left
            await self._answer(scope, body, receive, send)

    async def _answer(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Run the application until it is done or the client disconnects."""
        unread = [body]

        async def read() -> Message:
            if not unread:
                await asyncio.Event().wait()  # forever: disconnects are handled below
            return {"type": "http.request", "body": unread.pop(), "more_body": False}

        async def disconnected() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass

        if scope["method"] == "HEAD":  # uvicorn omits the body
            scope = {**scope, "method": "GET"}
        work, leaving = asyncio.ensure_future(self._app(scope, read, send)), asyncio.ensure_future(disconnected())
        try:
            await asyncio.wait((work, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            work.cancel()
        await asyncio.wait((work, leaving))
        if not work.cancelled():
            work.result()

    def _check_host(self, scope: Scope) -> None:
        """Refuse a request that another site's page may have sent.

        Such a page may point a name of its own at our address (DNS rebinding), so that the browser takes us for its
        site. The address that a request arrived at is as safe as our names: no other site can have it.
        """
        if ANY in self._hosts:
            return
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        here = str((scope.get("server") or [""])[0]).removeprefix("::ffff:")
        if _hostname(f"//{host}") not in self._names | {here}:
            raise RefusedError(
                403, f"the host {host[:100]!r} is not served here; alga serve --allow-host allows a name"
            )
        own = {f"{scheme}://{host}".lower() for scheme in ("http", "https")}
        if origin is not None and origin.lower() not in own and _hostname(origin) not in self._hosts:
            raise RefusedError(403, f"requests from other sites are refused, got the origin {origin[:100]!r}")

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """Return the whole body, None if the client disconnects; refuse one over the limit."""
        most = self._limits.body
        stated = dict(scope["headers"]).get(b"content-length", b"0")
        too_large = RefusedError(413, f"a request may have up to {most:,} bytes here")
        if stated.isdigit() and int(stated[:20]) > DRAINED * most:
            raise too_large
        body, size, more = bytearray(), 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            part, more = message.get("body", b""), message.get("more_body", False)
            size += len(part)
            if size <= most:
                body += part
            elif not more or size > DRAINED * most:
                raise too_large
        return bytes(body)


def _hostname(url: str) -> str | None:
    """Return the host in a URL, None if it has none."""
    try:
        return URL(url).hostname
    except ValueError:
        return None


def _with_headers(send: Send) -> Send:
    """Return a `send` that adds our headers, and sends a long body in pieces as the client reads them."""
    added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

    async def send_in_pieces(message: Message) -> None:
        if message["type"] == "http.response.start":
            await send({**message, "headers": [*message.get("headers", ()), *added]})
            return
        body, more = message.get("body", b""), message.get("more_body", False)
        for start in range(0, max(1, len(body)), PIECE):
            last = start + PIECE >= len(body)
            await send({**message, "body": body[start : start + PIECE], "more_body": more or not last})
            await asyncio.sleep(0)  # without this, asyncio logs a line per piece if the client has left

    return send_in_pieces
