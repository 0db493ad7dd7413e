"""Results -> figures, as PNG or SVG by the file's ending; never imports torch."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from alga.errors import AlgaError
from alga.tasks import Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS: Final = (".png", ".svg")
PANELS: Final = (
    ("loss", "train loss", "log"),
    ("evaluation_loss", "evaluation loss (dropout off)", "log"),
    ("accuracy", "prompts right (%)", "linear"),
    ("edit_distance", "edit distance", "linear"),
)
CROWDED: Final = 3  # more series than these need a legend outside and markers of their own
MARKERS: Final = "osD^v<>PXh*"
COLOURS: Final = 10  # of matplotlib's cycle; the next is black


def check(path: Path) -> None:
    """Refuse a figure that could not be drawn, before the work that it would show."""
    if path.suffix not in FORMATS:
        raise AlgaError(f"a figure ends in {' or '.join(FORMATS)}, got {path.name!r}")


def domain_map(task: Task, margins: Mapping[str, float | None], title: str) -> Figure:
    """Draw every prompt there is, contexts by columns, coloured by margin; None marks a wrong one."""
    from matplotlib.colors import ListedColormap  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    instances = list(task.domain.values())
    contexts, columns = task.axes()
    row = {context: i for i, context in enumerate(contexts)}
    place = {column: i for i, column in enumerate(columns)}
    missing = float("nan")
    grid = [[missing] * len(columns) for _ in contexts]
    wrong = [[missing] * len(columns) for _ in contexts]
    for instance in instances:
        i, j = row[instance.context], place[instance.column]
        margin = margins[instance.prompt]
        if margin is None:
            wrong[i][j] = 1.0
        else:
            grid[i][j] = margin

    figure = Figure(figsize=(11, 3.6), layout="constrained")
    axes = figure.subplots()
    shown = axes.pcolormesh(grid, cmap="viridis", edgecolors="white", linewidth=0.3)
    axes.pcolormesh(wrong, cmap=ListedColormap(["red"]))
    figure.colorbar(shown, ax=axes, label="margin", pad=0.01)
    every = max(1, len(columns) // 22)
    axes.set_xticks([j + 0.5 for j in range(0, len(columns), every)], columns[::every], fontsize=7)
    few = max(1, len(contexts) // 25)
    labels = ["none" if context is None else context for context in contexts]
    axes.set_yticks([i + 0.5 for i in range(0, len(contexts), few)], labels[::few], fontsize=7)
    axes.invert_yaxis()
    axes.set(xlabel="column", ylabel="previous output")
    axes.set_title(title, fontsize=10)
    return figure


def curves(rows: Sequence[Mapping[str, float | None]], title: str) -> Figure:
    """Draw a training as the author's four panels: both losses, accuracy and edit distance, a point per check."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(11, 6), layout="constrained")
    steps = [row["step"] for row in rows]
    right = next((row["step"] for row in rows if row["wrong"] == 0), None)
    for axes, (key, label, scale) in zip(figure.subplots(2, 2).flat, PANELS, strict=True):
        axes.plot(
            steps, [float("nan") if row[key] is None else row[key] for row in rows], color="tab:blue", linewidth=1.2
        )
        axes.set(xlabel="iterations", ylabel=label, yscale=scale)
        axes.grid(alpha=0.3)
        if right is not None:
            axes.axvline(right, color="tab:green", linestyle="--", linewidth=1, label=f"all right at {right:,.0f}")
            axes.legend(fontsize=8)
    figure.suptitle(title, fontsize=11)
    return figure


def speeds(labels: Mapping[str, str], points: Mapping[str, Sequence[tuple[int, float]]]) -> Figure:
    """Draw nanoseconds per digit against the digits of a sum, a line for each way of adding."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(9, 5.5), layout="constrained")
    axes = figure.add_subplot()
    for name, label in labels.items():
        if points[name]:
            ours = label.startswith("engine")
            axes.loglog(*zip(*points[name], strict=True), "o-" if ours else "s--", label=label, markersize=5)
    axes.set_xlabel("digits of each number")
    axes.set_ylabel("nanoseconds per digit")
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    axes.set_title("What one digit of a sum costs")
    return figure


@dataclass(frozen=True)
class Series:
    """Points with intervals: x, value, low, high; what is infinite never came, and is left out."""

    label: str
    points: Sequence[tuple[float, tuple[float, float, float]]]
    joined: bool = True
    singles: Sequence[tuple[float, float]] = ()  # what single runs measured: faint dots


@dataclass(frozen=True)
class Panel:
    """One part of a study's figure."""

    xlabel: str
    ylabel: str
    series: Sequence[Series]
    title: str = ""
    xscale: str = "linear"
    yscale: str = "linear"
    names: Sequence[str] = ()  # of the places 0, 1, 2 … where x is no number
    until: float | None = None  # up to this x it was trained: shaded


def study(panels: Sequence[Panel], title: str) -> Figure:
    """Draw a study's panels side by side: values as points, their intervals as bars."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(11 if len(panels) > 1 else 8, 4.2), layout="constrained")
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False).flat, panels, strict=True):
        several, crowded = len(panel.series) > 1, len(panel.series) > CROWDED
        for i, series in enumerate(panel.series):
            points = [(x, interval) for x, interval in series.points if math.isfinite(interval[0])]
            colour = f"C{i}" if i < COLOURS else "black"
            if not points:
                axes.plot([], [], color=colour, label=f"{series.label} (never)")
                continue
            top = max(y for _, interval in points for y in interval if math.isfinite(y))
            shift = (i - (len(panel.series) - 1) / 2) * 0.12 if panel.names else 0.0
            xs, ys = [x + shift for x, _ in points], [interval[0] for _, interval in points]
            below = [value - low for _, (value, low, _) in points]
            above = [min(high, top) - value for _, (value, _, high) in points]
            style = MARKERS[i % len(MARKERS)] if crowded else "o"
            if series.joined and not panel.names:
                style += "-" if i < COLOURS else "--"  # so that an earlier one shows through
            bars = {"markersize": 4, "linewidth": 1.2, "capsize": 2, "color": colour}
            axes.errorbar(xs, ys, yerr=[below, above], fmt=style, label=series.label, **bars)
            if series.singles:
                axes.scatter(*zip(*series.singles, strict=True), s=14, color=colour, alpha=0.4, linewidths=0, zorder=1)
        axes.set(xlabel=panel.xlabel, ylabel=panel.ylabel, xscale=panel.xscale)
        axes.set_yscale(panel.yscale, **({"linthresh": 1.0} if panel.yscale == "symlog" else {}))
        if panel.names:
            axes.set_xticks(range(len(panel.names)), panel.names, fontsize=8)
            axes.set_xlim(-0.5, len(panel.names) - 0.5)
        if panel.yscale == "linear":
            low, high = axes.get_ylim()
            axes.set_ylim(min(0.0, low), high + 0.03 * (high - min(0.0, low)))
        elif panel.yscale == "symlog":
            axes.set_ylim(bottom=-0.2)  # counts: just enough to see a zero
        axes.set_title(panel.title, fontsize=10)
        axes.grid(alpha=0.3)
        if panel.until is not None:
            axes.axvspan(axes.get_xlim()[0], panel.until, color="black", alpha=0.06, zorder=0, linewidth=0)
            axes.set_xlim(left=min(x for series in panel.series for x, _ in series.points) * 0.9)
            axes.xaxis.set_major_formatter("{x:g}")
        if several and not crowded:
            axes.legend(fontsize=8)
    if crowded:
        named = figure.axes[0].get_legend_handles_labels()
        figure.legend(*named, loc="outside right center", fontsize=8, frameon=False)
    figure.suptitle(title, fontsize=11)
    return figure


def render(figure: Figure, suffix: str) -> bytes:
    """Return the figure as the bytes of a file, the same for the same figure."""
    from matplotlib import rc_context  # noqa: PLC0415

    buffer = io.BytesIO()
    metadata = {"Date": None} if suffix == ".svg" else {"Software": None}
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "alga"}):  # text as text; the same names every time
        figure.savefig(buffer, format=suffix[1:], dpi=110, metadata=metadata)
    return buffer.getvalue()
