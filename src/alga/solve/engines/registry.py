"""The engines by name, and what each may use of a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from alga.base.errors import AlgaError
from alga.solve.engines import sequential, table
from alga.solve.result import Result
from alga.tasks import Lookahead, Procedure, Task
from alga.trust.table import Table

if TYPE_CHECKING:
    from alga.network.decoder import Decode


@dataclass(frozen=True)
class Work:
    """A network for one batch of problems; each engine takes what it needs, so that the rest need not be loaded."""

    procedure: Procedure
    trained: Task
    decode: Decode
    table: Callable[[], Table]


Engine = Callable[..., list[Result]]  # of the work and problems; with `watch` and `cancel`


def _lookahead(work: Work, problems: Sequence[tuple[str, ...]], **options: Any) -> list[Result]:
    from alga.solve.engines import lookahead

    return lookahead.solve(cast(Lookahead, work.trained), work.decode, problems, **options)


_ENGINES: dict[str, Engine] = {
    "table": lambda work, problems, **options: table.solve(work.procedure, work.table(), problems, **options),
    "sequential": lambda work, problems, **options: sequential.solve(work.procedure, work.decode, problems, **options),
    "lookahead": _lookahead,
}


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
