"""Whole sums: how long the sums in training must be, what the price does, and which parts are needed."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from random import Random
from typing import Any, Final

from alga.research import markdown
from alga.research.figures import Panel, Series
from alga.research.statistics import share
from alga.research.studies.study import Record, Settings, Study, gathered, of, over, picked, seeds
from alga.runs.config import Recipe
from alga.training import recipes

SAMPLED: Final = {20: 40, 100: 20}  # sums of so many digits, by length
LENGTHS: Final = (1, 2, 3, 4, 5, 10)
OTHERS: Final[dict[str, dict[str, Any]]] = {
    "no price": {"price": 0.0},
    "scores by distance alone": {"options": {"keys": False}},
    "hard window": {"options": {"window": True}, "price": 0.0},
    "one head": {"heads": 1},
    "four heads": {"heads": 4},
    "width 32": {"width": 32, "hidden": 128},
    "two layers": {"layers": 2},
}


def measure(given: Settings) -> dict[str, Any]:
    """Train one reader on one thread; return what it gets wrong, what can be proven, and how far it generalises."""
    from alga.solve.solver import Solver
    from alga.training.trainer import Training

    recipe = dataclasses.replace(Recipe(**given["recipe"]), margin=1000.0)  # out of reach: all train alike
    training = Training.start(None, recipe, seed=given["seed"], threads=1, device="cpu")
    curve = [[progress.step, progress.wrong, round(progress.least_margin, 3)] for progress in training.run()]
    run, solver = training.as_run(), Solver(training.as_run())
    certificate = training.certificate or run.judged().certificate
    proof = certificate.proof if certificate is not None else None
    rng, right = Random(given["seed"]), {}
    for digits, count in SAMPLED.items():
        pairs = [tuple("".join(rng.choices("0123456789", k=digits)) for _ in range(2)) for _ in range(count)]
        answers = solver.solve_many(pairs)
        right[str(digits)] = sum(
            answer.answer == solver.procedure.oracle(*pair) for answer, pair in zip(answers, pairs, strict=True)
        )
    outside = proof.outside.share if proof is not None and proof.outside is not None else None
    return {
        "wrong": curve[-1][1],
        "least_margin": curve[-1][2] if math.isfinite(curve[-1][2]) else None,
        "certified": training.certificate is not None,
        "bounds": {bound.arithmetic: bound.margin for bound in proof.bounds} if proof is not None else {},
        "outside": outside,
        "right": right,
        "parameters": training.model.parameter_count,
        "seconds": round(training.seconds, 1),
        "curve": curve,
    }


class WholeStudy(Study):
    """Readers of whole sums, certified at all lengths or not."""

    name = "whole"
    title = "Whole sums"
    caption = "Readers certified at every length: shares of ten seeds, 95 % intervals"
    measure = "alga.research.studies.whole:measure"

    def plan(self, quick: bool) -> list[Settings]:
        base = recipes.whole()
        base = dataclasses.replace(base, steps=40 if quick else 2_000, check_every=20 if quick else 500)
        kinds: dict[str, dict[str, Any]] = {f"up to {n} digits": {"digits": n} for n in ((5,) if quick else LENGTHS)}
        kinds |= {name: change for name, change in OTHERS.items() if not quick or name == "no price"}
        return [
            {"kind": kind, "recipe": dataclasses.replace(base, **change).settings(), "seed": seed}
            for seed in seeds(quick)
            for kind, change in kinds.items()
        ]

    def record(self, settings: Settings, result: Record) -> Record:
        kept = picked(result, "wrong", "least_margin", "certified", "outside", "right", "parameters", "seconds")
        kept["float32"] = result["bounds"].get("float32")
        return {"kind": settings["kind"], "digits": settings["recipe"]["digits"], "seed": settings["seed"], **kept}

    def findings(self, records: Sequence[Record]) -> Record:
        header = ["trained", "parameters", "certified at every length", "situations wrong", "outside, at most"]
        table = [[*header, *(f"right at {digits} digits" for digits in SAMPLED), "seconds"]]
        for kind, members in gathered(records, "kind").items():
            bounded = [record["outside"] for record in members if record["outside"] is not None]
            right = [sum(record["right"][str(digits)] for record in members) for digits in SAMPLED]
            shares = [100 * count / n / len(members) for count, n in zip(right, SAMPLED.values(), strict=True)]
            table.append([
                kind, f"{members[0]['parameters']:,}", _certified(members), f"{over(members, 'wrong').value:,.0f}",
                f"{max(bounded):.0e}" if bounded else "no bound", *(f"{each:.0f} %" for each in shares),
                f"{over(members, 'seconds').value:.0f}",
            ])  # fmt: skip
        works = [r["digits"] for r in records if r["kind"].startswith("up to") and r["certified"]]
        return {
            "shortest": min(works) if works else "none that was tried",
            "no_price": _certified([record for record in records if record["kind"] == "no price"]),
            "table": markdown.table(*table),
        }

    def panels(self, records: Sequence[Record]) -> list[Panel]:
        groups = gathered([r for r in records if r["kind"].startswith("up to")], "digits").items()
        certified = [(n, share(sum(r["certified"] for r in rows), len(rows))) for n, rows in groups]
        sure = {n: [r for r in rows if r["certified"]] for n, rows in groups}
        margins = [(n, over(rows, "least_margin")) for n, rows in sure.items() if rows]
        label = "digits of the longest number in training"
        return [
            Panel(label, "share certified at every length", [Series("", certified)]),
            Panel(label, "least margin of those certified (median)", [Series("", margins)]),
        ]


def _certified(records: Sequence[Record]) -> str:
    return of([record for record in records if record["certified"]], records)
