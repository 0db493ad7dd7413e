"""Markdown for generated pages: templates, tables and wrapped paragraphs."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TEMPLATES = Path(__file__).parent / "templates"


def page(template: str, **values: Any) -> str:
    """Return a page of `templates/` with its fields filled in, its paragraphs wrapped and empty blocks left out."""
    blocks = [block.format(**values) for block in (TEMPLATES / f"{template}.md").read_text().strip().split("\n\n")]
    return joined(*(wrapped(block) if block[:1].isalpha() or block[:1] == "*" else block for block in blocks))


def joined(*blocks: str) -> str:
    """Return blocks as a page, with an empty line between them; empty blocks are left out."""
    return "\n\n".join(block for block in blocks if block) + "\n"


def wrapped(text: str, indent: str = "") -> str:
    """Wrap a paragraph at 120 columns; `indent` starts every line but the first."""
    return textwrap.fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def table(heads: Sequence[str], *rows: Sequence[str]) -> str:
    """Return a table.

    >>> print(table(["digits", "right"], ["5", "100 %"]))
    | digits | right |
    | --- | --- |
    | 5 | 100 % |
    """
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows))
