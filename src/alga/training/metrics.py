"""Metrics of a training: its checks, as lines of metrics.jsonl, and the curves drawn from them. It needs no torch."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Final

from alga.base import figures
from alga.base.errors import AlgaError, Blaming
from alga.base.folders import Folder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METRICS: Final = "metrics.jsonl"
CURVES: Final = tuple(f"curves{suffix}" for suffix in figures.SUFFIXES)
MAX_METRICS_BYTES: Final = 2**28
MAX_METRICS_LINE: Final = 4096  # ours have about 250
MAX_VALUE: Final = 1e40
PANELS: Final = (
    ("loss", "train loss", "log"),
    ("evaluation_loss", "evaluation loss (dropout off)", "log"),
    ("accuracy", "prompts right (%)", "linear"),
    ("edit_distance", "edit distance", "linear"),
)


@dataclass(frozen=True)
class Progress:
    """One check of every prompt during a training: a line of metrics.jsonl."""

    evaluation_loss: float  # dropout off
    accuracy: float  # per cent
    edit_distance: float  # mean, between the written and the expected text
    wrong: int
    least_margin: float
    step: int
    loss: float  # mean over the last `check_every` steps
    learning_rate: float
    seconds: float  # of training and checking so far


def append(folder: Folder, progress: Progress) -> None:
    """Append a line and sync it, so that it is on disk before a checkpoint counts it."""
    row = {name: value if math.isfinite(value) else None for name, value in asdict(progress).items()}
    folder.append(METRICS, json.dumps({"step": progress.step} | row, allow_nan=False))


def first_lines(folder: Folder, count: int) -> bytes:
    """Return the first `count` lines, which a checkpoint counted; later ones will be written again."""
    path = folder.path / METRICS
    lines = _lines(folder)
    if len(lines) < count:
        raise AlgaError(f"{path} has lost lines: expected {count}, got {len(lines)}")
    _ = _rows(path, lines[:count])  # refuse damage now, not at the end of the training
    return b"".join(lines[:count])


def curves(rows: Sequence[Mapping[str, float | None]], title: str) -> Figure:
    """Draw the author's four panels: both losses, accuracy and edit distance, one point per check."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(11, 6), layout="constrained")
    steps = [row["step"] for row in rows]
    right = next((row["step"] for row in rows if row["wrong"] == 0), None)
    for axes, (key, label, scale) in zip(figure.subplots(2, 2).flat, PANELS, strict=True):
        values = [float("nan") if row[key] is None else row[key] for row in rows]
        axes.plot(steps, values, color="tab:blue", linewidth=1.2)
        axes.set(xlabel="iterations", ylabel=label, yscale=scale)
        axes.grid(alpha=0.3)
        if right is not None:
            axes.axvline(right, color="tab:green", linestyle="--", linewidth=1, label=f"all right at {right:,.0f}")
            axes.legend(fontsize=8)
    figure.suptitle(figures.as_text(title), fontsize=11)
    return figure


def draw(folder: Folder, title: str) -> None:
    """Draw the curves of a run into its folder, if it has any metrics."""
    if measured := rows(folder):
        figure = curves(measured, title)
        for name, suffix in zip(CURVES, figures.SUFFIXES, strict=True):
            folder.write(name, figures.render(figure, suffix))


def rows(folder: Folder) -> list[dict[str, float | None]]:
    """Return the checks of a training; empty if there is no metrics.jsonl."""
    return _rows(folder.path / METRICS, _lines(folder))


def _lines(folder: Folder) -> list[bytes]:
    return folder.read(METRICS, MAX_METRICS_BYTES).splitlines(keepends=True) if folder.has(METRICS) else []


def _rows(path: Path, lines: list[bytes]) -> list[dict[str, float | None]]:
    """Parse a check from each line; refuse anything else."""
    names = {each.name for each in fields(Progress)}
    with Blaming(f"{path} is damaged"):
        if any(len(line) > MAX_METRICS_LINE for line in lines):
            raise AlgaError(f"{path} is damaged: a line has more than {MAX_METRICS_LINE:,} bytes")
        rows = [json.loads(line) for line in lines]
        if any(row.keys() != names or not all(_is_valid(value) for value in row.values()) for row in rows):
            raise AlgaError(f"{path} is damaged: expected the numbers of a check")
    return rows


def _is_valid(value: object) -> bool:
    """Return whether a value is null or a number of float32's range; larger ones cannot be drawn."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value is None
    return abs(value) < MAX_VALUE
