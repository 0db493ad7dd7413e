"""Figures of experiments: the benchmark's speeds and the panels of studies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from alga.base.figures import as_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from alga.research.bench import Timed

CROWDED: Final = 3  # more series than this get their own markers and a legend outside
MARKERS: Final = "osD^v<>PXh*"
COLOURS: Final = 10  # of matplotlib's cycle; later series are black


def speeds(labels: Mapping[str, str], points: Mapping[str, Sequence[tuple[int, float]]]) -> Figure:
    """Draw nanoseconds per digit against digits, one line per method."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5.5), layout="constrained")
    axes = figure.add_subplot()
    for name, label in labels.items():
        if points[name]:
            style = "o-" if label.startswith("engine") else "s--"
            axes.loglog(*zip(*points[name], strict=True), style, label=label, markersize=5)
    axes.set(xlabel="digits of each number", ylabel="nanoseconds per digit", title="What one digit of a sum costs")
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    return figure


def subject(timed: Timed) -> Figure:
    """Draw the time of one subject against its size, one line per method."""
    from matplotlib.figure import Figure

    about = timed.subject
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for name, (label, _) in about.ways.items():
        points = [(cell.digits, (cell.seconds or 0) / about.parts(cell.digits) * 1e6) for cell in timed.cells[name]]
        if points:
            style = "o-" if label.startswith("alga") else "s--"
            axes.loglog(*zip(*points, strict=True), style, label=label.replace("`", ""), markersize=5)
    axes.set(xlabel=about.size, ylabel=f"microseconds for {about.unit}", title=about.title)
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(frameon=False)
    return figure


@dataclass(frozen=True)
class Series:
    """Points with intervals: x, (value, low, high); infinite values are left out."""

    label: str
    points: Sequence[tuple[float, tuple[float, float, float]]]
    joined: bool = True
    singles: Sequence[tuple[float, float]] = ()  # single runs, drawn as faint dots


@dataclass(frozen=True)
class Panel:
    """One part of a study's figure."""

    xlabel: str
    ylabel: str
    series: Sequence[Series]
    xscale: str = "linear"
    yscale: str = "linear"
    names: Sequence[str] = ()  # tick labels for x = 0, 1, 2 … if x is categorical
    until: float | None = None  # the end of the shaded training range
    legend: bool = False  # whether it has a legend of its own, however many series there are


def study(panels: Sequence[Panel], title: str) -> Figure:
    """Draw a study's panels side by side: values as points, their intervals as bars."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11 if len(panels) > 1 else 8, 4.2), layout="constrained")
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False).flat, panels, strict=True):
        for i, series in enumerate(panel.series):
            _draw(axes, panel, i, series)
        axes.set(xlabel=as_text(panel.xlabel), ylabel=as_text(panel.ylabel), xscale=panel.xscale)
        axes.set_yscale(panel.yscale, **({"linthresh": 1.0} if panel.yscale == "symlog" else {}))
        if panel.names:
            axes.set_xticks(range(len(panel.names)), map(as_text, panel.names), fontsize=8)
            axes.set_xlim(-0.5, len(panel.names) - 0.5)
        if panel.yscale == "linear":
            low, high = axes.get_ylim()
            axes.set_ylim(min(0.0, low), high + 0.03 * (high - min(0.0, low)))
        elif panel.yscale == "symlog":
            axes.set_ylim(bottom=-0.2)  # counts: just enough to see a zero
        axes.grid(alpha=0.3)
        if panel.until is not None:
            axes.axvspan(axes.get_xlim()[0], panel.until, color="black", alpha=0.06, zorder=0, linewidth=0)
            axes.set_xlim(left=min(x for series in panel.series for x, _ in series.points) * 0.9)
            axes.xaxis.set_major_formatter("{x:g}")
        if panel.legend or 1 < len(panel.series) <= CROWDED:
            axes.legend(fontsize=8)
    if len(panels[-1].series) > CROWDED and not panels[-1].legend:
        named = figure.axes[0].get_legend_handles_labels()
        figure.legend(*named, loc="outside right center", fontsize=8, frameon=False)
    figure.suptitle(as_text(title), fontsize=11)
    return figure


def _draw(axes: Any, panel: Panel, i: int, series: Series) -> None:
    """Draw the `i`-th series of a panel."""
    points = [(x, interval) for x, interval in series.points if math.isfinite(interval[0])]
    colour = f"C{i}" if i < COLOURS else "black"
    if not points:
        axes.plot([], [], color=colour, label=f"{as_text(series.label)} (never)")
        return
    top = max(y for _, interval in points for y in interval if math.isfinite(y))
    shift = (i - (len(panel.series) - 1) / 2) * 0.12 if panel.names else 0.0
    xs, ys = [x + shift for x, _ in points], [interval[0] for _, interval in points]
    below = [value - low for _, (value, low, _) in points]
    above = [min(high, top) - value for _, (value, _, high) in points]
    style = MARKERS[i % len(MARKERS)] if len(panel.series) > CROWDED else "o"
    if series.joined and not panel.names:
        style += "-" if i < COLOURS else "--"  # so that an earlier one shows through
    bars = {"markersize": 4, "linewidth": 1.2, "capsize": 2, "color": colour}
    axes.errorbar(xs, ys, yerr=[below, above], fmt=style, label=as_text(series.label), **bars)
    if series.singles:
        singles = [(x + shift, y) for x, y in series.singles]
        axes.scatter(*zip(*singles, strict=True), s=14, color=colour, alpha=0.4, linewidths=0, zorder=1)
