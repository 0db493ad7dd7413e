"""ALGA: a tiny Transformer that adds numbers of any length, one column at a time, certified on every step there is.

    >>> import alga
    >>> alga.load().add("65785", "8765")
    '74550'

Method: A. G. Patriota, "Arbitrary-Length Generalization for Addition in a Tiny Transformer", arXiv 2406.00075.
"""

from __future__ import annotations

from alga.base.errors import AlgaError

TYPE_CHECKING = False  # typing's own takes as long to import as all that `alga` needs to begin
if TYPE_CHECKING:
    from typing import Any

    from alga.base.cancellation import Cancellation
    from alga.network.step import Step
    from alga.solve.arithmetic import Arithmetic as Arithmetic
    from alga.solve.calculator import Calculator
    from alga.solve.differences import diff
    from alga.solve.learning import train
    from alga.solve.loading import load
    from alga.solve.result import Result, Results
    from alga.trust.certificate import Certificate

__all__ = [
    "AlgaError", "Calculator", "Cancellation", "Certificate", "Result", "Results", "Step", "diff", "load", "train",
]  # fmt: skip
__version__ = "0.2.0"

_MODULES = {
    "Arithmetic": "alga.solve.arithmetic",  # the name of version 0.1
    "Calculator": "alga.solve.calculator",
    "Cancellation": "alga.base.cancellation",
    "Certificate": "alga.trust.certificate",
    "Result": "alga.solve.result",
    "Results": "alga.solve.result",
    "Step": "alga.network.step",
    "diff": "alga.solve.differences",
    "load": "alga.solve.loading",
    "train": "alga.solve.learning",
}


def __getattr__(name: str) -> Any:
    """Import on first use: help and error messages should not wait for numpy."""
    if name not in _MODULES:
        raise AttributeError(f"module 'alga' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - likewise

    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    """List the public names, imported or not yet."""
    return sorted([*__all__, "__version__"])
