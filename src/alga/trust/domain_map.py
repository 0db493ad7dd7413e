"""The figure of a certificate: every prompt of the domain, coloured by margin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from alga.base.figures import as_text
from alga.tasks import Domain

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def domain_map(domain: Domain, margins: Mapping[str, float | None], title: str) -> Figure:
    """Draw contexts by columns, one cell per prompt; a margin of None marks a wrong answer."""
    from matplotlib.colors import ListedColormap  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    contexts, columns = domain.axes
    row = {context: i for i, context in enumerate(contexts)}
    index = {column: i for i, column in enumerate(columns)}
    missing = float("nan")
    grid = [[missing] * len(columns) for _ in contexts]
    wrong = [[missing] * len(columns) for _ in contexts]
    for instance in domain.values():
        i, j = row[instance.context], index[instance.column]
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
    axes.set_xticks(
        [j + 0.5 for j in range(0, len(columns), every)], [as_text(column) for column in columns[::every]], fontsize=7
    )
    few = max(1, len(contexts) // 25)
    labels = ["none" if context is None else as_text(context) for context in contexts]
    axes.set_yticks([i + 0.5 for i in range(0, len(contexts), few)], labels[::few], fontsize=7)
    axes.invert_yaxis()
    axes.set(xlabel="column", ylabel="previous output")
    axes.set_title(as_text(title), fontsize=10)
    return figure
