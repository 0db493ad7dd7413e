"""Server-sent events: the steps of a trace, sent while the network takes them.

Events are `problem` (its layout on paper), `steps` (a list, in order), `note` (what happens between two problems),
`done` (the whole result) and `error` (the last event of a stream that failed).
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final

from alga.base.errors import AlgaError
from alga.network.step import Step
from alga.serve import content
from alga.serve.limits import Deadline, check_steps
from alga.serve.workers import Worker, WorkerPool
from alga.solve.result import Listener
from alga.solve.solver import Solver

STEPS_PER_EVENT: Final = 64  # steps per event, if they come fast
SOON: Final = 0.05  # seconds after which steps are sent in any case
AHEAD: Final = 16  # events of a long trace that wait for a slow reader; then the network waits too
LOG: Final = logging.getLogger("alga.serve")

Solve = Callable[[Worker, Listener, Deadline], dict[str, Any]]


def event(name: str, data: Any) -> str:
    r"""Return one server-sent event.

    >>> event("note", {"text": "write 6, carry 30"})
    'event: note\ndata: {"text": "write 6, carry 30"}\n\n'
    """
    return f"event: {name}\ndata: {json.dumps(data, allow_nan=False)}\n\n"


class TraceListener(Listener):
    """Passes a trace on as plain values, `send(kind, values)`; refuses one that takes too many steps."""

    def __init__(self, send: Callable[[str, Any], None], max_steps: int) -> None:
        self._send, self._max_steps = send, max_steps
        self._count = 0  # steps of all problems so far, the current one included
        self._left = 0  # steps of the current problem
        self._network: Solver

    def problem(self, network: Solver, operands: tuple[str, ...]) -> None:
        described = content.problem(network.procedure, network.run.name, operands)
        self._network, self._left = network, described["columns"]
        self._count += self._left
        check_steps(self._count, self._max_steps)
        self._send("problem", described)

    def step(self, step: Step) -> None:
        self._left -= 1
        self._send("step", content.step_done(self._network, step, last=self._left == 0))

    def note(self, text: str) -> None:
        self._send("note", {"text": text})


class Stream:
    """One traced computation in a worker thread, and its events on their way to one client."""

    def __init__(self, pool: WorkerPool, solve: Solve, *, long: bool) -> None:
        self._pool, self._solve, self._long = pool, solve, long
        self._deadline = Deadline(pool.limits.seconds)
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[str | BaseException | None] = asyncio.Queue(AHEAD if long else 0)
        self._batch: list[dict[str, Any]] = []
        self._sent = 0.0  # when the last batch was sent
        self._future: Future[None]

    async def first(self) -> str:
        """Start the work and return the first event; raise an error that comes before it."""
        self._future = await self._pool.start(self._work, self._deadline, long=self._long)
        try:
            async with self._deadline.limit():
                found = await self._queue.get()
        except BaseException:  # out of time, or the client has left
            self.stop()
            raise
        if isinstance(found, BaseException):
            raise found
        assert found is not None
        return found

    async def events(self, first: str) -> AsyncIterator[str]:
        """Yield the first event and all others; an error on the way is the last of them."""
        try:
            yield first
            while (found := await self._queue.get()) is not None:
                if isinstance(found, BaseException):
                    expected = isinstance(found, AlgaError)
                    if not expected:
                        LOG.error("a stream failed", exc_info=found)
                    yield event("error", {"error": str(found) if expected else "internal server error"})
                    return
                yield found
        finally:
            self.stop()

    def stop(self) -> None:
        """End the work at its next step."""
        self._deadline.cancel()
        self._future.cancel()

    # --- in the worker thread -----------------------------------------------------------------------------------------

    def _work(self, worker: Worker, deadline: Deadline) -> None:
        try:
            result = self._solve(worker, TraceListener(self._send, self._pool.limits.steps), deadline)
            self._send("done", result)
            self._put(None)
        except Exception as problem:
            if not deadline.cancelled:
                with suppress(AlgaError):
                    self._flush()
                self._loop.call_soon_threadsafe(self._put_error, problem)

    def _send(self, kind: str, data: Any) -> None:
        """Queue an event; steps are batched."""
        if kind == "step":
            self._batch.append(data)
            if len(self._batch) < STEPS_PER_EVENT and time.monotonic() - self._sent <= SOON:
                return
        self._flush()
        if kind != "step":
            self._put(event(kind, data))

    def _flush(self) -> None:
        if self._batch:
            self._put(event("steps", self._batch))
            self._batch, self._sent = [], time.monotonic()

    def _put(self, text: str | None) -> None:
        """Queue text, waiting for room while the client reads slowly; give up when it has left or time is up."""
        putting = asyncio.run_coroutine_threadsafe(self._queue.put(text), self._loop)
        while not self._deadline.cancelled:
            try:
                return putting.result(min(0.2, self._deadline.left))
            except TimeoutError:
                if not self._deadline.left:
                    break
        putting.cancel()
        raise self._deadline.too_late()

    def _put_error(self, problem: BaseException) -> None:
        if self._queue.full():  # the client is slow, and the events it has not read are useless without the rest
            self._queue.get_nowait()
        self._queue.put_nowait(problem)
