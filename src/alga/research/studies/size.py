"""How small a certified adder can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from alga.research import markdown, statistics, trials
from alga.research.figures import Panel, Series
from alga.research.statistics import share
from alga.research.studies.study import Record, Settings, Study, certified, gathered, of, over, picked
from alga.runs.config import Recipe
from alga.training import recipes

SIZE_TASK: Final = "addition-padded"
WHOLE: Final = recipes.whole().task
READS: Final = {"columns": False, "whole sums": True}  # what networks read, and whether their task is WHOLE
READERS: Final = (24, 16, 12, 10)  # hidden units


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
        kept = picked(result, "parameters", "prompts", "certified_at", "seconds", "wrong", "least_margin", "steps")
        fewest = min(point[1] for point in result["curve"])
        task = Recipe(**settings["recipe"]).task
        return {**picked(settings, "shape", "seed"), "task": task, **kept, "fewest_wrong": fewest}

    def findings(self, records: Sequence[Record]) -> Record:
        table = [["network", "task", "parameters", "certified", "iterations", "fewest wrong", "best margin there"]]
        for name, members in gathered(records, "shape").items():
            right, first = certified(members), members[0]
            row = [name, f"`{first['task']}`", f"{first['parameters']:,}", of(right, members)]
            row += [f"{over(members, 'certified_at'):,.0f}"]
            row += [f"{over(members, 'fewest_wrong'):,.0f} of {first['prompts']:,}"]
            table.append([*row, f"{max(record['least_margin'] for record in right):.2f}" if right else "-"])
        hopeless = [name for name, members in gathered(records, "shape").items() if not certified(members)]
        answers = [_smallest(words, members) for words, members in _kinds(records).items()]
        return {"answer": " ".join(answers), "hopeless": ", ".join(hopeless) or "none", "table": markdown.table(*table)}

    def panels(self, records: Sequence[Record]) -> list[Panel]:
        shares, wrong = [], []
        for words, members in _kinds(records).items():
            sizes = [(shape[0]["parameters"], shape) for shape in gathered(members, "shape").values()]
            points = [(size, share(len(certified(each)), len(each))) for size, each in sizes]
            shares.append(Series(words, points, joined=False))
            fewest = [
                (size, statistics.median([r["fewest_wrong"] / r["prompts"] for r in each])) for size, each in sizes
            ]
            wrong.append(Series(words, fewest, joined=False))
        return [
            Panel("parameters", "share of seeds certified", shares, xscale="log", legend=True),
            Panel("parameters", "share of prompts wrong, at the fewest", wrong, xscale="log"),
        ]


def _kinds(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Group records by what a network reads, in order."""
    kinds = {words: [r for r in records if (r["task"] == WHOLE) is whole] for words, whole in READS.items()}
    return {words: members for words, members in kinds.items() if members}


def _smallest(words: str, records: Sequence[Record]) -> str:
    """Return in a sentence or two which network is the smallest that was certified."""
    groups, right = gathered(records, "shape"), certified(records)
    if not right:
        return f"Of networks that read {words} none was certified."
    smallest = min(right, key=lambda record: (record["parameters"], record["certified_at"]))
    same = groups[smallest["shape"]]
    unsure = [members[0]["parameters"] for members in groups.values() if len(certified(members)) < len(members)]
    largest, limit = max(record["parameters"] for record in records), max(unsure, default=0)
    surely = f"With more than {limit:,} parameters every seed is certified."
    if limit == largest:
        surely = "Not every seed of the largest one here is certified."
    return (
        f"A network that reads {words} needs no more than {smallest['parameters']} parameters ({smallest['shape']}): "
        f"{of(certified(same), same)} seeds are certified, the first after {smallest['certified_at']:,} iterations "
        f"(seed {smallest['seed']}). {surely}"
    )


def _ladder() -> dict[str, tuple[Recipe, int]]:
    """Return the shapes from large to small, each with its recipe and number of seeds."""
    fast = replace(recipes.fast_by_adamw(), task=SIZE_TASK, margin=0.0)
    small = replace(recipes.small(), task=SIZE_TASK, margin=0.0, steps=8_000, decay_steps=6_000, final_rate=1e-3)
    least = replace(recipes.smallest(), margin=0.0)
    one_norm = {**least.options, "norms": "feed-forward", "shared_keys": True, "positions": ".0122234"}
    three = replace(least, task="addition", second_type_share=0.6, width=3, hidden=4, options=one_norm)
    reader = replace(recipes.smallest_whole(), margin=0.0)
    return {
        "the paper's": (fast, 10),
        "half the width": (replace(fast, width=32, hidden=128), 10),
        "one layer, width 16": (replace(small, width=16, hidden=32), 10),
        "one layer, width 8": (replace(small, width=8, heads=1, hidden=16), 10),
        "one layer, width 4": (replace(small, width=4, heads=1, hidden=15), 10),
        "width 3, tied, on `addition`": (replace(three, learning_rate=5e-2, final_rate=5e-4), 10),
        "width 2, tied, 5 hidden units": (replace(least, hidden=5), 10),
        "width 2, tied, 3 hidden units": (least, 30),
        "width 2, digits on a parabola, 1 hidden unit": (recipes.smallest_26(), 10),
        **{f"reader of width 2, {n} hidden units": (replace(reader, hidden=n), 10) for n in READERS},
    }
