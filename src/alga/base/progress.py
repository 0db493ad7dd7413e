"""Progress callbacks: long-running functions call `watch(done, total)`."""

from __future__ import annotations

from collections.abc import Callable

Watch = Callable[[int, int], None]


def unwatched(done: int, total: int) -> None:
    """Ignore progress: the default callback."""
