"""HOW steps are chained into an answer: every engine gives the same one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

from alga.engines import sequential
from alga.engines.solution import Solution, Step, as_table
from alga.errors import AlgaError
from alga.progress import Watch
from alga.tasks import Task

if TYPE_CHECKING:
    from alga.decoding import Decode

__all__ = ["DEFAULT", "Engine", "Solution", "Step", "as_table", "find", "names"]


class Engine(Protocol):
    """Solves problems side by side; `watch` is told of steps done and steps there are."""

    def __call__(
        self,
        task: Task,
        decode: Decode,
        problems: Sequence[tuple[str, ...]],
        *,
        keep_steps: bool = False,
        watch: Watch = ...,
    ) -> list[Solution]:
        """Return a solution for each problem, in order."""
        ...


DEFAULT: Final = "sequential"

_ENGINES: dict[str, Engine] = {DEFAULT: sequential.solve}


def names() -> tuple[str, ...]:
    """Return the names of all engines."""
    return tuple(_ENGINES)


def find(name: str) -> Engine:
    """Return the engine of that name.

    >>> find("abacus")
    Traceback (most recent call last):
    alga.errors.AlgaError: unknown engine 'abacus'; there are sequential
    """
    if name not in _ENGINES:
        raise AlgaError(f"unknown engine {name!r}; there are {', '.join(_ENGINES)}")
    return _ENGINES[name]
