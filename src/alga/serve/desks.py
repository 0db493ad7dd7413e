"""Who computes: a few threads, each at a desk of its own; those who wait are counted, and nobody waits for ever."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from alga.serve.limits import Deadline, Limits, RefusedError
from alga.serve.shelf import Desk, Shelf

T = TypeVar("T")
Job = Callable[[Desk], T]


class Desks:
    """The workers of one server."""

    def __init__(self, shelf: Shelf, limits: Limits) -> None:
        self.shelf, self.limits = shelf, limits
        self._pool = ThreadPoolExecutor(limits.concurrent, thread_name_prefix="desk")
        self._own = threading.local()
        self._held = 0  # requests at a desk or waiting for one
        self._lock = threading.Lock()

    def submit(self, job: Job[T]) -> Future[T]:
        """Hand a job to the next free desk; refuse it where too many wait already."""
        with self._lock:
            if self._held >= self.limits.concurrent + self.limits.waiting:
                raise RefusedError(503, f"too busy: {self._held} requests are under way; try again in a moment")
            self._held += 1
        future = self._pool.submit(lambda: job(self._desk()))
        future.add_done_callback(self._done)
        return future

    async def run(self, job: Job[T], deadline: Deadline) -> T:
        """Let a desk do a job before the deadline; a job that goes on is told at its next step that it is too late."""
        try:
            return await asyncio.wait_for(asyncio.wrap_future(self.submit(job)), deadline.left)
        except TimeoutError:
            raise deadline.too_late() from None
        finally:
            deadline.over.set()

    def close(self) -> None:
        """Let go of the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _desk(self) -> Desk:
        if not hasattr(self._own, "desk"):
            self._own.desk = Desk(self.shelf)
        desk: Desk = self._own.desk
        return desk

    def _done(self, _: Future[T]) -> None:
        with self._lock:
            self._held -= 1
