"""The least information that a prompt must carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from alga import tasks
from alga.research import markdown, trials
from alga.research.figures import Panel, Series
from alga.research.studies.study import Record, Settings, Study, certified, gathered, of, over, picked, seeds
from alga.tasks import Instance, Procedure
from alga.training import recipes

SHOWN_CONTEXTS: Final = {
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
SHOWN_CONFLICTS: Final = {"addition-no-separator": "125"}  # the example to show, if not the first


class Information(Study):
    """Contexts reduced step by step: a proof where it must fail, the cost of learning where it can work."""

    name = "information"
    title = "The least information"
    caption = "Iterations to the certificate: medians, 95 % intervals"

    def plan(self, quick: bool) -> list[Settings]:
        recipe = replace(recipes.fast_by_adamw(), margin=0.0, steps=400 if quick else 2000)
        return trials.grid(recipe, {"task": list(SHOWN_CONTEXTS)}, seeds(quick))

    def record(self, settings: Settings, result: Record) -> Record:
        kept = picked(result, "certified_at", "seconds", "prompts", "wrong")
        return {"task": settings["recipe"]["task"], "seed": settings["seed"], **kept}

    def findings(self, records: Sequence[Record]) -> Record:
        proofs = [["the prompt shows", "prompts in conflict", "for example"]]
        for name, words in REFUSED.items():
            found = conflicts(tasks.find(name).procedure)
            prompt = SHOWN_CONFLICTS.get(name, next(iter(found)))
            outputs = " and ".join(map(_outcome, found[prompt]))
            proofs.append([words, f"{len(found):,}", f"`{prompt}`: {outputs}"])
        learned = [["the prompt shows", "prompts", "certified", "iterations"]]
        cost = {}
        for name, members in gathered(records, "task").items():
            cost[name] = f"{over(members, 'certified_at'):,.0f}"
            prompts = f"{members[0]['prompts']:,}"
            learned.append([SHOWN_CONTEXTS[name], prompts, of(certified(members), members), cost[name]])
        return {"cost": cost, "proofs": markdown.table(*proofs), "learned": markdown.table(*learned)}

    def panels(self, records: Sequence[Record]) -> list[Panel]:
        groups = gathered(records, "task").values()
        points = [(i, over(members, "certified_at")) for i, members in enumerate(groups)]
        names = ["whole output", "carry bit", "padded", "padded, no C"]
        return [Panel("what prompts show", "iterations", [Series("", points)], names=names)]


def conflicts(procedure: Procedure) -> dict[str, tuple[Instance, Instance]]:
    """Return every prompt shared by two situations with different outputs, with two such situations."""
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


def _outcome(instance: Instance) -> str:
    where = "in the first column" if instance.context is None else f"after `{instance.context}`"
    return f"`{instance.column}` {where} gives `{instance.output}`"
