"""How much of the domain must be seen."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from alga.research import figures, trials
from alga.research.statistics import Interval, median, share
from alga.research.studies.study import Findings, Record, Study, gathered
from alga.training import recipes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from alga.research.sweeps import Settings

NEARLY: Final = 90.0  # percent of the unseen prompts
SHOWN: Final = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


class Unseen(Study):
    """Prompts right among those that training never showed."""

    name = "unseen"
    title = "How much must be seen"
    question = "A part of the 2,300 prompts is kept from training. How many of them does the network get right?"
    method = (
        "`fast` on `addition`; the seed chooses which prompts are shown; 800 iterations each, whatever the network "
        "knows by then, and then every prompt is decoded."
    )

    def plan(self, quick: bool) -> list[Settings]:
        recipe = dataclasses.replace(recipes.fast(), steps=150 if quick else 800, check_every=50)
        return [
            trials.settings(dataclasses.replace(recipe, shown=part), seed, to_the_end=True)
            for part in ((0.2, 0.8) if quick else SHOWN)
            for seed in range(2 if quick else 10)
        ]

    def record(self, settings: Settings, result: dict[str, Any]) -> Record:
        kept = ("wrong", "wrong_unseen", "unseen", "prompts", "steps")
        return {
            "shown": settings["recipe"]["shown"],
            "seed": settings["seed"],
            **{key: result[key] for key in kept},
        }

    def findings(self, records: Sequence[Record]) -> Findings:
        table = [["shown", "unseen prompts", "unseen right (%)", "shown wrong", "networks all right"]]
        groups = gathered(records, "shown")
        for part, members in groups.items():
            seen_wrong = [record["wrong"] - record["wrong_unseen"] for record in members]
            table.append(
                [
                    f"{part:.0%}",
                    f"{members[0]['unseen']:,}",
                    f"{_right(members):.1f}",
                    f"{median(seen_wrong):,.0f}",
                    f"{_whole(members)} of {len(members)}",
                ]
            )
        enough = [part for part, members in groups.items() if 2 * _whole(members) >= len(members)]
        first = min(groups)
        most = (
            f"{_from(min(enough), max(groups))} at least half of the networks are right on every prompt, shown or not"
            if enough
            else "At no share were half of the networks right on every prompt"
        )
        near = [part for part, members in groups.items() if _right(members).value >= NEARLY]
        answer = (
            f"With {first:.0%} of the domain shown, a median of {_right(groups[first]).value:.1f} % of the unseen "
            f"prompts are right"
            + (f", with {min(near):.0%} {_right(groups[min(near)]).value:.1f} %" if near else "")
            + f". {most}."
        )
        not_all = [part for part, members in groups.items() if _whole(members) < len(members)]
        failed = (
            f"Not every seed is right everywhere, shown {', '.join(f'{part:.0%}' for part in not_all)}: without the "
            "certificate one would not know which."
            if not_all
            else "Every seed was right everywhere."
        )
        return Findings(answer, failed, [table])

    def figure(self, records: Sequence[Record]) -> Figure:
        groups = gathered(records, "shown").items()
        right = [(100 * part, _right(members)) for part, members in groups]
        whole = [(100 * part, share(_whole(members), len(members))) for part, members in groups]
        label = "part of the domain shown in training (%)"
        panels = [
            figures.Panel(label, "unseen prompts right (%)", [figures.Series("unseen", right)]),
            figures.Panel(label, "share of networks right on every prompt", [figures.Series("all right", whole)]),
        ]
        return figures.study(panels, "Prompts never shown: medians and shares, 95 % intervals")


def _from(part: float, most: float) -> str:
    return f"At {part:.0%}, the most that was tried," if part == most else f"From {part:.0%} on"


def _right(records: Sequence[Record]) -> Interval:
    return median([100 * (1 - record["wrong_unseen"] / record["unseen"]) for record in records])


def _whole(records: Sequence[Record]) -> int:
    return sum(record["wrong"] == 0 for record in records)
