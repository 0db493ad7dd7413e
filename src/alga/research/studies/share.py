"""Which share of second-type instances is best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from alga.research import markdown, trials
from alga.research.figures import Panel, Series
from alga.research.statistics import share
from alga.research.studies.study import Record, Settings, Study, certified, gathered, of, over, picked, seeds
from alga.training import recipes

SHARES: Final = tuple(tenth / 10 for tenth in range(1, 11))


class Share(Study):
    """Iterations to the certificate against the share of instances with a context."""

    name = "share"
    title = "The share of second-type instances"
    caption = "The share of instances with a context: medians and shares, 95 % intervals"

    def plan(self, quick: bool) -> list[Settings]:
        recipe = replace(recipes.fast_by_adamw(), margin=0.0, steps=300 if quick else 1500)
        shares = (0.5, 1.0) if quick else SHARES
        return trials.grid(recipe, {"second_type_share": shares}, seeds(quick), wrong_at=[recipe.steps])

    def record(self, settings: Settings, result: Record) -> Record:
        kept = picked(result, "certified_at", "seconds", "steps", "wrong")
        first_type = sum("C" not in prompt for wrong in result["wrong_at"].values() for prompt in wrong)
        value = settings["recipe"]["second_type_share"]
        return {"share": value, "seed": settings["seed"], **kept, "wrong_first_type": first_type}

    def findings(self, records: Sequence[Record]) -> Record:
        groups = gathered(records, "share")
        medians = {value: over(members, "certified_at") for value, members in groups.items()}
        table = [["share", "certified", "iterations", "prompts wrong at the end", "of them without a context"]]
        for value, members in groups.items():
            wrong = [f"{over(members, key):,.0f}" for key in ("wrong", "wrong_first_type")]
            table.append([f"{value:.1f}", of(certified(members), members), f"{medians[value]:,.0f}", *wrong])
        best = min(medians, key=lambda value: medians[value].value)
        near = [f"{value:.1f}" for value in medians if value != best and medians[value].low <= medians[best].value]
        weak = [f"{value:.1f}" for value, members in groups.items() if len(certified(members)) < len(members)]
        second_only = groups[1.0]
        return {
            "best": best,
            "iterations": medians[best],
            "near": ", ".join(near) or "none",
            "second_only": of(certified(second_only), second_only),
            "missing": over(second_only, "wrong_first_type").value,
            "weak": ", ".join(weak) or "none",
            "table": markdown.table(*table),
        }

    def panels(self, records: Sequence[Record]) -> list[Panel]:
        groups = gathered(records, "share").items()
        iterations = [(value, over(members, "certified_at")) for value, members in groups]
        shares = [(value, share(len(certified(members)), len(members))) for value, members in groups]
        label = "share of second-type instances"
        return [Panel(label, "iterations", [Series("", iterations)]), Panel(label, "certified", [Series("", shares)])]
