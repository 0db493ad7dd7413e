"""The least information that a prompt must carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from alga import tasks
from alga.research import trials
from alga.research.figures import Panel, Series
from alga.research.studies.study import Findings, Record, Settings, Study, certified, gathered, of, over, picked, seeds
from alga.tasks import Instance, Procedure
from alga.training import recipes

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
SHOWN_CONFLICTS: Final = {"addition-no-separator": "125"}  # the example to show, if not the first


class Information(Study):
    """Contexts reduced step by step: a proof where it must fail, the cost of learning where it can work."""

    name = "information"
    title = "The least information"
    question = "How little of the previous output can a prompt show, and is the separator `C` needed?"
    method = (
        "Each reduced prompt is a task of its own. If two situations share a prompt but need different outputs, no "
        "network can be right on both: listing all situations proves it. Otherwise `fast` is trained until certified, "
        "up to 2,000 iterations, every prompt decoded every 25."
    )
    caption = "Iterations to the certificate: medians, 95 % intervals"

    def plan(self, quick: bool) -> list[Settings]:
        recipe = replace(recipes.fast(), margin=0.0, steps=400 if quick else 2000)
        return trials.grid(recipe, {"task": list(LEARNED)}, seeds(quick))

    def record(self, settings: Settings, result: Record) -> Record:
        kept = picked(result, "certified_at", "seconds", "prompts", "wrong")
        return {"task": settings["recipe"]["task"], "seed": settings["seed"], **kept}

    def findings(self, records: Sequence[Record]) -> Findings:
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
            learned.append([LEARNED[name], prompts, of(certified(members), members), cost[name]])
        answer = (
            "One bit, the carry, is the least: with nothing, or with only the last or the first digit, two situations "
            "share a prompt but need different outputs. With the carry bit there are 320 prompts instead of 2,300, "
            f"learned in {cost['addition-context-carry']} iterations instead of {cost['addition']}. `C` can be left "
            f"out only if columns are padded; it then takes {cost['addition-padded-no-separator']} iterations instead "
            f"of {cost['addition-padded']}."
        )
        return Findings(answer, "Prompts that show too little were proven to fail, not trained.", [proofs, learned])

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
