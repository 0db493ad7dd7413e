"""Bounded thread pool with per-thread solvers. Short and long problems have separate threads and queues."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from alga import runs
from alga.serve import content, live
from alga.serve.limits import Deadline, Limits, RefusedError
from alga.serve.registry import ModelRegistry
from alga.solve.calculator import Calculator
from alga.solve.solver import Solver
from alga.tasks import COMPANIONS

T = TypeVar("T")


class Worker:
    """One thread's own solvers over the shared networks: a solver's counters and buffers are not thread-safe."""

    def __init__(self, registry: ModelRegistry) -> None:
        self.registry = registry
        self._solvers: dict[str, Solver] = {}

    def solver(self, name: str) -> Solver:
        """Return this thread's solver for a network."""
        run = self.registry.run(name)
        if name not in self._solvers:
            self._solvers[name] = Solver(run)
            for engine, networks in COMPANIONS.items():
                if name in runs.shipped() and networks.get(name, "") in self.registry.names:
                    self._solvers[name].runners[engine] = self.solver(networks[name])
        return self._solvers[name]

    def answers_itself(self, name: str) -> bool:
        """Return whether the network itself answers by default, and not its table."""
        run = self.registry.run(name)
        return not run.certified or run.config.task.engine == "whole"

    def described(self, name: str) -> dict[str, Any]:
        """Return what a network is, as plain values."""
        return self.registry.cached("model", name, lambda: content.model(self.solver(name)))

    def domain(self, name: str) -> bytes:
        """Return a network's domain as JSON."""
        return self.registry.cached("domain", name, lambda: content.as_json(content.domain(self.solver(name))))

    def network(self, name: str) -> bytes:
        """Return what a browser needs to run a network, as JSON."""
        return self.registry.cached("network", name, lambda: content.as_json(live.network(self.solver(name))))

    def calculator(
        self, base: int | None, model: str | None, engine: str | None = None, *, damaged: Solver | None = None
    ) -> Calculator:
        """Return a calculator with these networks, and a damaged copy in the place of its original.

        A model determines the base if none is given.
        """
        given = [] if model is None or (damaged and damaged.run.name == model) else [self.solver(model)]
        given += [damaged] if damaged else []
        return Calculator(base, models=given, engine=engine, load_shipped=self.solver)


Job = Callable[[Worker, Deadline], T]


class _Threads:
    """A few threads and the requests that wait for one. Everything but the work itself runs in the event loop.

    Waiting requests are coroutines, not jobs in the pool's own queue, so a client that leaves frees its place at once.
    """

    def __init__(self, kind: str, threads: int, waiting: int) -> None:
        self._kind, self._most = kind, threads + waiting
        self._count = 0  # requests that run or wait
        self._free = asyncio.Semaphore(threads)
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix=f"{kind} worker")

    async def start(self, work: Callable[[], T], deadline: Deadline) -> Future[T]:
        """Wait for a free thread and give it the work; refuse if too many requests wait already."""
        if self._count >= self._most:
            raise RefusedError(503, f"too busy: {self._count} {self._kind} requests are in progress; try again soon")
        self._count += 1
        try:
            async with deadline.limit():
                await self._free.acquire()
        except BaseException:  # out of time, or the client has left
            self._count -= 1
            raise
        loop = asyncio.get_running_loop()

        def done(_: Future[T]) -> None:
            with suppress(RuntimeError):  # the loop is closed: the server has ended
                loop.call_soon_threadsafe(self._release)

        future = self.pool.submit(work)
        future.add_done_callback(done)
        return future

    def _release(self) -> None:
        self._count -= 1
        self._free.release()


class WorkerPool:
    """The worker threads of one server."""

    def __init__(self, registry: ModelRegistry, limits: Limits) -> None:
        self.registry, self.limits = registry, limits
        self._short = _Threads("short", limits.concurrent, limits.waiting)
        self._long = _Threads("long", (limits.concurrent + 1) // 2, limits.waiting // 8)
        self._thread = threading.local()

    async def start(self, job: Job[T], deadline: Deadline, *, long: bool = False) -> Future[T]:
        """Hand a job to the next free thread for its kind."""
        return await (self._long if long else self._short).start(lambda: job(self._worker(), deadline), deadline)

    async def run(self, job: Job[T], deadline: Deadline | None = None, *, long: bool = False) -> T:
        """Return the result of a job before the deadline; if the client leaves, the job ends at its next step."""
        deadline = deadline or Deadline(self.limits.seconds)
        try:
            future = await self.start(job, deadline, long=long)
            async with deadline.limit():
                return await asyncio.wrap_future(future)
        except BaseException:  # out of time, the client has left, or the job has failed
            deadline.cancel()
            raise

    def close(self) -> None:
        """Shut down the threads without waiting for them."""
        for threads in (self._short, self._long):
            threads.pool.shutdown(wait=False, cancel_futures=True)

    def _worker(self) -> Worker:
        if not hasattr(self._thread, "worker"):
            self._thread.worker = Worker(self.registry)
        worker: Worker = self._thread.worker
        return worker
