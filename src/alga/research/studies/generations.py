"""Whether an answer takes fewer generations with other steps."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from alga.research import markdown, trials
from alga.research.figures import Panel, Series
from alga.research.statistics import Interval, median
from alga.research.studies.study import Record, Settings, Study, certified, gathered, of, over, picked, seeds
from alga.runs.config import Recipe
from alga.training import recipes

TASK_LABELS: Final = {  # task: label in the table, label in the figure
    "addition": ("a column a step (the paper)", "a column\na step"),
    "addition-one-token": ("digit and carry in one token", "digit and carry\nin one token"),
    "addition-blocks-of-2": ("two digits a step, carry bit", "two digits\na step,\ncarry bit"),
    "addition-blocks-of-3": ("three digits a step, carry bit", "three digits\na step,\ncarry bit"),
    "addition-lookahead": ("lookahead", "lookahead"),
}
THREE_DIGITS: Final = "addition-blocks-of-3"  # one seed only, because of its 2 million prompts
BLOCKS: Final[dict[str, dict[str, Any]]] = {
    "addition-blocks-of-2": {"batch_size": 256, "steps": 10_000, "decay_steps": 4_000, "check_every": 100},
    THREE_DIGITS: {"batch_size": 512, "steps": 20_000, "decay_steps": 15_000, "check_every": 2_000},
}
SUM_DIGITS: Final = 1000
SUM_COUNT: Final = 5


class Generations(Study):
    """Generated tokens and network calls against the cost of training."""

    name = "generations"
    title = "Fewer generations"
    caption = "Fewer generations: medians, 95 % intervals"
    measure = "alga.research.studies.generations:measure"

    def plan(self, quick: bool) -> list[Settings]:
        return [
            trials.settings(_recipe(task, quick), seed, digits=SUM_DIGITS, sums=1 if quick else SUM_COUNT)
            for task in TASK_LABELS
            if not (quick and task in BLOCKS)
            for seed in (range(1) if task == THREE_DIGITS else seeds(quick))
        ]

    def record(self, settings: Settings, result: Record) -> Record:
        return {"task": settings["recipe"]["task"], "seed": settings["seed"], **result}

    def findings(self, records: Sequence[Record]) -> Record:
        heads = ["method", "prompts", "certified", "iterations", "instances drawn", "tokens / digit", "calls / digit"]
        table, tokens, calls, drawn = [heads], {}, {}, {}
        for name, members in gathered(records, "task").items():
            right, drawn[name] = certified(members), _drawn(members)
            row = [TASK_LABELS[name][0], f"{members[0]['prompts']:,}", of(right, members)]
            row += [f"{over(members, 'certified_at'):,.0f}", f"{drawn[name]:,.0f}"]
            tokens[name], calls[name] = (over(right, key).value if right else math.inf for key in ("tokens", "calls"))
            table.append([*row, *(f"{count[name]:.2f}" if right else "-" for count in (tokens, calls))])
        fewest = min(tokens, key=lambda name: tokens[name])
        return {
            "sums": SUM_COUNT,
            "digits": SUM_DIGITS,
            "check_every": BLOCKS[THREE_DIGITS]["check_every"],
            "fewest": TASK_LABELS[fewest][0],
            "tokens": tokens[fewest],
            "paper_tokens": tokens["addition"],
            "cost": drawn[fewest].value / drawn["addition"].value,
            "calls": calls["addition-lookahead"] * SUM_DIGITS,
            "table": markdown.table(*table),
        }

    def panels(self, records: Sequence[Record]) -> list[Panel]:
        groups = gathered(records, "task")
        names = [TASK_LABELS[name][1] for name in groups]
        right = [(i, found) for i, members in enumerate(groups.values()) if (found := _counted(members))]
        generated = [
            Series(label, [(i, over(found, key)) for i, found in right])
            for key, label in (("tokens", "tokens generated"), ("calls", "calls of the network"))
        ]
        drawn = Series("", [(i, _drawn(members)) for i, members in enumerate(groups.values())])
        return [
            Panel("", "per digit of the sum", generated, names=names, yscale="log"),
            Panel("", "instances drawn to the certificate", [drawn], names=names, yscale="log"),
        ]


def _recipe(task: str, quick: bool) -> Recipe:
    recipe = replace(recipes.fast_by_adamw(), task=task, margin=0.0, steps=400 if quick else 2000)
    if task in BLOCKS:
        recipe = replace(recipe, second_type_share=0.5, final_rate=2e-4, **BLOCKS[task])
    return recipe


def _drawn(records: Sequence[Record]) -> Interval:
    """Return the median number of training instances drawn to the certificate."""
    steps = [(record["certified_at"], record["batch_size"]) for record in records]
    return median([None if step is None else step * size for step, size in steps])


def _counted(records: Sequence[Record]) -> list[Record]:
    return [record for record in records if record["tokens"] is not None]


def measure(settings: Settings) -> Record:
    """Train a network, have it add long numbers, and count tokens and calls per digit."""
    from alga.solve.solver import Solver

    training, result = trials.trained(settings)
    kept = {**picked(result, "certified_at", "seconds", "prompts", "wrong"), "batch_size": training.recipe.batch_size}
    if result["wrong"]:
        return {**kept, "tokens": None, "calls": None}
    solver = Solver(training.as_run())
    rng, digits, tokens, calls = random.Random(settings["seed"]), settings["digits"], 0, 0
    for _ in range(settings["sums"]):
        operands = ["".join(rng.choices("0123456789", k=digits)) for _ in range(2)]
        answer = solver.solve(*operands, engine=solver.own_engine)
        if answer.answer != solver.procedure.oracle(*operands):
            raise AssertionError(f"a network right on every prompt got {'+'.join(operands)} wrong")
        tokens += answer.generated_tokens
        calls += answer.network_calls
    each = digits * settings["sums"]
    return {**kept, "tokens": tokens / each, "calls": calls / each}
