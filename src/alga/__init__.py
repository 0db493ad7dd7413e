"""ALGA: a tiny Transformer that adds numbers of any length, one column at a time, certified on every step there is.

    >>> import alga
    >>> alga.load().add("65785", "8765")
    '74550'

Method: A. G. Patriota, "Arbitrary-Length Generalization for Addition in a Tiny Transformer", arXiv 2406.00075.
"""

from __future__ import annotations

from alga.errors import AlgaError

TYPE_CHECKING = False  # typing's own takes as long to import as all that `alga` needs to begin
if TYPE_CHECKING:
    from typing import Any

    from alga.answers import Answer, Trace
    from alga.arithmetic import Arithmetic, Result
    from alga.calculator import Calculator, load
    from alga.certificate import Certificate

__all__ = ["AlgaError", "Answer", "Arithmetic", "Calculator", "Certificate", "Result", "Trace", "load"]
__version__ = "0.1.0"

_HOME = {
    "Answer": "alga.answers",
    "Arithmetic": "alga.arithmetic",
    "Result": "alga.arithmetic",
    "Calculator": "alga.calculator",
    "Certificate": "alga.certificate",
    "Trace": "alga.answers",
    "load": "alga.calculator",
}


def __getattr__(name: str) -> Any:
    """Import on first use: torch takes over a second, and help or an error message should not wait for it."""
    if name not in _HOME:
        raise AttributeError(f"module 'alga' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - likewise

    return getattr(import_module(_HOME[name]), name)
