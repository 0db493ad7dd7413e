"""All methods side by side: a search of the learning rate, then several seeds, both run as sweeps.

Every method gets the same lengths, network class and compute, the same tests, and the same search: all rates at an
eighth of the compute, the best two at a half, the best of these (by validation accuracy; right digits break ties) in
full. A rate that is best after little training may be too high for more. What is measured is exact match.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from alga import rivals, sweeps
from alga.errors import AlgaError
from alga.progress import Watch, unwatched
from alga.rivals.contract import Problem, Rival, Scale
from alga.rivals.plain import added
from alga.rivals.problems import draw, of_length, with_chain
from alga.sweeps import Settings
from alga.tasks import own

MEASURE: Final = "alga.rivals.comparison:measure"
SEARCH: Final = ((8, 2), (2, 1))  # at an eighth of the compute two rates go on, at a half one
GIVE_UP: Final = 3  # lengths in a row with nothing right: longer ones are not tried


@dataclass(frozen=True, kw_only=True)
class Setting:
    """How much is run."""

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
    """A cut one, which shows that everything runs."""
    return Setting(
        scale=Scale(digits=2, width=16, hidden=32, tokens=30_000), lengths=(1, 2, 3), count=5, seeds=2, rates=2
    )


def large() -> Setting:
    """A setting for a GPU, not run by us: longer problems, wider and deeper networks, a hundred times the compute."""
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
    """Search rates, train, test; return a record for each method. What is in `folder` already is not run again."""
    kinds = {method: rivals.find(method) for method in methods}

    def sweep(plan: list[Settings], name: str) -> list[dict[str, Any]]:
        rows = sweeps.run(
            MEASURE, plan, folder / f"{name}.jsonl", cluster=cluster, workers=workers, watch=watch, say=say
        )
        if failed := [row.error for row in rows if row.result is None]:
            raise AlgaError(f"{len(failed)} runs failed, the first with: {failed[0]}")
        return [row.result for row in rows if row.result is not None]

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
    version = rivals.find(method).version
    return {**base, **({"version": version} if version > 1 else {}), **own.version(method), **tests}


def measure(settings: Settings) -> dict[str, Any]:
    """Train one method once, and test it."""
    import torch

    torch.set_num_threads(1)
    scale, count = Scale(**settings["scale"]), settings["count"]
    rival = rivals.find(settings["method"])(scale, settings["rate"], settings["seed"])
    began = time.monotonic()
    learned = rival.train()
    seconds = time.monotonic() - began
    rng = Random(settings["seed"] + 1_000_000)  # drawn apart from those of training, the same for every method
    validation = [draw(rng, scale.digits) for _ in range(2 * count)]
    result: dict[str, Any] = {
        "parameters": rival.parameters,
        **dataclasses.asdict(learned),
        "seconds": round(seconds, 1),
        "validation": _validated(rival, validation),
    }
    if "lengths" in settings:
        result["lengths"] = _by_length(rival, settings["lengths"], count, rng)
        result["chains"] = {
            str(digits): {
                str(chain): _right(rival, [with_chain(rng, digits, chain) for _ in range(count // 2 or 1)])
                for chain in range(digits + 1)
            }
            for digits in (scale.digits, 2 * scale.digits)
        }
        problem = of_length(rng, scale.digits + 1)
        result["example"] = ["+".join(problem), rival.answer([problem])[0].generated[:400]]
    return result


def _by_length(rival: Rival, lengths: Sequence[int], count: int, rng: Random) -> dict[str, list[int] | None]:
    """Count right answers by length; None where the lengths before had none at all."""
    found: dict[str, list[int] | None] = {}
    barren = 0
    for digits in lengths:
        problems = [of_length(rng, digits) for _ in range(count)]
        right = None if barren >= GIVE_UP else _right(rival, problems)
        barren = 0 if right is not None and right[0] else barren + 1
        found[str(digits)] = right
    return found


def _right(rival: Rival, problems: Sequence[Problem]) -> list[int]:
    attempts = rival.answer(problems)
    right = [attempt.answer == added(*problem) for attempt, problem in zip(attempts, problems, strict=True)]
    return [sum(right), len(right)]


def _validated(rival: Rival, problems: Sequence[Problem]) -> dict[str, Any]:
    """Count right answers, and right digits, which tell more where hardly an answer is right."""
    attempts = rival.answer(problems)
    pairs = [(attempt.answer or "", added(*problem)) for attempt, problem in zip(attempts, problems, strict=True)]
    digits = sum(a == b for answer, total in pairs for a, b in zip(answer[::-1], total[::-1], strict=False))
    return {"right": sum(answer == total for answer, total in pairs), "digits": digits, "of": len(pairs)}
