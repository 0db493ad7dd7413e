"""Rendering figures to PNG or SVG files, chosen by suffix. The figures themselves are drawn in the other rooms."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Final

from alga.base.errors import AlgaError, installed, missing_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES: Final = (".png", ".svg")


def check(path: Path) -> None:
    """Refuse a figure that cannot be drawn before any work is done."""
    if not installed("matplotlib"):
        raise missing_extra("a figure", "matplotlib", "train")
    if path.suffix not in SUFFIXES:
        raise AlgaError(f"a figure ends in {' or '.join(SUFFIXES)}, got {path.name!r}")


def as_text(text: str) -> str:
    """Escape dollar signs, which matplotlib would read as math."""
    return text.replace("$", r"\$")


def render(figure: Figure, suffix: str) -> bytes:
    """Return the file content; deterministic for a given figure."""
    from matplotlib import rc_context  # noqa: PLC0415

    buffer = io.BytesIO()
    metadata = {"Date": None} if suffix == ".svg" else {"Software": None}
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "alga"}):  # selectable text; reproducible ids
        figure.savefig(buffer, format=suffix[1:], dpi=110, metadata=metadata)
    return buffer.getvalue()
