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
from typing import Any, Final, Unpack

from alga.research import baselines, records, sweeps
from alga.research.baselines.contract import Baseline, Problem, Scale
from alga.research.baselines.problems import added, draw, of_length, with_chain
from alga.research.sweeps import Settings
from alga.tasks import own

MEASURE: Final = "alga.research.baselines.comparison:measure"
WHAT: Final = "comparison results"
SEARCH: Final = ((8, 2), (2, 1))  # an eighth of the compute selects two rates, a half one
GIVE_UP: Final = 3  # stop after this many lengths in a row with nothing right


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The size of a comparison."""

    scale: Scale
    lengths: tuple[int, ...]  # of the test problems
    count: int  # problems of each length
    seeds: int
    rates: int = 4  # to try, of a method's own


def small() -> Setting:
    """The setting of `make compare`, for two cores."""
    lengths = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 50, 100)
    return Setting(scale=Scale(tokens=7_000_000), lengths=lengths, count=100, seeds=3)


def quick() -> Setting:
    """A tiny one, to test that everything runs."""
    scale = Scale(digits=2, width=16, hidden=32, tokens=30_000)
    return Setting(scale=scale, lengths=(1, 2, 3), count=5, seeds=2, rates=2)


def large() -> Setting:
    """A setting for a GPU, never run: longer problems, larger networks, a hundred times the compute."""
    shape = {"width": 256, "layers": 4, "hidden": 1024}
    scale = Scale(digits=20, **shape, tokens=1_000_000_000, batch_tokens=65_536, device="cuda")
    lengths = (1, 5, 10, 15, 20, 21, 22, 25, 30, 40, 50, 75, 100)
    return Setting(scale=scale, lengths=lengths, count=100, seeds=3)


SETTINGS: Final[dict[str, Callable[[], Setting]]] = {"small": small, "quick": quick, "large": large}


def run(
    methods: Sequence[str], setting: Setting, folder: Path, **options: Unpack[sweeps.Options]
) -> list[dict[str, Any]]:
    """Search rates, train, test; return a record per method. Runs already in `folder` are reused."""
    say: sweeps.Say = options.get("say", lambda _: None)
    kinds = {method: baselines.find(method) for method in methods}

    def sweep(plan: list[Settings], name: str) -> list[dict[str, Any]]:
        path = folder / f"{name}.jsonl"
        results = [result for _, result in sweeps.completed(sweeps.run(MEASURE, plan, path, **options))]
        with records.blaming(path, WHAT):
            for result in results:
                _ = result["validation"]["right"], result["validation"]["digits"]
        return results

    rates = {method: list(kind.rates[: setting.rates]) for method, kind in kinds.items()}
    search: dict[str, list[dict[str, Any]]] = {method: [] for method in methods}
    for part, kept in SEARCH:
        say(f"searching learning rates, at 1/{part} of the compute …")
        scale = dataclasses.replace(setting.scale, tokens=setting.scale.tokens // part)
        tries = [(method, rate) for method in methods for rate in rates[method]]
        plan = [_settings(method, scale, rate, 1000, setting, only_validate=True) for method, rate in tries]
        found = list(zip(tries, sweep(plan, f"search-{part}"), strict=True))
        for method in methods:
            tried = [
                {"part": part, "rate": rate, **each["validation"]} for (name, rate), each in found if name == method
            ]
            search[method] += tried
            best_first = sorted(tried, key=lambda each: (each["right"], each["digits"]), reverse=True)
            rates[method] = [each["rate"] for each in best_first[:kept]]
    say("training with the best rates …")
    chosen = [(method, rates[method][0], seed) for method in methods for seed in range(setting.seeds)]
    plan = [_settings(method, setting.scale, rate, seed, setting) for method, rate, seed in chosen]
    results = list(zip(plan, sweep(plan, "final"), strict=True))
    return [
        {
            "method": method, "title": kind.title, "source": kind.source, "given": kind.given,
            "published": kind.published, "rate": rates[method][0], "search": search[method],
            "runs": [result for given, result in results if given["method"] == method],
        }
        for method, kind in kinds.items()
    ]  # fmt: skip


def _settings(
    method: str, scale: Scale, rate: float, seed: int, setting: Setting, *, only_validate: bool = False
) -> Settings:
    shape, version = dataclasses.asdict(scale), baselines.find(method).version
    return {
        "method": method, "scale": shape, "rate": rate, "seed": seed, "count": setting.count,
        **({"version": version} if version > 1 else {}),
        **own.version(method),
        **({} if only_validate else {"lengths": list(setting.lengths)}),
    }  # fmt: skip


def measure(settings: Settings) -> dict[str, Any]:
    """Train one method once, and test it."""
    import torch

    torch.set_num_threads(1)
    scale, count = Scale(**settings["scale"]), settings["count"]
    baseline = baselines.find(settings["method"])(scale, settings["rate"], settings["seed"])
    began = time.monotonic()
    learned = dataclasses.asdict(baseline.train())
    result = {"parameters": baseline.parameters, **learned, "seconds": round(time.monotonic() - began, 1)}
    rng = Random(settings["seed"] + 1_000_000)  # held out from training, the same for every method
    result["validation"] = _validated(baseline, [draw(rng, scale.digits) for _ in range(2 * count)])
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
    counts = _validated(baseline, problems)
    return [counts["right"], counts["of"]]


def _validated(baseline: Baseline, problems: Sequence[Problem]) -> dict[str, int]:
    """Count right answers and right digits, which say more if few answers are right."""
    answers = [attempt.answer or "" for attempt in baseline.answer(problems)]
    pairs = [(answer, added(*problem)) for answer, problem in zip(answers, problems, strict=True)]
    digits = sum(a == b for answer, total in pairs for a, b in zip(answer[::-1], total[::-1], strict=False))
    return {"right": sum(answer == total for answer, total in pairs), "digits": digits, "of": len(pairs)}
