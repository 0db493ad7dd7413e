"""Sweeps: one function over many settings, on this machine's cores or on a Dask cluster.

Each result is a line of one JSONL file, synced to disk at once. Settings that already have a line are not run again, so
a killed sweep resumes. If a worker dies, its run goes to another worker. A failed run is recorded with its error and
retried by the next call.
"""

from __future__ import annotations

import json
import os
import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypedDict, Unpack

from alga import runs
from alga.base import files
from alga.base.errors import AlgaError
from alga.base.progress import Watch, unwatched
from alga.research.sweeps.executors import Executor, Settings, open_executor, without_alga

__all__ = ["Options", "Row", "Say", "Settings", "completed", "run"]

Result = dict[str, Any]
Say = Callable[[str], None]

MAX_RESULT_BYTES: Final = 2**30
GATHER_SECONDS: Final = 5  # to fetch a finished result
MAX_LOST_ALONE: Final = 2  # a run that kills its worker this often, running alone, is given up
MOVED: Final = {  # names in version 0.1: rows of its sweeps stay valid
    "alga.trials:train": "alga.research.trials:train",
    "alga.studies.generations:measure": "alga.research.studies.generations:measure",
    "alga.studies.rounding:measure": "alga.research.studies.rounding:measure",
    "alga.rivals.comparison:measure": "alga.research.baselines.comparison:measure",
}
POLL_SECONDS: Final = 0.2  # how often a waiting sweep checks for interrupts


@dataclass
class Row:
    """One run of a sweep: its settings, and its result or error."""

    settings: Settings
    result: Result | None = None
    error: str | None = None
    attempts: int = 1  # times it was given to a worker


Receive = Callable[[Row], None]


class Options(TypedDict, total=False):
    """Where a sweep runs and how it reports."""

    cluster: str | None  # address of a Dask scheduler whose workers have this version of alga
    workers: int | None  # processes on this machine, one per core by default
    watch: Watch
    say: Say  # prints a message for the user
    receive: Callable[
        [Row], None
    ]  # takes what should not be in the results' file out of a new row, before it is written


def run(measure: str, plan: Sequence[Settings], out: str | os.PathLike[str], **options: Unpack[Options]) -> list[Row]:
    """Run `measure`, a function written as `module:name`, on each of the settings; return the rows in their order."""
    watch, say = options.get("watch", unwatched), options.get("say", lambda _: None)
    receive: Receive = options.get("receive", lambda _: None)
    out = Path(os.path.realpath(out))  # so that a link leads to the same lock
    runs.check_no_run(out.parent)
    out.parent.mkdir(parents=True, exist_ok=True)
    names = [_name(measure, settings) for settings in plan]
    with files.Lock(out):
        rows = _read(out)
        files.cut_half_line(out, b'{"measure": "')
        done = {name for name in names if name in rows and rows[name].error is None}
        todo = {name: settings for name, settings in zip(names, plan, strict=True) if name not in done}
        if todo:
            executor = open_executor(options.get("cluster"), options.get("workers"), len(todo))
            work = _Work(measure, todo, executor, say)
            for name, row in work.rows(lambda: watch(len(done), len(set(names)))):
                receive(row)
                files.append(out, json.dumps({"measure": measure, **vars(row)}))
                rows[name] = row
                done.add(name)
        watch(len(done), len(set(names)))
    return [rows[name] for name in names]


def completed(rows: Sequence[Row]) -> list[tuple[Settings, Result]]:
    """Return settings and result of every run; raise if one failed."""
    if failed := [row.error for row in rows if row.result is None]:
        raise AlgaError(f"{len(failed)} of {len(rows)} runs failed, the first with: {failed[0]}")
    return [(row.settings, row.result) for row in rows if row.result is not None]


class _Work:
    """The queue of a sweep: runs waiting, running, or suspected of having killed their worker."""

    def __init__(self, measure: str, todo: dict[str, Settings], executor: Executor, say: Say) -> None:
        self.measure, self.todo, self.executor, self.say = measure, todo, executor, say
        self.waiting = list(todo)
        self.running: set[str] = set()
        self.suspects: list[str] = []  # a dying pool loses all its runs: each is retried alone, last
        self.attempts = dict.fromkeys(todo, 1)
        self.lost_alone = dict.fromkeys(todo, -1)  # the first loss was not alone
        self.finished: queue.SimpleQueue[tuple[str, Future[str]]] = queue.SimpleQueue()

    def rows(self, tick: Callable[[], None]) -> Iterator[tuple[str, Row]]:
        """Yield each run's row as it finishes; call `tick` while waiting."""
        try:
            while self.waiting or self.running or self.suspects:
                self._submit()
                tick()
                restarted, messages = self.executor.poll()
                for message in messages:
                    self.say(message)
                self._lost([name for name in restarted if name in self.running])
                try:
                    name, future = self.finished.get(timeout=POLL_SECONDS)
                except queue.Empty:
                    continue
                row = self._row(name, future)
                if row is not None:
                    yield name, row
        finally:
            self.executor.close()

    def _submit(self) -> None:
        while self.waiting and len(self.running) < (self.executor.capacity or len(self.todo)):
            self._start(self.waiting.pop(0))
        if not self.running and self.suspects:
            self._start(self.suspects.pop(0))

    def _start(self, name: str) -> None:
        self.running.add(name)
        future = self.executor.submit(name, self.measure, self.todo[name])
        future.add_done_callback(lambda done: self.finished.put((name, done)))

    def _lost(self, names: Sequence[str]) -> None:
        for name in names:
            self.attempts[name] += 1
        if names:
            self.say(f"a worker was lost; restarting {len(names)} {'run' if len(names) == 1 else 'runs'}")

    def _row(self, name: str, future: Future[str]) -> Row | None:
        row = Row(self.todo[name], attempts=self.attempts[name])
        try:
            row.result, row.error = json.loads(future.result(timeout=GATHER_SECONDS))
        except TimeoutError:  # its worker died after finishing, and Dask runs it again
            self.finished.put((name, future))
            return None
        except CancelledError:
            raise AlgaError("the cluster's scheduler was lost; run the same command again to continue") from None
        except ModuleNotFoundError:  # a worker that joined just now and was not checked yet
            raise without_alga("a Dask worker") from None
        except self.executor.worker_lost:
            self.lost_alone[name] += 1
            if self.lost_alone[name] < MAX_LOST_ALONE:
                self.running.remove(name)
                self.suspects.append(name)
                self._lost([name])
                return None
            row.error = f"its worker was lost {self.attempts[name]} times"
        self.running.remove(name)
        if row.error:
            self.say(f"a run failed: {row.error}")
        return row


def _name(measure: str, settings: Settings) -> str:
    return json.dumps([measure, settings], sort_keys=True)


def _read(out: Path) -> dict[str, Row]:
    rows = {}
    for line in files.whole_lines(out, MAX_RESULT_BYTES):
        try:
            content = json.loads(line)
            measure, row = content.pop("measure"), Row(**content)
            if not isinstance(row.settings, dict) or not isinstance(row.result or {}, dict):
                raise TypeError("expected settings and a result")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise AlgaError(f"{out} has a line that is not a sweep result: {line[:60]!r}") from None
        rows[_name(MOVED.get(measure, measure), row.settings)] = row
    return rows
