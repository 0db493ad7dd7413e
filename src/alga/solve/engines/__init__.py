"""Engines: ways from operands to an answer by a network's steps. All of them give the same answer.

`sequential` is the paper's procedure, `table` looks the same steps up, `lookahead` finds all carries at once,
`whole` reads both numbers in one text.
"""

from __future__ import annotations

from typing import Final

from alga.base.errors import AlgaError

TRACED: Final = ("sequential", "whole")  # engines whose steps can be kept
ENGINES: Final = ("table", "sequential", "lookahead", "whole")


def check_engine(name: str | None) -> None:
    """Refuse the name of an engine that does not exist; None stands for the default.

    >>> check_engine("abacus")
    Traceback (most recent call last):
    alga.AlgaError: unknown engine 'abacus'; there are table, sequential, lookahead, whole
    """
    if name is not None and name not in ENGINES:
        raise AlgaError(f"unknown engine {name!r}; there are {', '.join(ENGINES)}")
