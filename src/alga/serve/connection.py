"""One connection: uvicorn's protocol with an end to its patience, and with room for those who come.

uvicorn waits for a request's headers for ever, and for a client to take its answer too. Its `limit_concurrency` refuses
those who come while those who do nothing stay; here the one that has done nothing for the longest time has to go,
and first of all one that never asked for anything, or does not take what it asked for.
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
        _since = 0.0  # when it last did something
        _dropped = False
        _request: TimerHandle | None = None  # until a whole request must have come
        _reader: TimerHandle | None = None  # until the client must have taken what was written

        def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            transport.set_write_buffer_limits(high=0)  # whatever is not taken at once is waited for
            self._await_request()
            held = [other for other in self.connections if isinstance(other, Connection) and not other._dropped]
            if len(held) <= limits.connections:
                return
            idle = [other for other in held if other is not self and other._idle]
            if idle:
                min(idle, key=lambda other: (other._was_served, other._since))._drop()
            else:
                self._say("503 Service Unavailable", f"too busy: {limits.connections} connections are open")

        def connection_lost(self, exc: Exception | None) -> None:
            for timer in (self._request, self._reader):
                if timer is not None:
                    timer.cancel()
            super().connection_lost(exc)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._await_request()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._since = self.loop.time()
            self._reader = self.loop.call_later(seconds, self._drop)

        def resume_writing(self) -> None:
            super().resume_writing()
            if self._reader is not None:
                self._reader.cancel()

        def send_400_response(self, msg: str) -> None:
            """Say in JSON, as everywhere, that this is no HTTP."""
            self._say("400 Bad Request", msg.rstrip(".").lower())

        @property
        def _idle(self) -> bool:
            """Whether nobody works for this client: no whole request has come, or it does not take the answer."""
            cycle: Any = self.cycle
            waits = cycle is None or cycle.response_complete or cycle.more_body
            return waits or self.flow.write_paused

        @property
        def _was_served(self) -> bool:
            """Whether its last request is answered, so that it may well ask again."""
            return self.cycle is not None and self.cycle.response_complete and not self.flow.write_paused

        def _await_request(self) -> None:
            self._since = self.loop.time()
            if self._request is not None:
                self._request.cancel()
            self._request = self.loop.call_later(seconds, self._too_slow)

        def _too_slow(self) -> None:
            cycle: Any = self.cycle
            if self.transport.is_closing() or (cycle is not None and not cycle.response_complete):
                return  # a request is under way: the guard and the desks look after its time
            begun, _ = self.conn.trailing_data
            if begun:
                self._say("408 Request Timeout", f"no whole request came within {seconds:g} seconds")
            else:
                self.transport.close()

        def _drop(self) -> None:
            self._dropped = True
            self.transport.abort()

        def _say(self, status: str, message: str) -> None:
            body = json.dumps({"error": message}).encode()
            head = [f"HTTP/1.1 {status}", "content-type: application/json", f"content-length: {len(body)}"]
            head += ["connection: close", *(f"{name}: {value}" for name, value in HEADERS.items())]
            self.transport.write("\r\n".join([*head, "", ""]).encode() + body)
            self.transport.close()

    return Connection
