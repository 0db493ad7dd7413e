"""Markdown for generated pages: tables and wrapped paragraphs."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence


def table(heads: Sequence[str], *rows: Sequence[str]) -> str:
    """Return a table.

    >>> print(table(["digits", "right"], ["5", "100 %"]))
    | digits | right |
    | --- | --- |
    | 5 | 100 % |
    """
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows))


def wrapped(text: str, indent: str = "") -> str:
    """Wrap a paragraph at 120 columns; `indent` starts every line but the first."""
    return textwrap.fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def joined(*blocks: str) -> str:
    """Return a page: its blocks with an empty line between them; empty blocks are left out."""
    return "\n\n".join(block for block in blocks if block) + "\n"
