"""Many runs: one function of ours over many settings, on this machine's cores or on a Dask cluster, by the same call.

Each result is a line of one JSONL file, on disk as soon as it is there. Settings that have their line are not run
again, so a sweep that was killed goes on where it stopped. A run whose worker was lost is given to another, and that is
said; one that fails is noted with its error, and tried again when the sweep is next called.
"""

from __future__ import annotations

import importlib
import json
import os
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import alga
from alga import files
from alga.errors import AlgaError
from alga.progress import Watch, unwatched

Settings = dict[str, Any]  # what JSON can say
Result = dict[str, Any]
Say = Callable[[str], None]

ATTEMPTS: Final = 4  # after so many lost workers a run is given up
CONNECT_SECONDS: Final = 10  # a scheduler that has not answered by then is not there
POLL_SECONDS: Final = 0.2  # so often a waiting sweep looks whether it was interrupted

_ALONE = threading.Lock()  # a training sets the whole process's random state and threads


@dataclass
class Row:
    """One run of a sweep: what was asked, and what came out or went wrong."""

    settings: Settings
    result: Result | None = None
    error: str | None = None
    attempts: int = 1  # how often it was given to a worker


class Future(Protocol):
    """What loky and Dask give for a run under way."""

    def add_done_callback(self, function: Callable[[Any], None], /) -> Any: ...
    def result(self) -> Any: ...


class Workers(Protocol):
    """A place where runs are carried out."""

    @property
    def room(self) -> int | None:
        """How many runs to hand over at a time; None where the place keeps its own queue."""

    def submit(self, name: str, measure: str, settings: Settings) -> Future: ...
    def lost(self) -> list[str]:
        """Return the names of runs that the place itself begins again, since this was last asked."""

    def is_loss(self, problem: BaseException) -> bool:
        """Tell whether a run ended because its worker did, not by its own fault."""

    def close(self) -> None: ...


def run(
    measure: str,
    plan: Sequence[Settings],
    out: Path,
    *,
    cluster: str | None = None,
    workers: int | None = None,
    watch: Watch = unwatched,
    say: Say = lambda _: None,
) -> list[Row]:
    """Run `measure`, a function written as `module:name`, on each of the settings; return the rows in their order.

    `cluster` is the address of a Dask scheduler, whose workers have this version of alga; without one, `workers`
    processes of this machine (as many as it has cores) do the work.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    names = [_name(measure, settings) for settings in plan]
    with files.alone(out.with_name(f".{out.name}.lock")):
        rows = _read(out)
        todo = {name: settings for name, settings in zip(names, plan, strict=True) if rows.get(name, FAILED).error}
        if todo:
            _work(measure, todo, rows, out, _place(cluster, workers, len(todo)), len(set(names)), watch, say)
    return [rows[name] for name in names]


FAILED: Final = Row({}, error="not run yet")


def _work(
    measure: str,
    todo: dict[str, Settings],
    rows: dict[str, Row],
    out: Path,
    place: Workers,
    total: int,
    watch: Watch,
    say: Say,
) -> None:
    finished: queue.SimpleQueue[tuple[str, Future]] = queue.SimpleQueue()
    waiting, attempts, done = list(todo), dict.fromkeys(todo, 1), total - len(todo)
    under_way: set[str] = set()
    try:
        while waiting or under_way:
            while waiting and (place.room is None or len(under_way) < place.room):
                # A worker's death takes its neighbours' runs along: each is tried alone, to see whose fault it was.
                if place.room and under_way and any(attempts[name] > 1 for name in (waiting[0], *under_way)):
                    break
                name = waiting.pop(0)
                under_way.add(name)
                place.submit(name, measure, todo[name]).add_done_callback(partial(_put, finished, name))
            watch(done, total)
            lost = [name for name in place.lost() if name in under_way]
            for name in lost:
                attempts[name] += 1
            if lost:
                say(f"a worker was lost; {_counted(len(lost))} given to another")
            try:
                name, future = finished.get(timeout=POLL_SECONDS)
            except queue.Empty:
                continue
            under_way.discard(name)
            row = Row(todo[name], attempts=attempts[name])
            try:
                row.result = json.loads(future.result())
            except Exception as problem:  # whatever a run raises is its result, and no other run's business
                if place.is_loss(problem) and attempts[name] < ATTEMPTS:
                    say(f"a worker was lost; {_counted(1)} given to another")
                    attempts[name] += 1
                    waiting.insert(0, name)
                    continue
                loss = f"its worker was lost {attempts[name]} times"
                row.error = loss if place.is_loss(problem) else f"{type(problem).__name__}: {problem}"
                say(f"a run failed: {row.error}")
            rows[name] = row
            files.append(out, json.dumps({"measure": measure, **vars(row)}))
            done += 1
        watch(done, total)
    finally:
        place.close()


def _put(finished: queue.SimpleQueue[tuple[str, Future]], name: str, future: Future) -> None:
    finished.put((name, future))


def _counted(count: int) -> str:
    return "1 run is" if count == 1 else f"{count} runs are"


def _name(measure: str, settings: Settings) -> str:
    return json.dumps([measure, settings], sort_keys=True)


def _read(out: Path) -> dict[str, Row]:
    rows = {}
    for line in files.whole_lines(out):
        try:
            content = json.loads(line)
            measure, row = content.pop("measure"), Row(**content)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise AlgaError(f"{out} holds something else than a sweep's results: {line[:60]!r}") from None
        rows[_name(measure, row.settings)] = row
    return rows


def measured(measure: str, settings: Settings, version: str) -> str:
    """Carry out one run, in a worker; return its result as JSON."""
    if version != alga.__version__:
        raise AlgaError(f"this worker has alga {alga.__version__}, the sweep was started with {version}")
    module, _, name = measure.partition(":")
    with _ALONE:
        return json.dumps(getattr(importlib.import_module(module), name)(settings), allow_nan=False)


# --- where runs are carried out ---------------------------------------------------------------------------------------


def _place(cluster: str | None, workers: int | None, count: int) -> Workers:
    try:
        if cluster is not None:
            return _Cluster(cluster)
        return _Cores(min(count, workers or len(os.sched_getaffinity(0))))
    except ImportError as problem:
        extra = "cluster" if cluster is not None else "lab"
        raise AlgaError(f"sweeps need {problem.name}: pip install 'alga[{extra}]'") from None


class _Cores:
    """Processes of this machine, each with one thread."""

    def __init__(self, count: int) -> None:
        import loky

        self.room, self._loky = count, loky
        self._pool = self._fresh()

    def _fresh(self) -> Any:
        alone = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        return self._loky.ProcessPoolExecutor(max_workers=self.room, env=alone)

    def submit(self, name: str, measure: str, settings: Settings) -> Future:
        try:
            return self._pool.submit(measured, measure, settings, alga.__version__)  # type: ignore[no-any-return]
        except (self._loky.BrokenProcessPool, RuntimeError):  # a pool that lost a worker takes nothing more
            self.close()
            self._pool = self._fresh()
            return self._pool.submit(measured, measure, settings, alga.__version__)  # type: ignore[no-any-return]

    def lost(self) -> list[str]:
        return []

    def is_loss(self, problem: BaseException) -> bool:
        return isinstance(problem, self._loky.BrokenProcessPool)

    def close(self) -> None:
        self._pool.shutdown(wait=False, kill_workers=True)


class _Cluster:
    """The workers of a Dask scheduler, which itself begins a lost worker's runs again."""

    room = None

    def __init__(self, address: str) -> None:
        import distributed

        self._killed = distributed.KilledWorker
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
        return future  # type: ignore[no-any-return]

    def _heard(self, event: tuple[float, Any]) -> None:
        if isinstance(event[1], dict) and event[1].get("action") == "remove-worker":
            for key in event[1]["processing-tasks"]:
                self._lost.put(self._names.get(key, ""))

    def lost(self) -> list[str]:
        return [self._lost.get() for _ in range(self._lost.qsize())]

    def is_loss(self, problem: BaseException) -> bool:
        return isinstance(problem, self._killed)

    def close(self) -> None:
        self._client.cancel(self._futures)
        self._client.close()
