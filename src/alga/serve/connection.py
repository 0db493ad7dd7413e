"""uvicorn's HTTP protocol with timeouts and a limit on connections.

By itself uvicorn waits forever for a request's headers, and for a client to read its response. Its `limit_concurrency`
refuses new clients while idle ones stay; here the connection that has been idle longest is closed instead, starting
with those that never sent a request or do not read their response.
"""

from __future__ import annotations

import json
from asyncio import TimerHandle, Transport
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from alga.serve.limits import Limits
from alga.serve.middleware import HEADERS


def protocol(limits: Limits) -> type[H11Protocol]:
    """Return uvicorn's protocol within these limits."""
    seconds = limits.seconds

    class Connection(H11Protocol):
        _since = 0.0  # time of the last activity
        _dropped = False
        _request_timer: TimerHandle | None = None  # until a whole request must have arrived
        _read_timer: TimerHandle | None = None  # until the client must have read what was written

        def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            transport.set_write_buffer_limits(high=0)  # pause whenever something is unread
            self._await_request()
            others = [other for other in self.connections if isinstance(other, Connection) and not other._dropped]
            if len(others) <= limits.connections:
                return
            idle = [other for other in others if other is not self and other._idle]
            if idle:
                min(idle, key=lambda other: (other._was_served, other._since))._drop()
            else:
                self._refuse("503 Service Unavailable", f"too busy: {limits.connections} connections are open")

        def connection_lost(self, exc: Exception | None) -> None:
            for timer in (self._request_timer, self._read_timer):
                if timer is not None:
                    timer.cancel()
            super().connection_lost(exc)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._await_request()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._since = self.loop.time()
            self._read_timer = self.loop.call_later(seconds, self._drop)

        def resume_writing(self) -> None:
            super().resume_writing()
            if self._read_timer is not None:
                self._read_timer.cancel()

        def send_400_response(self, msg: str) -> None:
            """Answer a malformed request in JSON."""
            self._refuse("400 Bad Request", msg.rstrip(".").lower())

        @property
        def _idle(self) -> bool:
            """Whether no work is done for this client: no whole request has arrived, or the response is not read."""
            cycle: Any = self.cycle
            return cycle is None or cycle.response_complete or cycle.more_body or self.flow.write_paused

        @property
        def _was_served(self) -> bool:
            """Whether its last request was answered, so that it may well send another."""
            return self.cycle is not None and self.cycle.response_complete and not self.flow.write_paused

        def _await_request(self) -> None:
            self._since = self.loop.time()
            if self._request_timer is not None:
                self._request_timer.cancel()
            self._request_timer = self.loop.call_later(seconds, self._request_timed_out)

        def _request_timed_out(self) -> None:
            cycle: Any = self.cycle
            if self.transport.is_closing() or (cycle is not None and not cycle.response_complete):
                return  # a request is in progress: the middleware and the workers limit its time
            begun, _ = self.conn.trailing_data
            if begun:
                self._refuse("408 Request Timeout", f"no whole request arrived within {seconds:g} seconds")
            else:
                self.transport.close()

        def _drop(self) -> None:
            self._dropped = True
            self.transport.abort()

        def _refuse(self, status: str, message: str) -> None:
            body = json.dumps({"error": message}).encode()
            head = [f"HTTP/1.1 {status}", "content-type: application/json", f"content-length: {len(body)}"]
            head += ["connection: close", *(f"{name}: {value}" for name, value in HEADERS.items())]
            self.transport.write("\r\n".join([*head, "", ""]).encode() + body)
            self.transport.close()

    return Connection
