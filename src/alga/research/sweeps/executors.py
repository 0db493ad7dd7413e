"""Executors of runs: processes of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final

import alga
from alga.base.errors import AlgaError, missing_extra

Settings = dict[str, Any]  # JSON values

CONNECT_SECONDS: Final = 10  # timeout for the scheduler
NO_WORKER_SECONDS: Final = 5  # without workers before the user is told

_ONE_RUN = threading.Lock()  # a training sets the whole process's random state and threads


class Executor(ABC):
    """Carries out runs."""

    capacity: int | None = None  # how many runs to submit at a time; None if the executor has its own queue
    worker_lost: type[BaseException]  # raised when a worker dies

    @abstractmethod
    def submit(self, name: str, measure: str, settings: Settings) -> Any:
        """Start a run; return a future with the interface of the standard library's."""

    @abstractmethod
    def close(self) -> None: ...

    def poll(self) -> tuple[list[str], list[str]]:
        """Return the names of restarted runs and messages for the user since the last call; raise if it cannot work."""
        return [], []


def open_executor(cluster: str | None, workers: int | None, count: int) -> Executor:
    """Connect to a Dask cluster, or start up to `workers` processes on this machine, for `count` runs."""
    try:
        if cluster is not None:
            return DaskExecutor(cluster)
        return LocalExecutor(min(count, workers or len(os.sched_getaffinity(0))))
    except ImportError as problem:
        raise missing_extra("a sweep", problem.name, "lab" if cluster is None else "cluster") from None


class LocalExecutor(Executor):
    """Processes of this machine, each with one thread."""

    def __init__(self, count: int) -> None:
        import loky

        self.capacity, self.worker_lost, self._pool_type = count, loky.BrokenProcessPool, loky.ProcessPoolExecutor
        self._pool = self._new_pool()

    def _new_pool(self) -> Any:
        one_thread = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        watch = {"initializer": _end_with, "initargs": (os.getpid(),)}
        return self._pool_type(max_workers=self.capacity, env=one_thread, **watch)

    def submit(self, name: str, measure: str, settings: Settings) -> Any:
        work = (measured, measure, settings, alga.__version__)
        try:
            return self._pool.submit(*work)
        except (self.worker_lost, RuntimeError):  # a pool that lost a worker is broken
            self.close()
            self._pool = self._new_pool()
            return self._pool.submit(*work)

    def close(self) -> None:
        self._pool.shutdown(wait=False, kill_workers=True)


def _end_with(parent: int) -> None:
    """End this worker when its parent process ends, even by kill -9."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class DaskExecutor(Executor):
    """The workers of a Dask scheduler, which restarts a lost worker's runs by itself."""

    def __init__(self, address: str) -> None:
        import distributed

        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # we report losses ourselves
        self.worker_lost = distributed.KilledWorker
        self._address = address
        self._events: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()  # workers added and removed
        self._workers: set[str] = set()
        self._warned, self._alone_since = False, time.monotonic()  # about missing workers
        self._names: dict[str, str] = {}  # by Dask's key
        self._futures: list[Any] = []  # a future that is dropped is cancelled
        try:
            self._client = distributed.Client(address, set_as_default=False, timeout=CONNECT_SECONDS)
        except (OSError, ValueError) as problem:
            reason = str(problem) or type(problem).__name__
            raise AlgaError(f"no Dask scheduler answers at {address}: {reason}") from None
        self._client.subscribe_topic("all", self._heard)
        for worker in self._client.nthreads():
            self._events.put({"action": "add-worker", "worker": worker})
        try:
            self.poll()
        except AlgaError:
            self.close()
            raise

    def submit(self, name: str, measure: str, settings: Settings) -> Any:
        future = self._client.submit(_by_value(), measure, settings, alga.__version__, pure=False)
        self._names[future.key] = name
        self._futures.append(future)
        return future

    def _heard(self, event: tuple[float, Any]) -> None:
        if isinstance(event[1], dict) and event[1].get("action") in {"add-worker", "remove-worker"}:
            self._events.put(event[1])

    def poll(self) -> tuple[list[str], list[str]]:
        joined: set[str] = set()
        restarted: list[str] = []
        while not self._events.empty():
            event = self._events.get()
            if event["action"] == "add-worker":
                joined.add(event["worker"])
            else:
                joined.discard(event["worker"])
                self._workers.discard(event["worker"])
                restarted += [self._names.get(key, "") for key in event["processing-tasks"]]
        self._workers |= joined
        if joined:
            self._check(joined)
        if self._workers:
            self._warned, self._alone_since = False, time.monotonic()
        elif not self._warned and time.monotonic() - self._alone_since > NO_WORKER_SECONDS:
            self._warned = True
            start = f"dask worker {self._address} --nthreads 1"
            return restarted, [f"waiting for a worker of the Dask scheduler at {self._address}; start one: {start}"]
        return restarted, []

    def _check(self, workers: set[str]) -> None:
        """Raise if a worker cannot import alga."""
        found = self._client.run(importlib.util.find_spec, alga.__name__, workers=[*workers], on_error="return")
        for worker, spec in found.items():
            if spec is None:
                raise without_alga(f"the Dask worker at {worker}")

    def close(self) -> None:
        self._client.cancel(self._futures)
        self._client.close()


def _by_value() -> Callable[[str, Settings, str], str]:
    """Return a closure around `measured` for Dask workers.

    Dask pickles module functions by name, and a worker that cannot import the module dies. A closure is pickled by
    value, so a failed import is an ordinary error.
    """

    def run(measure: str, settings: Settings, version: str) -> str:
        from alga.research.sweeps.executors import measured

        return measured(measure, settings, version)

    return run


def without_alga(who: str) -> AlgaError:
    """Return the error for a worker without alga."""
    what = f"alga {alga.__version__} (in ALGA's checkout, pip install -e '.[cluster]')"
    return AlgaError(f"{who} has no alga: install {what} there, or stop that worker")


def measured(measure: str, settings: Settings, version: str) -> str:
    """Carry out one run in a worker; return `[result, error]` as JSON, one of them null."""
    try:
        if version != alga.__version__:
            raise AlgaError(f"this worker has alga {alga.__version__}, the sweep was started with {version}")
        module, _, name = measure.partition(":")
        with _ONE_RUN:
            result = getattr(importlib.import_module(module), name)(settings)
        return json.dumps([result, None], allow_nan=False)
    except Exception as problem:  # a failed run must not end the sweep
        return json.dumps([None, f"{type(problem).__name__}: {problem}"])
