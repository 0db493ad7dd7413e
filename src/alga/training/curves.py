"""The training curves, drawn from the rows of metrics.jsonl."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from alga.base.figures import as_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANELS: Final = (
    ("loss", "train loss", "log"),
    ("evaluation_loss", "evaluation loss (dropout off)", "log"),
    ("accuracy", "prompts right (%)", "linear"),
    ("edit_distance", "edit distance", "linear"),
)


def curves(rows: Sequence[Mapping[str, float | None]], title: str) -> Figure:
    """Draw the author's four panels: both losses, accuracy and edit distance, one point per check."""
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
    figure.suptitle(as_text(title), fontsize=11)
    return figure
