"""How much of the domain must be seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from alga.research import markdown, trials
from alga.research.figures import Panel, Series
from alga.research.statistics import Interval, median, share
from alga.research.studies.study import Record, Settings, Study, gathered, of, picked, seeds
from alga.training import recipes

NEARLY: Final = 90.0  # percent of the unseen prompts
SHARES: Final = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


class Unseen(Study):
    """Accuracy on prompts that training never showed."""

    name = "unseen"
    title = "How much must be seen"
    caption = "Prompts never shown: medians and shares, 95 % intervals"

    def plan(self, quick: bool) -> list[Settings]:
        recipe = replace(recipes.fast_by_adamw(), steps=150 if quick else 800, check_every=50)
        return trials.grid(recipe, {"shown": (0.2, 0.8) if quick else SHARES}, seeds(quick), to_the_end=True)

    def record(self, settings: Settings, result: Record) -> Record:
        kept = picked(result, "wrong", "wrong_unseen", "unseen", "prompts", "steps")
        return {"shown": settings["recipe"]["shown"], "seed": settings["seed"], **kept}

    def findings(self, records: Sequence[Record]) -> Record:
        table = [["shown", "unseen prompts", "unseen right (%)", "shown wrong", "networks all right"]]
        groups = gathered(records, "shown")
        right = {part: _right(members) for part, members in groups.items()}
        for part, members in groups.items():
            seen_wrong = median([record["wrong"] - record["wrong_unseen"] for record in members])
            row = [f"{part:.0%}", f"{members[0]['unseen']:,}", f"{right[part]:.1f}", f"{seen_wrong:,.0f}"]
            table.append([*row, of(_flawless(members), members)])
        near = [part for part in groups if right[part].value >= NEARLY]
        half = [part for part, members in groups.items() if 2 * len(_flawless(members)) >= len(members)]
        weak = [f"{part:.0%}" for part, members in groups.items() if len(_flawless(members)) < len(members)]
        return {
            "least": min(groups),
            "least_right": right[min(groups)].value,
            "nearly": NEARLY,
            "near": _least(near),
            "half": _least(half),
            "weak": ", ".join(weak) or "none",
            "table": markdown.table(*table),
        }

    def panels(self, records: Sequence[Record]) -> list[Panel]:
        groups = gathered(records, "shown").items()
        right = [(100 * part, _right(members)) for part, members in groups]
        flawless = [(100 * part, share(len(_flawless(members)), len(members))) for part, members in groups]
        label = "part of the domain shown in training (%)"
        return [
            Panel(label, "unseen prompts right (%)", [Series("", right)]),
            Panel(label, "share of networks right on every prompt", [Series("", flawless)]),
        ]


def _right(records: Sequence[Record]) -> Interval:
    return median([100 * (1 - record["wrong_unseen"] / record["unseen"]) for record in records])


def _flawless(records: Sequence[Record]) -> list[Record]:
    return [record for record in records if record["wrong"] == 0]


def _least(parts: Sequence[float]) -> str:
    return f"{min(parts):.0%}" if parts else "more than was tried"
