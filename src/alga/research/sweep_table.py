"""The results of a sweep as rows of plain values: for figures, and for pandas."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

from alga.base import files
from alga.base.errors import AlgaError
from alga.research import records
from alga.research.sweeps.sweep import MAX_RESULT_BYTES
from alga.runs.config import Recipe

Values = dict[str, Any]


def table(path: str | os.PathLike[str]) -> list[Values]:
    """Return a row for each run in a file of results: every setting, the seed, and the measurements.

    A recipe's limit of steps is `most_steps`; `steps` are those taken. A failed run has an `error` instead.
    """
    return [{("most_steps" if name == "steps" else name): of[name] for name in of} | got for of, got in read(path)]


def read(path: str | os.PathLike[str]) -> list[tuple[Values, Values]]:
    """Return the settings and the measurements of every run in a file of results."""
    path, found = Path(path), list[tuple[Values, Values]]()
    with records.blaming(path, "sweep results"):
        for line in files.whole_lines(path, MAX_RESULT_BYTES):
            row = json.loads(line)
            settings, failed = dict(row["settings"]), {"error": row.get("error")} if row.get("error") else {}
            recipe = dataclasses.asdict(Recipe(**settings.pop("recipe")))
            found.append((recipe | recipe.pop("options") | settings, dict(row["result"] or {}) | failed))
    if not found:
        raise AlgaError(f"{path} has no sweep results")
    return found
