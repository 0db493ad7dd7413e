"""The comparison of baselines: a learning-rate search, then several seeds, both run as sweeps.

Every method has the same kind of sums, batches, schedule, search and end of training: all validation sums right at
three checks in a row, or the most tokens reached. Methods that extrapolate train on then, as their authors do, and
are tested at both points. The best rate passes with the fewest tokens; if none passes, it has the most validation sums
right, then the most digits. The metric of the tests is exact match.
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
SEARCH_SEED: Final = 1000
GIVE_UP: Final = 3  # stop after this many lengths in a row with nothing right


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The size of a comparison."""

    scale: Scale
    longer: int  # training length of methods that extrapolate
    lengths: tuple[int, ...]  # of the test problems
    count: int  # problems of each length
    seeds: int
    more_seeds: int  # of methods that extrapolate
    search_tokens: int  # at most, for each rate
    rates: int = 4  # to try, of a method's own

    def scale_of(self, kind: type[Baseline]) -> Scale:
        """Return the scale of one method."""
        scale = dataclasses.replace(self.scale, digits=self.longer) if kind.extrapolates else self.scale
        return Scale(**{**dataclasses.asdict(scale), **kind.shape})

    def seeds_of(self, kind: type[Baseline]) -> int:
        """Return the number of seeds of one method."""
        return self.more_seeds if kind.extrapolates else self.seeds


def small() -> Setting:
    """The setting of `make compare`, for two cores."""
    lengths = (*range(1, 21), 30, 50, 100, 200, 500, 1000)
    return Setting(
        scale=Scale(settle_tokens=10_000_000),
        longer=10,
        lengths=lengths,
        count=100,
        seeds=3,
        more_seeds=5,
        search_tokens=10_000_000,
    )


def quick() -> Setting:
    """A tiny one, to test that everything runs."""
    scale = Scale(
        digits=2, width=16, hidden=32, tokens=20_000, settle_tokens=5_000, on_tokens=20_000, check_tokens=5_000
    )
    return Setting(
        scale=scale, longer=3, lengths=(1, 2, 3, 4), count=5, seeds=2, more_seeds=2, search_tokens=8_000, rates=2
    )


def large() -> Setting:
    """A setting for a GPU, never run: longer problems, larger networks, 25 times the compute."""
    shape = {"width": 256, "layers": 4, "hidden": 1024}
    tokens = {"tokens": 1_000_000_000, "settle_tokens": 250_000_000, "on_tokens": 500_000_000}
    tokens |= {"batch_tokens": 65_536, "check_tokens": 5_000_000}
    scale = Scale(digits=10, **shape, **tokens, device="cuda")
    lengths = (1, 5, 10, 15, 20, 21, 22, 25, 30, 40, 50, 75, 100, 200, 500, 1000)
    return Setting(scale=scale, longer=20, lengths=lengths, count=100, seeds=3, more_seeds=5, search_tokens=250_000_000)


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

    rates = {method: kind.rates[: setting.rates] for method, kind in kinds.items()}
    say(f"searching learning rates, with up to {setting.search_tokens:,} tokens each …")
    tries = [(method, rate) for method in methods for rate in rates[method]]
    plan = [_settings(method, rate, SEARCH_SEED, setting, search=True) for method, rate in tries]
    found = list(zip(tries, sweep(plan, "search"), strict=True))
    search = {method: [_tried(rate, each) for (name, rate), each in found if name == method] for method in methods}
    best = {method: max(tried, key=_goodness)["rate"] for method, tried in search.items()}
    say("training with the best rates …")
    chosen = [(method, seed) for method, kind in kinds.items() for seed in range(setting.seeds_of(kind))]
    plan = [_settings(method, best[method], seed, setting) for method, seed in chosen]
    results = list(zip(plan, sweep(plan, "final"), strict=True))
    return [
        {
            "method": method, "title": kind.title, "source": kind.source, "given": kind.given,
            "published": kind.published, "looped": kind.looped, "extrapolates": kind.extrapolates,
            "scale": dataclasses.asdict(setting.scale_of(kind)), "rate": best[method], "search": search[method],
            "runs": [result for given, result in results if given["method"] == method],
        }
        for method, kind in kinds.items()
    ]  # fmt: skip


def _tried(rate: float, result: dict[str, Any]) -> dict[str, Any]:
    """Return what the search found of one rate."""
    return {"rate": rate, "passed": result["passed"], **result["validation"]}


def _goodness(tried: dict[str, Any]) -> tuple[Any, ...]:
    """Return what makes one rate better than another: it passes, with fewer tokens; else, it has more right."""
    return tried["passed"] is not None, -(tried["passed"] or 0), tried["right"], tried["digits"]


def _settings(method: str, rate: float, seed: int, setting: Setting, *, search: bool = False) -> Settings:
    kind = baselines.find(method)
    scale = setting.scale_of(kind)
    if search:
        scale = dataclasses.replace(scale, tokens=setting.search_tokens, settle_tokens=0)  # a beginning of the others
    return {
        "method": method, "scale": dataclasses.asdict(scale), "rate": rate, "seed": seed, "count": setting.count,
        "version": kind.version,
        **own.version(method),
        **({} if search else {"lengths": list(setting.lengths)}),
    }  # fmt: skip


def measure(settings: Settings) -> dict[str, Any]:
    """Train one method once, and test it."""
    import torch

    torch.set_num_threads(1)
    scale, count = Scale(**settings["scale"]), settings["count"]
    baseline = baselines.find(settings["method"])(scale, settings["rate"], settings["seed"])
    baseline.trains_on &= "lengths" in settings
    began = time.monotonic()
    learned = dataclasses.asdict(baseline.train())
    result = {"parameters": baseline.parameters, **learned, "seconds": round(time.monotonic() - began, 1)}
    rng = Random(settings["seed"] + 1_000_000)  # held out from training, the same for every method
    result["validation"] = _validated(baseline, [draw(rng, scale.digits) for _ in range(2 * count)])
    if "lengths" in settings:
        result["certified"] = baseline.certified if learned["passed"] else None
        result["lengths"] = _by_length(baseline, settings["lengths"], count, rng)
        result["chains"] = {
            str(digits): {
                str(chain): _right(baseline, [with_chain(rng, digits, chain) for _ in range(count // 2 or 1)])
                for chain in range(digits + 1)
            }
            for digits in (scale.digits, scale.digits * 3 // 2)
        }
        problem = of_length(rng, scale.digits + 1)
        result["example"] = ["+".join(problem), baseline.answer([problem])[0].generated[:400]]
        if baseline.rewind():
            result["at_pass"] = {
                "certified": baseline.certified,
                "lengths": _by_length(baseline, settings["lengths"], count, rng),
            }
    return result


def _by_length(baseline: Baseline, lengths: Sequence[int], count: int, rng: Random) -> dict[str, list[int] | None]:
    """Count right answers by length; None where a method has no places, or once GIVE_UP lengths in a row had none."""
    found: dict[str, list[int] | None] = {}
    barren = 0
    for digits in lengths:
        problems = [of_length(rng, digits) for _ in range(count)]
        right = None if barren >= GIVE_UP or digits > baseline.longest else _right(baseline, problems)
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
