"""Which share of second-type instances is best."""

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

SHARES: Final = tuple(tenth / 10 for tenth in range(1, 11))


class Share(Study):
    """Iterations to the certificate against the share of instances with a context."""

    name = "share"
    title = "The share of second-type instances"
    question = "The paper draws half of its instances with a context. Which share is best, and can it be all of them?"
    method = (
        "`fast` on `addition` (100 prompts without a context, 2,200 with one), the share set from 0.1 to 1.0, up to "
        "1,500 iterations, every prompt decoded every 25."
    )

    def plan(self, quick: bool) -> list[Settings]:
        steps = 300 if quick else 1500
        recipe = dataclasses.replace(recipes.fast(), margin=0.0, steps=steps)
        shares = (0.5, 1.0) if quick else SHARES
        return [
            trials.settings(dataclasses.replace(recipe, second_type_share=value), seed, wrong_at=[steps])
            for value in shares
            for seed in range(2 if quick else 10)
        ]

    def record(self, settings: Settings, result: dict[str, Any]) -> Record:
        wrong = [prompt for prompts in result["wrong_at"].values() for prompt in prompts]
        return {
            "share": settings["recipe"]["second_type_share"],
            "seed": settings["seed"],
            **{key: result[key] for key in ("certified_at", "seconds", "steps", "wrong")},
            "wrong_first_type": sum("C" not in prompt for prompt in wrong),
        }

    def findings(self, records: Sequence[Record]) -> Findings:
        table = [["share", "certified", "iterations", "prompts wrong at the end", "of them without a context"]]
        medians = {}
        for value, members in gathered(records, "share").items():
            medians[value] = _iterations(members)
            table.append(
                [
                    f"{value:.1f}",
                    f"{_certified(members)} of {len(members)}",
                    f"{medians[value]:,.0f}",
                    f"{median([record['wrong'] for record in members]):,.0f}",
                    f"{median([record['wrong_first_type'] for record in members]):,.0f}",
                ]
            )
        best = min(medians, key=lambda value: medians[value].value)
        near = [value for value in medians if value != best and medians[value].low <= medians[best].value]
        answer = f"A share of {best:.1f} takes the fewest iterations, {medians[best]:,.0f}."
        if near:
            answer += (
                f" The intervals of {', '.join(f'{value:.1f}' for value in near)} contain that median too, so the "
                "choice between them is within the noise of the seeds."
            )
        only_second = [record for record in records if record["share"] == 1.0]
        if only_second:
            missing = median([record["wrong_first_type"] for record in only_second])
            answer += (
                f" At 1.0, {_certified(only_second)} of {len(only_second)} are certified: what is missing is the first "
                f"type, of which a median of {missing.value:.0f} of 100 prompts stay wrong."
            )
        weak = [value for value, members in gathered(records, "share").items() if _certified(members) < len(members)]
        failed = (
            f"Not every seed was certified within its iterations at {', '.join(f'{value:.1f}' for value in weak)}."
            if weak
            else "Every seed was certified at every share."
        )
        return Findings(answer, failed, [table])

    def figure(self, records: Sequence[Record]) -> Figure:
        groups = gathered(records, "share")
        iterations = [(value, _iterations(members)) for value, members in groups.items()]
        certified = [(value, share(_certified(members), len(members))) for value, members in groups.items()]
        panels = [
            figures.Panel("share of second-type instances", "iterations", [figures.Series("certified", iterations)]),
            figures.Panel("share of second-type instances", "certified", [figures.Series("certified", certified)]),
        ]
        return figures.study(panels, "The share of instances with a context: medians and shares, 95 % intervals")


def _iterations(records: Sequence[Record]) -> Interval:
    return median([record["certified_at"] for record in records])


def _certified(records: Sequence[Record]) -> int:
    return sum(record["certified_at"] is not None for record in records)
