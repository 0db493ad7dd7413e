"""Where runs are carried out: processes of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

import importlib
import json
import logging
import os
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, Final, Protocol

import alga
from alga.errors import AlgaError, lacking

Settings = dict[str, Any]  # what JSON can say

CONNECT_SECONDS: Final = 10  # a scheduler that has not answered by then is not there

_ALONE = threading.Lock()  # a training sets the whole process's random state and threads


class Future(Protocol):
    """What loky and Dask give for a run under way."""

    def add_done_callback(self, function: Callable[[Any], None], /) -> Any: ...
    def result(self, timeout: float | None = None) -> Any: ...


class Place(Protocol):
    """A place where runs are carried out."""

    @property
    def room(self) -> int | None:
        """How many runs to hand over at a time; None where the place keeps its own queue."""

    def submit(self, name: str, measure: str, settings: Settings) -> Future: ...
    def begun_again(self) -> list[str]:
        """Return the names of runs that the place itself begins again, since this was last asked."""

    @property
    def losses(self) -> type[BaseException]:
        """What is raised where a run ended because its worker did."""

    def close(self) -> None: ...


def place(cluster: str | None, workers: int | None, count: int) -> Place:
    """Return the cluster at an address, or so many of this machine's cores, for so many runs."""
    try:
        if cluster is not None:
            return Cluster(cluster)
        return Cores(min(count, workers or len(os.sched_getaffinity(0))))
    except ImportError as problem:
        extra = "cluster" if cluster is not None else "lab"
        raise lacking("a sweep", problem.name, extra) from None


class Cores:
    """Processes of this machine, each with one thread."""

    def __init__(self, count: int) -> None:
        import loky

        self.room, self._loky = count, loky
        self.losses = loky.BrokenProcessPool
        self._pool = self._fresh()

    def _fresh(self) -> Any:
        alone = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        watch = {"initializer": _end_with, "initargs": (os.getpid(),)}
        return self._loky.ProcessPoolExecutor(max_workers=self.room, env=alone, **watch)

    def submit(self, name: str, measure: str, settings: Settings) -> Future:
        work = (measured, measure, settings, alga.__version__)
        try:
            future: Future = self._pool.submit(*work)
        except (self.losses, RuntimeError):  # a pool that lost a worker takes nothing more
            self.close()
            self._pool = self._fresh()
            future = self._pool.submit(*work)
        return future

    def begun_again(self) -> list[str]:
        return []

    def close(self) -> None:
        self._pool.shutdown(wait=False, kill_workers=True)


def _end_with(parent: int) -> None:
    """Have this worker end when the process that started it does, even by kill -9."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Cluster:
    """The workers of a Dask scheduler, which itself begins a lost worker's runs again."""

    room = None

    def __init__(self, address: str) -> None:
        import distributed

        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # what is lost we tell ourselves
        self.losses = distributed.KilledWorker
        self._lost: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._names: dict[str, str] = {}  # by Dask's key
        self._futures: list[Any] = []  # a future that is dropped is cancelled
        try:
            self._client = distributed.Client(address, set_as_default=False, timeout=CONNECT_SECONDS)
        except (OSError, ValueError) as problem:
            reason = str(problem) or type(problem).__name__
            raise AlgaError(f"no Dask scheduler answers at {address}: {reason}") from None
        self._client.subscribe_topic("all", self._heard)

    def submit(self, name: str, measure: str, settings: Settings) -> Future:
        future = self._client.submit(measured, measure, settings, alga.__version__, pure=False)
        self._names[future.key] = name
        self._futures.append(future)
        given: Future = future
        return given

    def _heard(self, event: tuple[float, Any]) -> None:
        if isinstance(event[1], dict) and event[1].get("action") == "remove-worker":
            for key in event[1]["processing-tasks"]:
                self._lost.put(self._names.get(key, ""))

    def begun_again(self) -> list[str]:
        return [self._lost.get() for _ in range(self._lost.qsize())]

    def close(self) -> None:
        self._client.cancel(self._futures)
        self._client.close()


def measured(measure: str, settings: Settings, version: str) -> str:
    """Carry out one run, in a worker; return its result and its error as JSON, one of them null."""
    try:
        if version != alga.__version__:
            raise AlgaError(f"this worker has alga {alga.__version__}, the sweep was started with {version}")
        module, _, name = measure.partition(":")
        with _ALONE:
            result = getattr(importlib.import_module(module), name)(settings)
        return json.dumps([result, None], allow_nan=False)
    except Exception as problem:  # whatever a run raises is its result, and no other run's business
        return json.dumps([None, f"{type(problem).__name__}: {problem}"])
