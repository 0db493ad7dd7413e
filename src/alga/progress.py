"""How long work says how far it is: it calls a Watch with what is done and what there is. Nothing here prints."""

from __future__ import annotations

from collections.abc import Callable

Watch = Callable[[int, int], None]


def unwatched(done: int, total: int) -> None:
    """Let nobody know."""
