"""The door: headers on every answer; what is too large, too slow or no HTTP is refused before anything is computed."""

from __future__ import annotations

import asyncio
import json
from asyncio import TimerHandle, Transport
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from alga.serve.limits import Limits, RefusedError

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
DRAINED: Final = 20  # times the limit: what is read and dropped, as one who still sends does not hear an answer
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Reads a request's body whole, within its limits, before the application sees it."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app, self._limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", ()), *added]}
            await send(message)

        try:
            body = await asyncio.wait_for(self._body(scope, receive), self._limits.seconds)
        except TimeoutError:
            late = f"the request took longer than {self._limits.seconds:g} seconds to arrive"
            await _refuse(with_headers, RefusedError(408, late))
            return
        except RefusedError as refused:
            await _refuse(with_headers, refused)
            return
        if body is None:
            return  # it went away
        unread = True

        async def read() -> Message:
            nonlocal unread
            if unread:
                unread = False
                return {"type": "http.request", "body": body, "more_body": False}
            return await receive()

        await self._app(scope, read, with_headers)

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


async def _refuse(send: Send, refused: RefusedError) -> None:
    body = json.dumps({"error": str(refused)}).encode()
    # The rest of the body is not read, so the connection cannot be used again.
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def patient(seconds: float) -> type[H11Protocol]:
    """Return uvicorn's protocol with an end to its patience: it would wait for a request's headers for ever."""

    class Patient(H11Protocol):
        _timer: TimerHandle | None = None

        def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._timer = self.loop.call_later(seconds, self._too_slow)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self.loop.call_later(seconds, self._too_slow)

        def connection_lost(self, exc: Exception | None) -> None:
            if self._timer is not None:
                self._timer.cancel()
            super().connection_lost(exc)

        def send_400_response(self, msg: str) -> None:
            """Say in JSON, as everywhere, that this is no HTTP."""
            self._say("400 Bad Request", msg.rstrip(".").lower())

        def _too_slow(self) -> None:
            cycle: Any = self.cycle
            if self.transport.is_closing() or (cycle is not None and not cycle.response_complete):
                return  # a request is under way: the guard and the desks look after its time
            begun, _ = self.conn.trailing_data
            if begun:
                self._say("408 Request Timeout", f"no whole request came within {seconds:g} seconds")
            else:
                self.transport.close()

        def _say(self, status: str, message: str) -> None:
            body = json.dumps({"error": message}).encode()
            head = [f"HTTP/1.1 {status}", "content-type: application/json", f"content-length: {len(body)}"]
            head += ["connection: close", *(f"{name}: {value}" for name, value in HEADERS.items())]
            self.transport.write("\r\n".join([*head, "", ""]).encode() + body)
            self.transport.close()

    return Patient
