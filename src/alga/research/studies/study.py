"""The contract of a study: a question, the runs that answer it, and the report of their results.

A study's results are records, one per run, small enough to commit. Its figure and every number in its report come from
the records alone, without torch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence, Sized
from typing import Any, ClassVar

from alga.research import statistics, trials
from alga.research.figures import Panel
from alga.research.sweeps import Settings

__all__ = ["Record", "Settings", "Study", "certified", "gathered", "of", "over", "picked", "seeds"]

Record = dict[str, Any]


class Study(ABC):
    """A question of the lab; `templates/lab-NAME.md` asks and answers it."""

    name: ClassVar[str]
    title: ClassVar[str]
    caption: ClassVar[str]  # of the figure
    measure: ClassVar[str] = trials.MEASURE

    @abstractmethod
    def plan(self, quick: bool) -> list[Settings]:
        """Return the settings of every run; a quick study has fewer and shorter runs, only to test the code."""

    @abstractmethod
    def record(self, settings: Settings, result: Record) -> Record:
        """Return the record of one run."""

    @abstractmethod
    def findings(self, records: Sequence[Record]) -> Record:
        """Return the fields of the study's template."""

    @abstractmethod
    def panels(self, records: Sequence[Record]) -> list[Panel]:
        """Return the panels of the figure."""


def seeds(quick: bool) -> range:
    """Return the seeds of each recipe."""
    return range(2 if quick else 10)


def picked(result: Record, *names: str) -> Record:
    """Return some fields of a result."""
    return {name: result[name] for name in names}


def gathered(records: Sequence[Record], key: str) -> dict[Any, list[Record]]:
    """Group records by the value of a key, in order of first appearance."""
    return {value: [r for r in records if r[key] == value] for value in dict.fromkeys(r[key] for r in records)}


def certified(records: Sequence[Record]) -> list[Record]:
    """Return the records of certified networks."""
    return [record for record in records if record["certified_at"] is not None]


def over(records: Sequence[Record], key: str) -> statistics.Interval:
    """Return the median of a field over records."""
    return statistics.median([record[key] for record in records])


def of(part: Sized, whole: Sized) -> str:
    """Return a count of a whole.

    >>> of("ab", "abc")
    '2 of 3'
    """
    return f"{len(part)} of {len(whole)}"
