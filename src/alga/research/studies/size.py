"""How small a certified adder can be."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from alga.research import figures, trials
from alga.research.statistics import median, share
from alga.research.studies.study import Findings, Record, Study, gathered
from alga.training import recipes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from alga.research.sweeps import Settings
    from alga.runs.recipe import Recipe

TASK: Final = "addition-padded"


class Size(Study):
    """Networks from the paper's size down, each with ten seeds."""

    name = "size"
    title = "How small"
    question = "The paper's network has 102,464 parameters. How few are enough for a certified adder?"
    method = (
        f"On `{TASK}`, from the paper's shape down: fewer layers, less width, then parts tied or left out (options of "
        "`ModelConfig`; every unique trained number is counted). The large ones by `fast` or `small`, those of width "
        "2 and 3 by `smallest` (60,000 iterations; given up after 20,000 where half of the prompts are wrong still). "
        "Every prompt is decoded every 25, 50 or 500 iterations, and training ends at the first certificate."
    )

    def plan(self, quick: bool) -> list[Settings]:
        ladder = _ladder()
        if quick:
            ladder = {name: (dataclasses.replace(ladder[name][0], steps=1000), 2) for name in list(ladder)[1:3]}
        return [
            trials.settings(recipe, seed, shape=shape)
            for shape, (recipe, seeds) in ladder.items()
            for seed in range(seeds)
        ]

    def record(self, settings: Settings, result: dict[str, Any]) -> Record:
        kept = ("parameters", "certified_at", "seconds", "wrong", "least_margin", "steps")
        fewest = min(point[1] for point in result["curve"])
        kinds = {"shape": settings["shape"], "seed": settings["seed"]}
        return {**kinds, **{key: result[key] for key in kept}, "fewest_wrong": fewest}

    def findings(self, records: Sequence[Record]) -> Findings:
        table = [["network", "parameters", "certified", "iterations", "fewest wrong", "best margin there"]]
        smallest = None
        for name, members in gathered(records, "shape").items():
            right = sorted(
                (record for record in members if record["certified_at"] is not None),
                key=lambda record: record["certified_at"],
            )
            if right and (smallest is None or right[0]["parameters"] < smallest["parameters"]):
                smallest = right[0]
            table.append(
                [
                    name,
                    f"{members[0]['parameters']:,}",
                    f"{len(right)} of {len(members)}",
                    f"{median([record['certified_at'] for record in members]):,.0f}",
                    f"{median([record['fewest_wrong'] for record in members]):,.0f}",
                    f"{max(record['least_margin'] for record in right):.2f}" if right else "-",
                ]
            )
        if smallest is None:
            return Findings("No network of this ladder was certified.", "Every shape.", [table])
        rate = [record for record in records if record["shape"] == smallest["shape"]]
        count = sum(record["certified_at"] is not None for record in rate)
        answer = (
            f"{smallest['parameters']} parameters are enough ({smallest['shape']}): {count} of {len(rate)} seeds are "
            f"certified, the soonest after {smallest['certified_at']:,} iterations (seed {smallest['seed']})."
        )
        least = [members for members in gathered(records, "shape").values() if _certified(members) < len(members)]
        first = max((members[0]["parameters"] for members in least), default=0)
        answer += (
            f" With more than {first:,} parameters every seed is certified; from there down it depends on the seed."
        )
        failures = [
            f"{members[0]['parameters']} parameters ({name})"
            for name, members in gathered(records, "shape").items()
            if not _certified(members)
        ]
        failed = (
            f"No seed was certified with {', '.join(failures)}." if failures else "Every shape had a certified seed."
        )
        return Findings(answer, failed, [table])

    def figure(self, records: Sequence[Record]) -> Figure:
        groups = gathered(records, "shape").values()
        certified = [(members[0]["parameters"], share(_certified(members), len(members))) for members in groups]
        wrong = [
            (members[0]["parameters"], median([record["fewest_wrong"] for record in members])) for members in groups
        ]
        panels = [
            figures.Panel(
                "parameters", "share of seeds certified", [figures.Series("", certified, joined=False)], xscale="log"
            ),
            figures.Panel(
                "parameters",
                "fewest prompts wrong (of 2,100)",
                [figures.Series("", wrong, joined=False)],
                xscale="log",
                yscale="symlog",
            ),
        ]
        return figures.study(panels, "How small: shares and medians over seeds, 95 % intervals")


def _certified(records: Sequence[Record]) -> int:
    return sum(record["certified_at"] is not None for record in records)


def _ladder() -> dict[str, tuple[Recipe, int]]:
    """Return the shapes from large to small, each with its recipe and how many seeds it gets."""
    fast = dataclasses.replace(recipes.fast(), task=TASK, margin=0.0)
    small = dataclasses.replace(recipes.small(), task=TASK, margin=0.0, steps=8_000, decay_steps=6_000, final_rate=1e-3)
    least = dataclasses.replace(recipes.smallest(), margin=0.0)
    one_norm = {"norms": "feed-forward", "shared_keys": True, "positions": ".0122234"}
    three = dataclasses.replace(
        least, task="addition", learning_rate=5e-2, final_rate=5e-4, second_type_share=0.6, width=3, hidden=4,
        options={**least.options, **one_norm},
    )  # fmt: skip
    return {
        "the paper's": (fast, 10),
        "half the width": (dataclasses.replace(fast, width=32, hidden=128), 10),
        "one layer, width 16": (dataclasses.replace(small, width=16, hidden=32), 10),
        "one layer, width 8": (dataclasses.replace(small, width=8, heads=1, hidden=16), 10),
        "one layer, width 4": (dataclasses.replace(small, width=4, heads=1, hidden=15), 10),
        "width 3, tied, on `addition`": (three, 10),
        "width 2, tied, 5 hidden units": (dataclasses.replace(least, hidden=5), 10),
        "width 2, tied, 3 hidden units": (least, 30),
    }
