"""Who computes: a few threads, each at a desk of its own. Short and long problems wait in queues of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from alga.serve.limits import Deadline, Limits, RefusedError
from alga.serve.registry import Desk, Shelf

T = TypeVar("T")
Job = Callable[[Desk], T]


class _Lane:
    """Some threads, and the requests that wait for one; all but the work itself is done by the event loop.

    Those who wait are coroutines, not work that the pool holds already: who leaves takes all of it along.
    """

    def __init__(self, kind: str, threads: int, waiting: int) -> None:
        self._kind, self._room = kind, threads + waiting
        self._held = 0  # requests at a desk or waiting for one
        self._free = asyncio.Semaphore(threads)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"{kind} desk")

    async def start(self, work: Callable[[], T], deadline: Deadline) -> Future[T]:
        """Wait for a free thread and give it the work; refuse it where too many wait already."""
        if self._held >= self._room:
            raise RefusedError(
                503, f"too busy: {self._held} {self._kind} requests are under way; try again in a moment"
            )
        self._held += 1
        try:
            async with asyncio.timeout(deadline.left):
                await self._free.acquire()
        except BaseException as problem:  # too late, or gone
            self._held -= 1
            if isinstance(problem, TimeoutError):
                raise deadline.too_late() from None
            raise
        loop = asyncio.get_running_loop()

        def done(_: Future[T]) -> None:
            with suppress(RuntimeError):  # the loop is closed: the server has ended
                loop.call_soon_threadsafe(self._leave)

        future = self._pool.submit(work)
        future.add_done_callback(done)
        return future

    def close(self) -> None:
        """Let go of the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _leave(self) -> None:
        self._held -= 1
        self._free.release()


class Desks:
    """The workers of one server."""

    def __init__(self, shelf: Shelf, limits: Limits) -> None:
        self.shelf, self.limits = shelf, limits
        self._short = _Lane("short", limits.concurrent, limits.waiting)
        self._long = _Lane("long", (limits.concurrent + 1) // 2, limits.waiting // 8)
        self._own = threading.local()

    async def start(self, job: Job[T], deadline: Deadline, *, long: bool = False) -> Future[T]:
        """Hand a job to the next free desk for its kind."""
        return await (self._long if long else self._short).start(lambda: job(self._desk()), deadline)

    async def run(self, job: Job[T], deadline: Deadline, *, long: bool = False) -> T:
        """Let a desk do a job before the deadline; one that nobody waits for any more ends at its next step."""
        try:
            future = await self.start(job, deadline, long=long)
            async with asyncio.timeout(deadline.left):
                return await asyncio.wrap_future(future)
        except BaseException as problem:  # too late, or gone; an error of the job's own has ended it already
            deadline.cancel()
            if isinstance(problem, TimeoutError):
                raise deadline.too_late() from None
            raise

    def close(self) -> None:
        """Let go of the threads."""
        self._short.close()
        self._long.close()

    def _desk(self) -> Desk:
        if not hasattr(self._own, "desk"):
            self._own.desk = Desk(self.shelf)
        desk: Desk = self._own.desk
        return desk
