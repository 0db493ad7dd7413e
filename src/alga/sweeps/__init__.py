"""Many runs: one function of ours over many settings, on this machine's cores or on a Dask cluster, by the same call.

Each result is a line of one JSONL file, on disk as soon as it is there. Settings that have their line are not run
again, so a sweep that was killed goes on where it stopped. A run whose worker was lost is given to another, and that is
said; one that fails is noted with its error, and tried again when the sweep is next called.
"""

from __future__ import annotations

import json
import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from alga import files
from alga.errors import AlgaError
from alga.progress import Watch, unwatched
from alga.sweeps.places import Future, Place, Settings, place

__all__ = ["Row", "Say", "Settings", "run"]

Result = dict[str, Any]
Say = Callable[[str], None]

GATHER_SECONDS: Final = 5  # for fetching a result that is there
LOST_ALONE: Final = 2  # a run that loses its worker so often with no other beside it is given up
POLL_SECONDS: Final = 0.2  # so often a waiting sweep looks whether it was interrupted


@dataclass
class Row:
    """One run of a sweep: what was asked, and what came out or went wrong."""

    settings: Settings
    result: Result | None = None
    error: str | None = None
    attempts: int = 1  # how often it was given to a worker


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
    with files.Hold(out):
        rows = _read(out)
        done = {name for name in names if name in rows and rows[name].error is None}
        todo = {name: settings for name, settings in zip(names, plan, strict=True) if name not in done}
        if todo:
            work = _Work(measure, todo, place(cluster, workers, len(todo)), say)
            for name, row in work.rows(lambda: watch(len(done), len(set(names)))):
                files.append(out, json.dumps({"measure": measure, **vars(row)}))
                rows[name] = row
                done.add(name)
        watch(len(done), len(set(names)))
    return [rows[name] for name in names]


class _Work:
    """Runs on their way: waiting, under way, or under suspicion of having killed their worker."""

    def __init__(self, measure: str, todo: dict[str, Settings], place: Place, say: Say) -> None:
        self.measure, self.todo, self.place, self.say = measure, todo, place, say
        self.waiting = list(todo)
        self.under_way: set[str] = set()
        self.suspects: list[str] = []  # a dying worker takes its neighbours along: each is tried again alone, last
        self.attempts = dict.fromkeys(todo, 1)
        self.lost_alone = dict.fromkeys(todo, -1)  # the first loss was in company
        self.finished: queue.SimpleQueue[tuple[str, Future]] = queue.SimpleQueue()

    def rows(self, tick: Callable[[], None]) -> Iterator[tuple[str, Row]]:
        """Yield each run's row as it comes; call `tick` all the while."""
        try:
            while self.waiting or self.under_way or self.suspects:
                self._submit()
                tick()
                if again := [name for name in self.place.begun_again() if name in self.under_way]:
                    self._lost(again)
                try:
                    name, future = self.finished.get(timeout=POLL_SECONDS)
                except queue.Empty:
                    continue
                row = self._row(name, future)
                if row is not None:
                    yield name, row
        finally:
            self.place.close()

    def _submit(self) -> None:
        while self.waiting and (self.place.room is None or len(self.under_way) < self.place.room):
            self._hand_over(self.waiting.pop(0))
        if not self.under_way and self.suspects:
            self._hand_over(self.suspects.pop(0))

    def _hand_over(self, name: str) -> None:
        self.under_way.add(name)
        future = self.place.submit(name, self.measure, self.todo[name])
        future.add_done_callback(partial(self._done, name))

    def _done(self, name: str, future: Future) -> None:
        self.finished.put((name, future))

    def _lost(self, names: Sequence[str]) -> None:
        for name in names:
            self.attempts[name] += 1
        self.say(f"a worker was lost; {'1 run is' if len(names) == 1 else f'{len(names)} runs are'} given to another")

    def _row(self, name: str, future: Future) -> Row | None:
        row = Row(self.todo[name], attempts=self.attempts[name])
        try:
            row.result, row.error = json.loads(future.result(timeout=GATHER_SECONDS))
        except TimeoutError:  # its worker was lost after it had finished, and the place runs it again
            self.finished.put((name, future))
            return None
        except CancelledError:
            raise AlgaError("the cluster's scheduler was lost; the same command goes on with what is left") from None
        except self.place.losses:
            self.lost_alone[name] += 1
            if self.lost_alone[name] < LOST_ALONE:
                self.under_way.remove(name)
                self.suspects.append(name)
                self._lost([name])
                return None
            row.error = f"its worker was lost {self.attempts[name]} times"
        self.under_way.remove(name)
        if row.error:
            self.say(f"a run failed: {row.error}")
        return row


def _name(measure: str, settings: Settings) -> str:
    return json.dumps([measure, settings], sort_keys=True)


def _read(out: Path) -> dict[str, Row]:
    rows = {}
    for line in files.whole_lines(out):
        try:
            content = json.loads(line)
            measure, row = content.pop("measure"), Row(**content)
            if not isinstance(row.settings, dict) or not isinstance(row.result or {}, dict):
                raise TypeError("expected settings and a result")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise AlgaError(f"{out} holds something else than a sweep's results: {line[:60]!r}") from None
        rows[_name(measure, row.settings)] = row
    return rows
