"""The figure of a sweep: a measurement against a setting, from its results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from alga.base.errors import AlgaError
from alga.research import statistics
from alga.research.figures import Panel, Series, study
from alga.research.sweep_table import Values

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LABELS: Final = {"certified_at": "steps to the certificate", "seconds": "seconds to the certificate"}
WIDE: Final = 20  # a largest value this many times the smallest asks for a logarithmic axis
MOST_SERIES: Final = 12
MOST_NAMED: Final = 8  # values of a setting that stand side by side; more are drawn to scale


def draw(rows: Sequence[tuple[Values, Values]], x: str | None, y: str, title: str) -> Figure:
    """Draw a measurement against a setting: medians over the seeds with their intervals, and each run as a dot.

    Without `x`, it is the setting with the most values; the others that vary become series. A run without the
    measurement, such as one that was never certified, counts as infinite.
    """
    names = dict.fromkeys(name for of, _ in rows for name in of)
    values: dict[str, dict[str, Any]] = {name: {_key(of.get(name)): of.get(name) for of, _ in rows} for name in names}
    varying = [name for name, found in values.items() if name != "seed" and len(found) > 1]
    if x is None:
        x = max(varying, key=lambda name: len(values[name]), default="seed")
    if x not in values:
        raise AlgaError(f"no run has the setting {x!r}; {', '.join(varying) or 'only seed'} vary")
    measured = {name for _, result in rows for name, value in result.items() if _is_number(value)}
    if y not in measured:
        raise AlgaError(f"no run has the measurement {y!r}; there are {', '.join(sorted(measured))}")
    others = [name for name in varying if name != x]
    gathered: dict[str, dict[str, list[float | None]]] = {}
    for of, result in rows:
        label = ", ".join(f"{name.replace('_', ' ')} {of.get(name)}" for name in others) or "all"
        points = gathered.setdefault(label, {}).setdefault(_key(of.get(x)), [])
        points.append(result[y] if _is_number(result.get(y)) else None)
    if len(gathered) > MOST_SERIES:
        raise AlgaError(f"{len(gathered)} combinations of {', '.join(others)} are too many for a figure; choose --x")
    numeric = all(map(_is_number, values[x].values()))
    places = sorted(values[x], key=values[x].__getitem__ if numeric else str)
    to_scale = numeric and len(places) > MOST_NAMED
    at: dict[str, float] = {key: values[x][key] if to_scale else i for i, key in enumerate(places)}
    series = [_series(label, points, at) for label, points in gathered.items()]
    panel = Panel(
        xlabel=x.replace("_", " "),
        ylabel=LABELS.get(y, y.replace("_", " ")),
        series=series,
        xscale=_scale([*at.values()]) if to_scale else "linear",
        yscale=_scale([value for each in series for _, value in each.singles]),
        names=() if to_scale else [str(values[x][key]) for key in places],
    )
    return study([panel], title)


def _series(label: str, points: Mapping[str, Sequence[float | None]], at: Mapping[str, float]) -> Series:
    medians = [(at[key], statistics.median(points[key])) for key in at if key in points]
    singles = [(at[key], value) for key, each in points.items() for value in each if value is not None]
    return Series(label, medians, singles=singles)


def _scale(values: Sequence[float]) -> str:
    return "log" if values and min(values) > 0 and max(values) > WIDE * min(values) else "linear"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _key(value: object) -> str:
    return json.dumps(value, sort_keys=True)
