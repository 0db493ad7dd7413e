"""The baselines by name. A method is one class (docs/rivals.md); `mine.py:Method` names your own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alga.base.errors import AlgaError
from alga.tasks import own

if TYPE_CHECKING:
    from alga.research.baselines.contract import Baseline

METHODS = {
    "plain": "formats:Plain",
    "markers": "formats:Markers",
    "scratchpad": "formats:Scratchpad",
    "reversed": "formats:Reversed",
    "simplified": "formats:Simplified",
    "detailed": "formats:Detailed",
    "abacus": "formats:Abacus",
    "coupling": "formats:Coupling",
    "concatenated": "columns:Concatenated",
    "first-type": "columns:FirstType",
    "alga": "columns:Alga",
}


def find(name: str) -> type[Baseline]:
    """Return the method of that name, or the class that `mine.py:Method` names."""
    from importlib import import_module

    from alga.research.baselines.contract import Baseline

    if own.FILE_AND_CLASS.fullmatch(name):
        return own.read(name, Baseline)[0]
    if name not in METHODS:
        raise AlgaError(f"unknown method {name!r}; there are {', '.join(METHODS)}; your own as FILE.py:CLASS")
    module, _, kind = METHODS[name].partition(":")
    found: type[Baseline] = getattr(import_module(f"alga.research.baselines.{module}"), kind)
    return found
