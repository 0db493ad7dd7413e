"""The least information that an input must carry."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from alga import tasks
from alga.research import figures, trials
from alga.research.statistics import median
from alga.research.studies.study import Findings, Record, Study, gathered
from alga.tasks import Instance, Procedure
from alga.training import recipes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from alga.research.sweeps import Settings

LEARNED: Final = {
    "addition": "the whole previous output",
    "addition-context-carry": "one carry bit",
    "addition-padded": "the whole output, columns padded",
    "addition-padded-no-separator": "the same without `C`",
}
REFUSED: Final = {
    "addition-context-last-digit": "its last digit",
    "addition-context-first-digit": "its first digit",
    "addition-context-nothing": "nothing",
    "addition-no-separator": "all of it, but without `C`",
}
SHOWN_CONFLICTS: Final = {"addition-no-separator": "125"}  # the one to show, where it is not the first


class Information(Study):
    """Contexts reduced step by step: proofs where it must fail, the cost of learning where it can pass."""

    name = "information"
    title = "The least information"
    question = "How little may a prompt show of the previous output, and is the separator `C` needed?"
    method = (
        "Each reduced prompt is a task of its own. Where two situations share a prompt and differ in their outputs, no "
        "network can be right on both: that is a proof, found by listing all situations. Where none do, `fast` is "
        "trained until certified, up to 2,000 iterations, every prompt decoded every 25."
    )

    def plan(self, quick: bool) -> list[Settings]:
        recipe = dataclasses.replace(recipes.fast(), margin=0.0, steps=400 if quick else 2000)
        return [
            trials.settings(dataclasses.replace(recipe, task=task), seed)
            for task in LEARNED
            for seed in range(2 if quick else 10)
        ]

    def record(self, settings: Settings, result: dict[str, Any]) -> Record:
        kept = ("certified_at", "seconds", "prompts", "wrong")
        return {"task": settings["recipe"]["task"], "seed": settings["seed"], **{key: result[key] for key in kept}}

    def findings(self, records: Sequence[Record]) -> Findings:
        proofs = [["the prompt shows", "prompts in conflict", "for example"]]
        for name, words in REFUSED.items():
            found = conflicts(tasks.find(name).procedure)
            prompt = SHOWN_CONFLICTS.get(name, next(iter(found)))
            proofs.append([words, f"{len(found):,}", _told(prompt, *found[prompt])])
        learned = [["the prompt shows", "prompts", "certified", "iterations"]]
        groups = gathered(records, "task")
        for name, members in groups.items():
            right = sum(record["certified_at"] is not None for record in members)
            iterations = median([record["certified_at"] for record in members])
            prompts = f"{members[0]['prompts']:,}"
            learned.append([LEARNED[name], prompts, f"{right} of {len(members)}", f"{iterations:,.0f}"])
        cost = {name: median([record["certified_at"] for record in members]) for name, members in groups.items()}
        answer = (
            "One bit, whether there is a carry, is the least: with nothing two situations share a prompt and differ in "
            "their outputs, and so they do with the last digit or the first digit alone. The bit makes 320 prompts of "
            f"2,300, learned in {cost['addition-context-carry']:,.0f} iterations instead of {cost['addition']:,.0f}; "
            "`C` can go where columns are padded, "
            f"at {cost['addition-padded-no-separator']:,.0f} iterations instead of {cost['addition-padded']:,.0f}, and "
            "not where they are not."
        )
        failed = "What must fail was proven to fail, not run."
        return Findings(answer, failed, [proofs, learned])

    def figure(self, records: Sequence[Record]) -> Figure:
        points = [
            (i, median([record["certified_at"] for record in members]))
            for i, members in enumerate(gathered(records, "task").values())
        ]
        names = ["whole output", "carry bit", "padded", "padded, no C"]
        panel = figures.Panel("what prompts show", "iterations", [figures.Series("certified", points)], names=names)
        return figures.study([panel], "Iterations to the certificate: medians, 95 % intervals")


def conflicts(procedure: Procedure) -> dict[str, tuple[Instance, Instance]]:
    """Return every prompt that two situations share which differ in their outputs, with two such situations."""
    outputs = procedure.explore(lambda batch: [procedure.step(*situation) for situation in batch])
    known: dict[str, Instance] = {}
    found: dict[str, tuple[Instance, Instance]] = {}
    for (context, column), output in outputs.items():
        assert output is not None
        instance = Instance(context, column, procedure.prompt(context, column), output)
        first = known.setdefault(instance.prompt, instance)
        if first.output != output:
            found.setdefault(instance.prompt, (first, instance))
    return found


def _told(prompt: str, *instances: Instance) -> str:
    each = [f"{_situation(instance)} gives `{instance.output}`" for instance in instances]
    return f"`{prompt}`: {' and '.join(each)}"


def _situation(instance: Instance) -> str:
    return f"`{instance.column}` " + ("at first" if instance.context is None else f"after `{instance.context}`")
