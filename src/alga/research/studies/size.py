"""How small a certified adder can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from alga.research import markdown, trials
from alga.research.figures import Panel, Series
from alga.research.statistics import share
from alga.research.studies.study import Record, Settings, Study, certified, gathered, of, over, picked
from alga.runs.config import Recipe
from alga.training import recipes

SIZE_TASK: Final = "addition-padded"


class Size(Study):
    """Networks from the paper's size down, each with ten seeds or more."""

    name = "size"
    title = "How small"
    caption = "How small: shares and medians over seeds, 95 % intervals"

    def plan(self, quick: bool) -> list[Settings]:
        ladder = _ladder()
        if quick:
            ladder = {name: (replace(ladder[name][0], steps=1000), 2) for name in list(ladder)[1:3]}
        runs = [(shape, recipe, seed) for shape, (recipe, seeds) in ladder.items() for seed in range(seeds)]
        return [trials.settings(recipe, seed, shape=shape) for shape, recipe, seed in runs]

    def record(self, settings: Settings, result: Record) -> Record:
        kept = picked(result, "parameters", "certified_at", "seconds", "wrong", "least_margin", "steps")
        fewest = min(point[1] for point in result["curve"])
        return {**picked(settings, "shape", "seed"), **kept, "fewest_wrong": fewest}

    def findings(self, records: Sequence[Record]) -> Record:
        groups = gathered(records, "shape")
        table = [["network", "parameters", "certified", "iterations", "fewest wrong", "best margin there"]]
        for name, members in groups.items():
            right = certified(members)
            row = [name, f"{members[0]['parameters']:,}", of(right, members)]
            row += [f"{over(members, key):,.0f}" for key in ("certified_at", "fewest_wrong")]
            table.append([*row, f"{max(record['least_margin'] for record in right):.2f}" if right else "-"])
        hopeless = [name for name, members in groups.items() if not certified(members)]
        answer = _smallest(groups, certified(records)) if certified(records) else "No network was certified."
        return {"answer": answer, "hopeless": ", ".join(hopeless) or "none", "table": markdown.table(*table)}

    def panels(self, records: Sequence[Record]) -> list[Panel]:
        sizes = [(members[0]["parameters"], members) for members in gathered(records, "shape").values()]
        shares = Series("", [(size, share(len(certified(each)), len(each))) for size, each in sizes], joined=False)
        wrong = Series("", [(size, over(each, "fewest_wrong")) for size, each in sizes], joined=False)
        return [
            Panel("parameters", "share of seeds certified", [shares], xscale="log"),
            Panel("parameters", "fewest prompts wrong (of 2,100)", [wrong], xscale="log", yscale="symlog"),
        ]


def _smallest(groups: dict[str, list[Record]], right: Sequence[Record]) -> str:
    smallest = min(right, key=lambda record: (record["parameters"], record["certified_at"]))
    same = groups[smallest["shape"]]
    unsure = [members[0]["parameters"] for members in groups.values() if len(certified(members)) < len(members)]
    return (
        f"{smallest['parameters']} parameters are enough ({smallest['shape']}): {of(certified(same), same)} seeds are "
        f"certified, the first after {smallest['certified_at']:,} iterations (seed {smallest['seed']}). With more than "
        f"{max(unsure, default=0):,} parameters every seed is certified; from there down it depends on the seed."
    )


def _ladder() -> dict[str, tuple[Recipe, int]]:
    """Return the shapes from large to small, each with its recipe and number of seeds."""
    fast = replace(recipes.fast_by_adamw(), task=SIZE_TASK, margin=0.0)
    small = replace(recipes.small(), task=SIZE_TASK, margin=0.0, steps=8_000, decay_steps=6_000, final_rate=1e-3)
    least = replace(recipes.smallest(), margin=0.0)
    one_norm = {**least.options, "norms": "feed-forward", "shared_keys": True, "positions": ".0122234"}
    three = replace(least, task="addition", second_type_share=0.6, width=3, hidden=4, options=one_norm)
    return {
        "the paper's": (fast, 10),
        "half the width": (replace(fast, width=32, hidden=128), 10),
        "one layer, width 16": (replace(small, width=16, hidden=32), 10),
        "one layer, width 8": (replace(small, width=8, heads=1, hidden=16), 10),
        "one layer, width 4": (replace(small, width=4, heads=1, hidden=15), 10),
        "width 3, tied, on `addition`": (replace(three, learning_rate=5e-2, final_rate=5e-4), 10),
        "width 2, tied, 5 hidden units": (replace(least, hidden=5), 10),
        "width 2, tied, 3 hidden units": (least, 30),
    }
