"""The comparison of baselines: a learning-rate search, then several seeds, both run as sweeps.

Every method gets the same lengths, network, compute, tests and search: all rates at an eighth of the compute, the best
two at a half (a rate that wins early may be too high later), the best of these by validation accuracy in full; right
digits break ties. The metric is exact match.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from alga.base.errors import AlgaError
from alga.base.progress import Watch, unwatched
from alga.research import baselines, records, sweeps
from alga.research.baselines.contract import Baseline, Problem, Scale
from alga.research.baselines.plain import added
from alga.research.baselines.problems import draw, of_length, with_chain
from alga.research.sweeps import Settings
from alga.tasks import own

MEASURE: Final = "alga.research.baselines.comparison:measure"
SEARCH: Final = ((8, 2), (2, 1))  # at an eighth of the compute two rates go on, at a half one
GIVE_UP: Final = 3  # stop after this many lengths in a row with nothing right


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The size of a comparison."""

    scale: Scale
    lengths: tuple[int, ...]  # that are tested
    count: int  # problems of each length, and of each length of a carry chain
    seeds: int
    rates: int = 4  # how many of a method's rates are tried


def small() -> Setting:
    """The setting of `make compare`, for two cores."""
    lengths = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 50, 100)
    return Setting(scale=Scale(tokens=7_000_000), lengths=lengths, count=100, seeds=3)


def quick() -> Setting:
    """A tiny one, to test that everything runs."""
    return Setting(
        scale=Scale(digits=2, width=16, hidden=32, tokens=30_000), lengths=(1, 2, 3), count=5, seeds=2, rates=2
    )


def large() -> Setting:
    """A setting for a GPU, never run by us: longer problems, larger networks, a hundred times the compute."""
    scale = Scale(
        digits=20, width=256, heads=4, layers=4, hidden=1024, tokens=1_000_000_000, batch_tokens=65_536, device="cuda"
    )
    lengths = (1, 5, 10, 15, 20, 21, 22, 25, 30, 40, 50, 75, 100)
    return Setting(scale=scale, lengths=lengths, count=100, seeds=3)


SETTINGS: Final[dict[str, Callable[[], Setting]]] = {"small": small, "quick": quick, "large": large}


def run(
    methods: Sequence[str],
    setting: Setting,
    folder: Path,
    *,
    cluster: str | None = None,
    workers: int | None = None,
    watch: Watch = unwatched,
    say: sweeps.Say = lambda _: None,
) -> list[dict[str, Any]]:
    """Search rates, train, test; return a record per method. Runs already in `folder` are reused."""
    kinds = {method: baselines.find(method) for method in methods}

    def sweep(plan: list[Settings], name: str) -> list[dict[str, Any]]:
        rows = sweeps.run(
            MEASURE, plan, folder / f"{name}.jsonl", cluster=cluster, workers=workers, watch=watch, say=say
        )
        if failed := [row.error for row in rows if row.result is None]:
            raise AlgaError(f"{len(failed)} runs failed, the first with: {failed[0]}")
        results = [row.result for row in rows if row.result is not None]
        with records.telling(folder / f"{name}.jsonl", "results of a comparison's runs"):
            for result in results:
                _ = result["validation"]["right"], result["validation"]["digits"]
        return results

    rates = {method: list(kind.rates[: setting.rates]) for method, kind in kinds.items()}
    search: dict[str, list[dict[str, Any]]] = {method: [] for method in methods}
    for part, kept in SEARCH:
        say(f"searching learning rates, at 1/{part} of the compute …")
        scale = dataclasses.replace(setting.scale, tokens=setting.scale.tokens // part)
        tries = [(method, rate) for method in methods for rate in rates[method]]
        found = sweep(
            [_settings(method, scale, rate, 1000, setting, only_validate=True) for method, rate in tries],
            f"search-{part}",
        )
        for method in methods:
            tried = [
                {"part": part, "rate": rate, **result["validation"]}
                for (name, rate), result in zip(tries, found, strict=True)
                if name == method
            ]
            search[method] += tried
            best_first = sorted(tried, key=lambda each: (each["right"], each["digits"]), reverse=True)
            rates[method] = [each["rate"] for each in best_first[:kept]]
    say("training with the best …")
    plan = [
        _settings(method, setting.scale, rates[method][0], seed, setting)
        for method in methods
        for seed in range(setting.seeds)
    ]
    results = sweep(plan, "final")
    return [
        {
            "method": method, "title": kind.title, "source": kind.source, "given": kind.given,
            "published": kind.published, "rate": rates[method][0], "search": search[method],
            "runs": [result for given, result in zip(plan, results, strict=True) if given["method"] == method],
        }
        for method, kind in kinds.items()
    ]  # fmt: skip


def _settings(
    method: str, scale: Scale, rate: float, seed: int, setting: Setting, *, only_validate: bool = False
) -> Settings:
    tests = {} if only_validate else {"lengths": list(setting.lengths)}
    shape = dataclasses.asdict(scale)
    base = {"method": method, "scale": shape, "rate": rate, "seed": seed, "count": setting.count}
    version = baselines.find(method).version
    return {**base, **({"version": version} if version > 1 else {}), **own.version(method), **tests}


def measure(settings: Settings) -> dict[str, Any]:
    """Train one method once, and test it."""
    import torch

    torch.set_num_threads(1)
    scale, count = Scale(**settings["scale"]), settings["count"]
    baseline = baselines.find(settings["method"])(scale, settings["rate"], settings["seed"])
    began = time.monotonic()
    learned = baseline.train()
    seconds = time.monotonic() - began
    rng = Random(settings["seed"] + 1_000_000)  # held out from training, the same for every method
    validation = [draw(rng, scale.digits) for _ in range(2 * count)]
    result: dict[str, Any] = {
        "parameters": baseline.parameters,
        **dataclasses.asdict(learned),
        "seconds": round(seconds, 1),
        "validation": _validated(baseline, validation),
    }
    if "lengths" in settings:
        result["lengths"] = _by_length(baseline, settings["lengths"], count, rng)
        result["chains"] = {
            str(digits): {
                str(chain): _right(baseline, [with_chain(rng, digits, chain) for _ in range(count // 2 or 1)])
                for chain in range(digits + 1)
            }
            for digits in (scale.digits, 2 * scale.digits)
        }
        problem = of_length(rng, scale.digits + 1)
        result["example"] = ["+".join(problem), baseline.answer([problem])[0].generated[:400]]
    return result


def _by_length(baseline: Baseline, lengths: Sequence[int], count: int, rng: Random) -> dict[str, list[int] | None]:
    """Count right answers by length; None once GIVE_UP lengths in a row had none."""
    found: dict[str, list[int] | None] = {}
    barren = 0
    for digits in lengths:
        problems = [of_length(rng, digits) for _ in range(count)]
        right = None if barren >= GIVE_UP else _right(baseline, problems)
        barren = 0 if right is not None and right[0] else barren + 1
        found[str(digits)] = right
    return found


def _right(baseline: Baseline, problems: Sequence[Problem]) -> list[int]:
    attempts = baseline.answer(problems)
    right = [attempt.answer == added(*problem) for attempt, problem in zip(attempts, problems, strict=True)]
    return [sum(right), len(right)]


def _validated(baseline: Baseline, problems: Sequence[Problem]) -> dict[str, Any]:
    """Count right answers and right digits, which say more if few answers are right."""
    attempts = baseline.answer(problems)
    pairs = [(attempt.answer or "", added(*problem)) for attempt, problem in zip(attempts, problems, strict=True)]
    digits = sum(a == b for answer, total in pairs for a, b in zip(answer[::-1], total[::-1], strict=False))
    return {"right": sum(answer == total for answer, total in pairs), "digits": digits, "of": len(pairs)}
