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

    from alga.solve.answers import Answer, Trace
    from alga.solve.arithmetic import Arithmetic, Result
    from alga.solve.calculator import Calculator, load
    from alga.trust.certificate import Certificate

__all__ = ["AlgaError", "Answer", "Arithmetic", "Calculator", "Certificate", "Result", "Trace", "load"]
__version__ = "0.1.0"

_HOME = {
    "Answer": "alga.solve.answers",
    "Arithmetic": "alga.solve.arithmetic",
    "Result": "alga.solve.arithmetic",
    "Calculator": "alga.solve.calculator",
    "Certificate": "alga.trust.certificate",
    "Trace": "alga.solve.answers",
    "load": "alga.solve.calculator",
}


def __getattr__(name: str) -> Any:
    """Import on first use: torch takes over a second, and help or an error message should not wait for it."""
    if name not in _HOME:
        raise AttributeError(f"module 'alga' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - likewise

    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    """List what there is to use, imported or not yet."""
    return sorted({*globals(), *__all__})
