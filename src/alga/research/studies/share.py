"""Which share of second-type instances is best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from alga.research import trials
from alga.research.figures import Panel, Series
from alga.research.statistics import share
from alga.research.studies.study import Findings, Record, Settings, Study, certified, gathered, of, over, picked, seeds
from alga.training import recipes

SHARES: Final = tuple(tenth / 10 for tenth in range(1, 11))


class Share(Study):
    """Iterations to the certificate against the share of instances with a context."""

    name = "share"
    title = "The share of second-type instances"
    question = "The paper draws half of its instances with a context. Which share is best, and can it be all of them?"
    method = (
        "`fast` on `addition` (100 prompts without a context, 2,200 with one), with shares from 0.1 to 1.0, up to "
        "1,500 iterations, every prompt decoded every 25."
    )
    caption = "The share of instances with a context: medians and shares, 95 % intervals"

    def plan(self, quick: bool) -> list[Settings]:
        recipe = replace(recipes.fast(), margin=0.0, steps=300 if quick else 1500)
        shares = (0.5, 1.0) if quick else SHARES
        return trials.grid(recipe, {"second_type_share": shares}, seeds(quick), wrong_at=[recipe.steps])

    def record(self, settings: Settings, result: Record) -> Record:
        kept = picked(result, "certified_at", "seconds", "steps", "wrong")
        first_type = sum("C" not in prompt for wrong in result["wrong_at"].values() for prompt in wrong)
        value = settings["recipe"]["second_type_share"]
        return {"share": value, "seed": settings["seed"], **kept, "wrong_first_type": first_type}

    def findings(self, records: Sequence[Record]) -> Findings:
        groups = gathered(records, "share")
        medians = {value: over(members, "certified_at") for value, members in groups.items()}
        table = [["share", "certified", "iterations", "prompts wrong at the end", "of them without a context"]]
        for value, members in groups.items():
            wrong = [f"{over(members, key):,.0f}" for key in ("wrong", "wrong_first_type")]
            table.append([f"{value:.1f}", of(certified(members), members), f"{medians[value]:,.0f}", *wrong])
        best = min(medians, key=lambda value: medians[value].value)
        near = [f"{value:.1f}" for value in medians if value != best and medians[value].low <= medians[best].value]
        answer = f"A share of {best:.1f} takes the fewest iterations, {medians[best]:,.0f}."
        if near:
            answer += (
                f" The intervals of {', '.join(near)} also contain that median, so the choice between them is within "
                "the noise of the seeds."
            )
        if second_only := groups.get(1.0):
            answer += (
                f" At 1.0, {of(certified(second_only), second_only)} are certified: without first-type instances, a "
                f"median of {over(second_only, 'wrong_first_type').value:.0f} of the 100 first-type prompts stay wrong."
            )
        weak = [f"{value:.1f}" for value, members in groups.items() if len(certified(members)) < len(members)]
        failed = (
            f"Not every seed was certified in time at {', '.join(weak)}."
            if weak
            else "Every seed was certified at every share."
        )
        return Findings(answer, failed, [table])

    def panels(self, records: Sequence[Record]) -> list[Panel]:
        groups = gathered(records, "share").items()
        iterations = [(value, over(members, "certified_at")) for value, members in groups]
        shares = [(value, share(len(certified(members)), len(members))) for value, members in groups]
        label = "share of second-type instances"
        return [Panel(label, "iterations", [Series("", iterations)]), Panel(label, "certified", [Series("", shares)])]
