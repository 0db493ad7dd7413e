"""Networks that a sweep keeps: a run folder per trial, beside the results, of all trials or of the best.

A worker, which may be on another machine, sends the files of its run with the result. The process that runs the sweep
writes them, each folder complete before its line is in the results; in that line are only the measurements.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import shutil
from pathlib import Path
from typing import Any, Final

from alga.base.folders import Folder
from alga.research.sweeps import Row, Settings
from alga.runs import Run, checksums
from alga.runs.folder import contents

KEPT: Final = ("best", "all")
FILES: Final = "files"  # the key of a run's files in a result


def packed(run: Run) -> dict[str, str]:
    """Return the files of a run as text."""
    return {name: base64.b64encode(data).decode() for name, data in contents(run).items()}


def name_of(settings: Settings) -> str:
    """Return the name of a trial: its recipe and seed, and the beginning of a hash of all its settings.

    >>> name_of({"recipe": {"name": "fast", "task": "addition"}, "seed": 3, "keep": "all"})
    'fast-3-025909f9'
    """
    others = {name: value for name, value in settings.items() if name != "keep"}
    found = hashlib.sha256(json.dumps(others, sort_keys=True).encode()).hexdigest()
    return f"{settings['recipe']['name']}-{settings['seed']}-{found[:8]}"


def folder_of(results: Path) -> Path:
    """Return the folder of the networks of a sweep, beside its results: `shares.runs` for `shares.jsonl`."""
    return results.with_suffix(".runs")


class KeptRuns:
    """Writes the networks of a sweep as they come."""

    def __init__(self, results: Path, keep: str) -> None:
        self.folder, self._keep = folder_of(results), keep
        self._best: tuple[float, ...] | None = None

    def receive(self, row: Row) -> None:
        """Take the files out of a row, and write them if they are to be kept."""
        if row.result is None or FILES not in row.result:
            return
        files = {name: base64.b64decode(data) for name, data in row.result.pop(FILES).items()}
        row.result["trial"] = name_of(row.settings)
        if self._keep == "all" or self._best is None or merit(row.result) > self._best:
            self._write(row.result["trial"], files)
            self._best = merit(row.result) if self._best is None else max(self._best, merit(row.result))

    def _write(self, name: str, files: dict[str, bytes]) -> None:
        """Write a run folder under its name once it is complete, in the place of one that a kill left there."""
        path, unfinished = self.folder / name, self.folder / f".{name}.unfinished"
        for old in (path, unfinished):
            shutil.rmtree(old, ignore_errors=True)
        unfinished.mkdir(parents=True)
        checksums.replace(Folder(unfinished), {file: files[file] for file in checksums.SEALED if file in files})
        unfinished.rename(path)

    def finish(self, rows: list[Row]) -> list[Path]:
        """Return the folders that are kept; of `best`, remove those of trials that others have surpassed."""
        done = [row.result for row in rows if row.result is not None and "trial" in row.result]
        if self._keep == "best" and done:
            best = max(done, key=merit)
            for row in done:
                if row["trial"] != best["trial"]:
                    shutil.rmtree(self.folder / row["trial"], ignore_errors=True)
            done = [best]
        return [path for row in done if (path := self.folder / row["trial"]).is_dir()]


def merit(result: dict[str, Any]) -> tuple[float, ...]:
    """Return what the best trial has most of: certified, in few steps; else few wrong prompts; then a wide margin."""
    steps = math.inf if result["certified_at"] is None else result["certified_at"]
    return (-steps, -result["wrong"], result["least_margin"])
