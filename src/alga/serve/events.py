"""Steps as server-sent events, sent while the network takes them.

`problem` says how a problem stands on paper, `steps` holds steps of it in order, `note` what is done between two
problems, `done` the whole result; `error` ends a stream that went wrong on the way.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from typing import Any, Final

from alga.base.errors import AlgaError
from alga.serve import content
from alga.serve.limits import Deadline, RefusedError
from alga.serve.registry import Desk
from alga.serve.workers import Desks
from alga.solve.result import Step
from alga.solve.schoolbook import Listener
from alga.solve.solver import Solver

TOGETHER: Final = 64  # steps that are sent at once, where they come fast
SOON: Final = 0.05  # seconds after which a step is sent in any case
LOG: Final = logging.getLogger("alga.serve")
AHEAD: Final = 16  # events of a long trace that wait for a slow reader; then the network waits too

Solve = Callable[[Desk, Listener, Deadline], dict[str, Any]]


def event(name: str, data: Any) -> str:
    r"""Return one server-sent event.

    >>> event("note", {"text": "6 is settled"})
    'event: note\ndata: {"text": "6 is settled"}\n\n'
    """
    return f"event: {name}\ndata: {json.dumps(data, allow_nan=False)}\n\n"


def check_steps(count: int, most: int) -> None:
    """Refuse a trace that has more steps than the limit."""
    if count > most:
        raise RefusedError(413, f"this takes more than {most:,} steps, which is the limit of a trace here")


class _Sender(Listener):
    """Turns what it hears into events; refuses to go on where there are too many steps."""

    def __init__(self, send: Callable[[str], None], most: int) -> None:
        self._send, self._most = send, most
        self._count = 0
        self._batch: list[dict[str, Any]] = []
        self._sent = 0.0
        self._network: Solver
        self._left = 0

    def problem(self, network: Solver, operands: tuple[str, ...]) -> None:
        self.flush()
        described = content.problem(network.procedure, network.run.name, operands)
        self._network, self._left = network, described["columns"]
        check_steps(self._count + self._left, self._most)
        self._send(event("problem", described))

    def step(self, step: Step) -> None:
        self._count, self._left = self._count + 1, self._left - 1
        self._batch.append(content.taken(self._network, step, last=self._left == 0))
        if len(self._batch) >= TOGETHER or time.monotonic() - self._sent > SOON:
            self.flush()

    def note(self, text: str) -> None:
        self.flush()
        self._send(event("note", {"text": text}))

    def flush(self) -> None:
        """Send what has come together."""
        if self._batch:
            self._send(event("steps", self._batch))
            self._batch, self._sent = [], time.monotonic()


class Stream:
    """One computation at a desk, and its events on their way to one reader."""

    def __init__(self, desks: Desks, solve: Solve, *, long: bool) -> None:
        self._desks, self._long = desks, long
        self._deadline = Deadline(desks.limits.seconds)
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[str | BaseException | None] = asyncio.Queue(AHEAD if long else 0)
        self._most, self._solve = desks.limits.steps, solve
        self._future: Future[None]

    async def first(self) -> str:
        """Return the first event; an error before it is the request's."""
        self._future = await self._desks.start(self._work, self._deadline, long=self._long)
        try:
            async with asyncio.timeout(self._deadline.left):
                found = await self._queue.get()
        except BaseException as problem:  # too late, or gone
            self.stop()
            if isinstance(problem, TimeoutError):
                raise self._deadline.too_late() from None
            raise
        if isinstance(found, BaseException):
            raise found
        assert found is not None
        return found

    async def rest(self, first: str) -> AsyncIterator[str]:
        """Yield all events, the first one too; an error on the way is the last of them."""
        try:
            yield first
            while (found := await self._queue.get()) is not None:
                if isinstance(found, BaseException):
                    expected = isinstance(found, AlgaError)
                    if not expected:
                        LOG.error("a stream failed", exc_info=found)
                    yield event("error", {"error": str(found) if expected else "something went wrong here"})
                    return
                yield found
        finally:
            self.stop()

    def stop(self) -> None:
        """Let the work end at its next step."""
        self._deadline.cancel()
        self._future.cancel()

    def _work(self, desk: Desk) -> None:
        sender = _Sender(self._send, self._most)
        try:
            result = self._solve(desk, sender, self._deadline)
            sender.flush()
            self._send(event("done", result))
            self._send(None)
        except Exception as problem:
            if not self._deadline.cancelled:
                self._loop.call_soon_threadsafe(self._put_error, problem)

    def _put_error(self, problem: BaseException) -> None:
        if self._queue.full():  # the reader is slow, and what it has not read is of no use without the rest
            self._queue.get_nowait()
        self._queue.put_nowait(problem)

    def _send(self, text: str | None) -> None:
        """Wait until the reader has room, in this thread; give up where nobody reads any more."""
        putting = asyncio.run_coroutine_threadsafe(self._queue.put(text), self._loop)
        while not self._deadline.cancelled:
            try:
                return putting.result(min(0.2, self._deadline.left))
            except TimeoutError:
                if not self._deadline.left:
                    break
        putting.cancel()
        raise self._deadline.too_late()
