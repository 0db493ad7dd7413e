"""How fast the method learns, and what happens at the context 19, which the paper's sampling never shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from alga.research import figures, trials
from alga.research.statistics import Interval, median
from alga.research.studies.study import Findings, Record, Study, counted
from alga.training import recipes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from alga.research.sweeps import Settings

NEVER_SHOWN: Final = "19C"  # how the prompts begin that the paper's sampling does not draw
KINDS: Final = {
    ("paper", "paper"): "paper recipe, paper's sampling",
    ("paper", "domain"): "paper recipe, whole domain",
    ("fast", "paper"): "fast recipe, paper's sampling",
    ("fast", "domain"): "fast recipe, whole domain",
}


class Learning(Study):
    """Iterations and seconds to the certificate, wrong prompts and margin over time, and the gap at 19."""

    name = "learning"
    title = "How fast it learns, and the gap at 19"
    question = (
        "How many iterations does it take until every prompt is right, by the paper's recipe and by ours? The paper "
        "draws contexts as sums of two digits, so that the hundred prompts `19Cab` are never shown: does it matter?"
    )
    method = (
        "The paper's recipe (4,000 iterations) and `fast` (1,000), each with the paper's sampling and with the whole "
        "domain sampled, on `addition-padded`; every prompt is decoded every 50 or 25 iterations, and training goes on "
        "after the first certificate. Seconds are of one thread, while other runs used the machine's other core."
    )

    def plan(self, quick: bool) -> list[Settings]:
        looks = (100, 200, 400) if quick else (1000, 2000, 4000)
        seeds = range(2 if quick else 10)
        paper = dataclasses.replace(recipes.paper(), steps=looks[-1], check_every=50)
        fast = dataclasses.replace(recipes.fast(), task=paper.task, steps=400 if quick else 1000)
        return [
            trials.settings(dataclasses.replace(recipe, contexts=contexts), seed, to_the_end=True, wrong_at=looks)
            for recipe in (paper, fast)
            for seed in seeds
            for contexts in ("paper", "domain")
        ]

    def record(self, settings: Settings, result: dict[str, Any]) -> Record:
        recipe = settings["recipe"]
        looks = {}
        for step, wrong in result["wrong_at"].items():
            gap = sum(prompt.startswith(NEVER_SHOWN) for prompt in wrong)
            others = [prompt for prompt in wrong if not prompt.startswith(NEVER_SHOWN)]
            looks[step] = {"gap": gap, "others": len(others), "first_others": others[:5]}
        return {
            "recipe": recipe["name"],
            "contexts": recipe["contexts"],
            "seed": settings["seed"],
            **{key: result[key] for key in ("certified_at", "seconds", "steps", "wrong", "least_margin")},
            "looks": looks,
            "curve": [point for point in result["curve"] if point[0] % (recipe["check_every"] * 2) == 0],
        }

    def findings(self, records: Sequence[Record]) -> Findings:
        kinds = {kind: _of(records, kind) for kind in KINDS}
        speed = [["recipe and sampling", "certified", "iterations", "seconds", "last margin"]]
        for kind, members in kinds.items():
            right = [record for record in members if record["certified_at"] is not None]
            speed.append(
                [
                    KINDS[kind],
                    f"{len(right)} of {len(members)}",
                    f"{_iterations(members):,.0f}",
                    f"{median([record['seconds'] for record in members]):,.0f}",
                    f"{median([record['least_margin'] for record in right]):.1f}" if right else "-",
                ]
            )
        gap = [["sampling", "iterations", "all right", "wrong on `19Cab` alone", "wrong elsewhere", "prompts wrong"]]
        looks = sorted({int(step) for record in kinds["paper", "paper"] for step in record["looks"]})
        for contexts in ("paper", "domain"):
            for step in looks:
                found = [record["looks"][str(step)] for record in kinds["paper", contexts]]
                gap.append(
                    [
                        KINDS["paper", contexts],
                        f"{step:,}",
                        str(sum(look["gap"] + look["others"] == 0 for look in found)),
                        str(sum(look["gap"] > 0 == look["others"] for look in found)),
                        str(sum(look["others"] > 0 for look in found)),
                        f"{median([look['gap'] + look['others'] for look in found]):,.0f}",
                    ]
                )
        last = [record["looks"][str(looks[-1])] for record in kinds["paper", "paper"]]
        only = sum(look["gap"] > 0 == look["others"] for look in last)
        missed = [record for record in kinds["paper", "domain"] if record["certified_at"] is None]
        answer = (
            f"The paper's recipe with its own sampling is certified after a median of "
            f"{_iterations(kinds['paper', 'paper']):,.0f} iterations, `fast` with the whole domain after "
            f"{_iterations(kinds['fast', 'domain']):,.0f}. At {looks[-1]:,} iterations of the paper's recipe "
            f"{counted(only, 'network is', 'networks are')} wrong on `19Cab` alone, out of {len(last)}; with the whole "
            f"domain sampled {len(kinds['paper', 'domain']) - len(missed)} of {len(kinds['paper', 'domain'])} were "
            "certified on the way."
        )
        lost = [record for record in records if record["certified_at"] is not None and record["wrong"] > 0]
        failed = (
            f"{counted(len(lost), 'training was', 'trainings were')} certified on the way and wrong again on some "
            "prompt at its end: a constant learning rate goes on moving, so one stops at the certificate."
            if lost
            else "No training that was certified on the way was wrong when it ended."
        )
        return Findings(answer, failed, [speed, gap])

    def figure(self, records: Sequence[Record]) -> Figure:
        wrong, margins = [], []
        for kind, label in KINDS.items():
            curves = [record["curve"] for record in _of(records, kind)]
            steps = [point[0] for point in curves[0]] if curves else []
            each = [[curve[i] for curve in curves] for i in range(len(steps))]
            points = [(step, median([point[1] for point in found])) for step, found in zip(steps, each, strict=True)]
            wrong.append(figures.Series(label, points))
            whole = [
                (step, median([point[2] for point in found]))
                for step, found in zip(steps, each, strict=True)
                if all(point[1] == 0 for point in found)
            ]
            margins.append(figures.Series(label, whole))
        panels = [
            figures.Panel("iterations", "prompts wrong (of 2,100)", wrong, xscale="log", yscale="symlog"),
            figures.Panel("iterations", "least margin, once all seeds are right", margins),
        ]
        return figures.study(panels, "Learning: medians over seeds, 95 % intervals")


def _of(records: Sequence[Record], kind: tuple[str, str]) -> list[Record]:
    return [record for record in records if (record["recipe"], record["contexts"]) == kind]


def _iterations(records: Sequence[Record]) -> Interval:
    return median([record["certified_at"] for record in records])
