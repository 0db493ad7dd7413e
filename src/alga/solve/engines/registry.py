"""HOW steps are chained into an answer: every engine gives the same one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, cast

from alga.base.errors import AlgaError
from alga.base.progress import Watch
from alga.solve.engines import sequential, table
from alga.solve.engines.solution import Solution, Step, as_table
from alga.tasks import Lookahead, Procedure, Task
from alga.trust.table import Table

if TYPE_CHECKING:
    from alga.network.decoder import Decoded

__all__ = ["Engine", "Network", "Solution", "Step", "as_table", "find", "names"]

Engine = Callable[["Network", Sequence[tuple[str, ...]], Watch], list[Solution]]


class Network(Protocol):
    """What an engine may ask of a network; each takes what it needs, so that the rest need not be loaded."""

    @property
    def procedure(self) -> Procedure:
        """The procedure whose problems are solved."""

    @property
    def trained(self) -> Task:
        """What the network has learned."""

    def decode(self, prompts: Sequence[str]) -> list[Decoded]:
        """Ask the network itself."""

    @property
    def table(self) -> Table:
        """All that the network answers."""


def _table(network: Network, problems: Sequence[tuple[str, ...]], watch: Watch) -> list[Solution]:
    return table.solve(network.procedure, network.table, problems, watch=watch)


def _sequential(network: Network, problems: Sequence[tuple[str, ...]], watch: Watch) -> list[Solution]:
    return sequential.solve(network.procedure, network.decode, problems, watch=watch)


def _lookahead(network: Network, problems: Sequence[tuple[str, ...]], watch: Watch) -> list[Solution]:
    from alga.solve.engines import lookahead

    return lookahead.solve(cast(Lookahead, network.trained), network.decode, problems, watch=watch)


_ENGINES: dict[str, Engine] = {"table": _table, "sequential": _sequential, "lookahead": _lookahead}


def names() -> tuple[str, ...]:
    """Return the names of all engines."""
    return tuple(_ENGINES)


def find(name: str) -> Engine:
    """Return the engine of that name.

    >>> find("abacus")
    Traceback (most recent call last):
    alga.AlgaError: unknown engine 'abacus'; there are table, sequential, lookahead
    """
    if name not in _ENGINES:
        raise AlgaError(f"unknown engine {name!r}; there are {', '.join(_ENGINES)}")
    return _ENGINES[name]
