"""HOW steps are chained into an answer: every engine gives the same one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from alga.engines import sequential, table
from alga.engines.solution import Solution, Step, as_table
from alga.errors import AlgaError
from alga.progress import Watch
from alga.table import Table
from alga.tasks import Lookahead, Task

if TYPE_CHECKING:
    from alga.decoding import Decode

__all__ = ["Engine", "Network", "Solution", "Step", "as_table", "find", "names"]

Engine = Callable[["Network", Sequence[tuple[str, ...]], Watch], list[Solution]]


class Network(Protocol):
    """What an engine may ask of a network; each takes what it needs, so that the rest need not be loaded."""

    @property
    def task(self) -> Task:
        """The task that is solved."""

    @property
    def trained(self) -> Task:
        """The task that the network has learned: mostly the same."""

    @property
    def decoder(self) -> Decode:
        """The network itself."""

    @property
    def table(self) -> Table:
        """All that the network answers."""


def _table(network: Network, problems: Sequence[tuple[str, ...]], watch: Watch) -> list[Solution]:
    return table.solve(network.task, network.table, problems, watch=watch)


def _sequential(network: Network, problems: Sequence[tuple[str, ...]], watch: Watch) -> list[Solution]:
    return sequential.solve(network.task, network.decoder, problems, watch=watch)


def _lookahead(network: Network, problems: Sequence[tuple[str, ...]], watch: Watch) -> list[Solution]:
    from alga.engines import lookahead  # noqa: PLC0415 - it takes numpy

    assert isinstance(network.trained, Lookahead)
    return lookahead.solve(network.trained, network.decoder, problems, watch=watch)


_ENGINES: dict[str, Engine] = {"table": _table, "sequential": _sequential, "lookahead": _lookahead}


def names() -> tuple[str, ...]:
    """Return the names of all engines."""
    return tuple(_ENGINES)


def find(name: str) -> Engine:
    """Return the engine of that name.

    >>> find("abacus")
    Traceback (most recent call last):
    alga.errors.AlgaError: unknown engine 'abacus'; there are table, sequential, lookahead
    """
    if name not in _ENGINES:
        raise AlgaError(f"unknown engine {name!r}; there are {', '.join(_ENGINES)}")
    return _ENGINES[name]
