"""A picture of what a reader has learned about distances: what each head adds to a score, place by place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alga.base.figures import as_text
from alga.tasks.whole import NEXT, OWN
from alga.trust.proof.outside import Distances

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from alga.trust.proof.bounds import Array

SHOWN: Final = 8  # places on either side


def distance_map(weights: Mapping[str, Array], title: str) -> Figure:
    """Draw the numbers that each head adds to a score, by coupled distance, with its sink."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - it takes half a second

    parts = (weights[f"layers.0.attention.{name}"] for name in ("distances", "slopes", "sinks"))
    heads = [Distances(near, slopes, float(sink)) for near, slopes, sink in zip(*parts, strict=True)]
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    every = range(-SHOWN, SHOWN + 1)
    for i, (axes, head) in enumerate(
        zip(figure.subplots(1, len(heads), sharey=True, squeeze=False)[0], heads, strict=True)
    ):
        axes.axvspan(OWN - 0.5, NEXT + 0.5, color="tab:green", alpha=0.15, label="the two columns that matter")
        near = [distance for distance in every if abs(distance) <= head.reach]
        axes.plot(every, [head.added(distance) for distance in every], color="tab:blue", linewidth=1.2, label="a slope")
        axes.plot(near, [head.added(distance) for distance in near], "o", color="tab:blue", label="a number of its own")
        axes.axhline(head.sink, color="tab:orange", linestyle="--", linewidth=1, label="the sink")
        axes.set(title=f"head {i + 1}", xlabel="coupled distance (0: own place, 1: next)", xticks=[*every][::2])
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("added to the score")
    figure.axes[-1].legend(fontsize=8, loc="upper left")
    figure.suptitle(as_text(title), fontsize=10)
    return figure
