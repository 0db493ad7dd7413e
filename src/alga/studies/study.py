"""The contract of a study: a question, the runs that answer it, and what is told of their results.

A study's results are records, one for each run, small enough to be committed; its figure and every number it tells
are made from these alone, without torch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from alga import trials

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from alga.sweeps import Settings

Record = dict[str, Any]


@dataclass(frozen=True)
class Findings:
    """What a study tells: its answer in two sentences, what did not work, and tables (heads first)."""

    answer: str
    failed: str
    tables: list[list[list[str]]] = field(default_factory=list)


def counted(count: int, one: str, many: str) -> str:
    """Return a number with the words that go with it.

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
        """Return the settings of every run; a quick study has fewer and shorter ones, and says the same in vain."""

    @abstractmethod
    def record(self, settings: Settings, result: dict[str, Any]) -> Record:
        """Return what is kept of one run."""

    @abstractmethod
    def findings(self, records: Sequence[Record]) -> Findings:
        """Return what the records say."""

    @abstractmethod
    def figure(self, records: Sequence[Record]) -> Figure:
        """Draw what the records say."""


def gathered(records: Sequence[Record], key: str) -> dict[Any, list[Record]]:
    """Return the records by what they say under a key, in the order in which that first comes."""
    groups: dict[Any, list[Record]] = {}
    for record in records:
        groups.setdefault(record[key], []).append(record)
    return groups
