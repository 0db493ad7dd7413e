"""The contract of a study: a question, the runs that answer it, and the report of their results.

A study's results are records, one per run, small enough to commit; its figure and every number in its report are made
from these alone, without torch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from alga.research import trials

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from alga.research.sweeps import Settings

Record = dict[str, Any]


@dataclass(frozen=True)
class Findings:
    """A study's report: its answer in two sentences, what did not work, and tables (header row first)."""

    answer: str
    failed: str
    tables: list[list[list[str]]] = field(default_factory=list)


def counted(count: int, one: str, many: str) -> str:
    """Return a count with its noun, singular or plural.

    >>> counted(1, "network is", "networks are"), counted(0, "network is", "networks are")
    ('1 network is', 'no networks are')
    """
    return f"1 {one}" if count == 1 else f"{f'{count:,}' if count else 'no'} {many}"


class Study(ABC):
    """A question of the lab."""

    name: str
    title: str
    question: str
    method: str
    measure: str = trials.MEASURE

    @abstractmethod
    def plan(self, quick: bool) -> list[Settings]:
        """Return the settings of every run; a quick study has fewer and shorter runs, only to test the code."""

    @abstractmethod
    def record(self, settings: Settings, result: dict[str, Any]) -> Record:
        """Return the record of one run."""

    @abstractmethod
    def findings(self, records: Sequence[Record]) -> Findings:
        """Summarise the records."""

    @abstractmethod
    def figure(self, records: Sequence[Record]) -> Figure:
        """Draw the records."""


def gathered(records: Sequence[Record], key: str) -> dict[Any, list[Record]]:
    """Group records by the value of a key, in order of first appearance."""
    groups: dict[Any, list[Record]] = {}
    for record in records:
        groups.setdefault(record[key], []).append(record)
    return groups
