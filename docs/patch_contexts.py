"""`make patching`: where does the adder keep the carry? Patch every head for every pair of contexts, on every column.

For each pair of contexts and each of the 110 columns, the prompt with one context is decoded while one head's output is
that of the prompt with the other context. Nothing is sampled. Counted are answers that change, and answers that become
what the other context would give. It writes results/patching.json, docs/figures/patching.png and the table of
docs/interpretability.md; a folder may be named instead of the repository.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import alga
from alga.base import figures
from alga.network.effects import Effects

ROOT = Path(__file__).parents[1]
MARKS = ("<!-- patching -->\n", "<!-- end of patching -->")

Head = dict[str, Any]


def patched(effects: Effects, contexts: Sequence[str], columns: Sequence[str]) -> list[Head]:
    """Return for each head two grids, own by other context: answers that change, and that become the other's."""
    found = []
    shape = effects.decoder.model.config
    for layer, head in ((layer, head) for layer in range(shape.layers) for head in range(shape.heads)):
        changed, moved = ([[0] * len(contexts) for _ in contexts] for _ in range(2))
        for other, context in enumerate(contexts):
            sources = {f"{own}C{column}": f"{context}C{column}" for own in contexts for column in columns}
            for change in effects.patch(f"blocks.{layer}.attn.hook_z", sources, heads=[head]).changes:
                own = contexts.index(change.prompt.partition("C")[0])
                changed[own][other] += 1
                moved[own][other] += change.after == effects.steps[sources[change.prompt]].text
        found.append({"layer": layer, "head": head, "changed": changed, "moved": moved})
        print(f"block {layer}, head {head}: {len(contexts) ** 2} pairs of contexts, {len(columns)} columns each")
    return found


def table(heads: Sequence[Head], contexts: Sequence[str], columns: int) -> str:
    """Return the shares by head, for pairs of contexts that differ in the carry and for those that do not."""

    def share(grid: Sequence[Sequence[int]], counts: Callable[[str, str], bool]) -> str:
        cells = [
            grid[i][j]
            for i, own in enumerate(contexts)
            for j, other in enumerate(contexts)
            if i != j and counts(own, other)
        ]
        return f"{sum(cells) / len(cells) / columns:.1%}"

    lines = [
        "| head | carry differs: answers that change | that become the other's | same carry: answers that change |",
        "| --- | --- | --- | --- |",
    ]
    for head in heads:
        shares = [
            share(head["changed"], lambda own, other: len(own) != len(other)),  # a context with a carry has two digits
            share(head["moved"], lambda own, other: len(own) != len(other)),
            share(head["changed"], lambda own, other: len(own) == len(other)),
        ]
        lines.append(f"| block {head['layer']}, head {head['head']} | {' | '.join(shares)} |")
    return "\n".join(lines) + "\n"


def drawn(heads: Sequence[Head], contexts: Sequence[str], columns: int) -> Figure:
    """Draw for each head the share of answers that change, by own and other context."""
    figure = Figure(figsize=(9, 2.7), layout="constrained")
    axes = figure.subplots(1, len(heads), sharey=True)
    ticks = sorted({*range(0, len(contexts), 5), len(contexts) - 1})
    for axis, head in zip(axes, heads, strict=True):
        shares = [[count / columns for count in row] for row in head["changed"]]
        image = axis.imshow(shares, vmin=0, vmax=1, cmap="Blues")
        axis.set_title(f"block {head['layer']}, head {head['head']}", fontsize=9)
        axis.set_xlabel("context patched in", fontsize=8)
        axis.set_xticks(ticks, [contexts[i] for i in ticks], fontsize=7)
        axis.set_yticks(ticks, [contexts[i] for i in ticks], fontsize=7)
    axes[0].set_ylabel("own context", fontsize=8)
    figure.colorbar(image, ax=axes, shrink=0.8).set_label("share of answers that change", fontsize=8)
    return figure


def write(root: Path, contexts: Sequence[str], columns: Sequence[str]) -> None:
    """Patch, and write record, figure and table."""
    network = alga.load().network
    began = time.monotonic()
    heads = patched(network.effects, contexts, columns)
    seconds, prompts = round(time.monotonic() - began), len(heads) * len(contexts) ** 2 * len(columns)
    print(f"{prompts:,} patched prompts in {seconds} s")
    record = {
        "network": network.run.name, "sha256": network.run.sha256, "seconds": seconds, "prompts": prompts,
        "contexts": contexts, "columns": len(columns), "heads": heads,
    }  # fmt: skip
    for folder in ("results", "docs/figures"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "results/patching.json").write_text(json.dumps(record) + "\n")
    picture = drawn(heads, contexts, len(columns))
    (root / "docs/figures/patching.png").write_bytes(figures.render(picture, ".png"))
    page = root / "docs/interpretability.md"
    before, rest = page.read_text().split(MARKS[0])
    page.write_text(f"{before}{MARKS[0]}{table(heads, contexts, len(columns))}{MARKS[1]}{rest.split(MARKS[1])[1]}")


if __name__ == "__main__":
    everything = alga.load().network.trained.domain.axes
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT, [each for each in everything[0] if each], everything[1])
