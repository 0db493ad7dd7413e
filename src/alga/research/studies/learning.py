"""How fast the method learns, and what happens with the context 19, which the paper's sampling never shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from alga.research import markdown, trials
from alga.research.figures import Panel, Series
from alga.research.statistics import median
from alga.research.studies.study import Record, Settings, Study, certified, of, over, picked, seeds
from alga.training import recipes

NEVER_SHOWN: Final = "19C"  # the start of the prompts that the paper's sampling does not draw
RECIPES_COMPARED: Final = {
    ("paper", "paper"): "paper recipe, paper's sampling",
    ("paper", "domain"): "paper recipe, whole domain",
    ("fast", "paper"): "fast recipe, paper's sampling",
    ("fast", "domain"): "fast recipe, whole domain",
}


class Learning(Study):
    """Iterations and seconds to the certificate, wrong prompts and margin over time, and the gap at 19."""

    name = "learning"
    title = "How fast it learns, and the gap at 19"
    caption = "Learning: medians over seeds, 95 % intervals"

    def plan(self, quick: bool) -> list[Settings]:
        looks = (100, 200, 400) if quick else (1000, 2000, 4000)
        paper = replace(recipes.paper(), steps=looks[-1], check_every=50)
        fast = replace(recipes.fast_by_adamw(), task=paper.task, steps=400 if quick else 1000)
        return [
            trials.settings(replace(recipe, contexts=contexts), seed, to_the_end=True, wrong_at=looks)
            for recipe in (paper, fast)
            for seed in seeds(quick)
            for contexts in ("paper", "domain")
        ]

    def record(self, settings: Settings, result: Record) -> Record:
        recipe, looks = settings["recipe"], {}
        for step, wrong in result["wrong_at"].items():
            others = [prompt for prompt in wrong if not prompt.startswith(NEVER_SHOWN)]
            looks[step] = {"gap": len(wrong) - len(others), "others": len(others), "first_others": others[:5]}
        return {
            "recipe": recipe["name"],
            "contexts": recipe["contexts"],
            "seed": settings["seed"],
            **picked(result, "certified_at", "seconds", "steps", "wrong", "least_margin"),
            "looks": looks,
            "curve": [point for point in result["curve"] if point[0] % (recipe["check_every"] * 2) == 0],
        }

    def findings(self, records: Sequence[Record]) -> Record:
        kinds = {kind: _of(records, kind) for kind in RECIPES_COMPARED}
        iterations = {kind: f"{over(members, 'certified_at'):,.0f}" for kind, members in kinds.items()}
        speed = [["recipe and sampling", "certified", "iterations", "seconds", "last margin"]]
        for kind, members in kinds.items():
            right = certified(members)
            margin = f"{over(right, 'least_margin'):.1f}" if right else "-"
            seconds = f"{over(members, 'seconds'):,.0f}"
            speed.append([RECIPES_COMPARED[kind], of(right, members), iterations[kind], seconds, margin])
        gap = [["sampling", "iterations", "all right", "wrong on `19Cab` alone", "wrong elsewhere", "prompts wrong"]]
        steps = sorted({int(step) for record in kinds["paper", "paper"] for step in record["looks"]})
        only_gap = {}
        for contexts in ("paper", "domain"):
            for step in steps:
                found = [record["looks"][str(step)] for record in kinds["paper", contexts]]
                wrong = [look["gap"] + look["others"] for look in found]
                only_gap[contexts, step] = sum(look["gap"] > 0 == look["others"] for look in found)
                elsewhere = sum(look["others"] > 0 for look in found)
                counts = map(str, (wrong.count(0), only_gap[contexts, step], elsewhere))
                gap.append([RECIPES_COMPARED["paper", contexts], f"{step:,}", *counts, f"{median(wrong):,.0f}"])
        whole, lost = kinds["paper", "domain"], [record for record in certified(records) if record["wrong"] > 0]
        return {
            "paper": iterations["paper", "paper"],
            "fast": iterations["fast", "domain"],
            "steps": steps[-1],
            "only_gap": f"{only_gap['paper', steps[-1]]} of {len(kinds['paper', 'paper'])}",
            "whole": of(certified(whole), whole),
            "lost": of(lost, records),
            "speed": markdown.table(*speed),
            "gap": markdown.table(*gap),
        }

    def panels(self, records: Sequence[Record]) -> list[Panel]:
        wrong, margins = [], []
        for kind, label in RECIPES_COMPARED.items():
            curves = [record["curve"] for record in _of(records, kind)]  # of [step, wrong, margin]
            checks = list(zip(*curves, strict=True))
            flawless = [check for check in checks if all(point[1] == 0 for point in check)]
            wrong.append(Series(label, [(check[0][0], median([point[1] for point in check])) for check in checks]))
            margins.append(Series(label, [(check[0][0], median([point[2] for point in check])) for check in flawless]))
        return [
            Panel("iterations", "prompts wrong (of 2,100)", wrong, xscale="log", yscale="symlog"),
            Panel("iterations", "least margin, once all seeds are right", margins),
        ]


def _of(records: Sequence[Record], kind: tuple[str, str]) -> list[Record]:
    return [record for record in records if (record["recipe"], record["contexts"]) == kind]
