"""The names of the engines."""

from __future__ import annotations

from typing import Final

from alga.base.errors import AlgaError

TRACED: Final = ("sequential", "whole")  # engines whose steps can be kept
ENGINES: Final = ("table", "sequential", "lookahead", "whole")


def check_engine(name: str) -> None:
    """Refuse the name of an engine that does not exist.

    >>> check_engine("abacus")
    Traceback (most recent call last):
    alga.AlgaError: unknown engine 'abacus'; there are table, sequential, lookahead, whole
    """
    if name not in ENGINES:
        raise AlgaError(f"unknown engine {name!r}; there are {', '.join(ENGINES)}")
