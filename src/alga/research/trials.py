"""Trials: one training as a measurement (recipe and seed in, record out), and plans of many, from TOML or Python."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from alga.base.errors import AlgaError
from alga.research import statistics
from alga.research.kept_runs import FILES, KEPT, packed
from alga.research.sweeps import Row, Settings
from alga.runs.config import Recipe
from alga.tasks import own
from alga.training import recipes
from alga.training.changes import changed

if TYPE_CHECKING:
    from alga.training.trainer import Training

MEASURE: Final = "alga.research.trials:train"
MAX_RUNS: Final = 100_000
MAX_PLAN_BYTES: Final = 2**20


def settings(recipe: Recipe, seed: int, **more: Any) -> Settings:
    """Return one run's settings: the recipe without its default values, and the seed.

    `to_the_end` continues training after the certificate; `wrong_at` lists steps at which wrong prompts are recorded;
    with `keep`, the result holds the files of the run (`kept_runs.py`).
    """
    unused = {field.name: field.default for field in dataclasses.fields(recipe)} | {"options": {}}
    used = {name: value for name, value in dataclasses.asdict(recipe).items() if value != unused[name]}
    return {"recipe": used, "seed": seed, **own.version(recipe.task), **more}


def train(given: Settings) -> dict[str, Any]:
    """Train one network on one thread, write nothing, and return the measurements."""
    return trained(given)[1]


def trained(given: Settings) -> tuple[Training, dict[str, Any]]:
    """Train one network; return it with its measurements."""
    from alga.training.trainer import Training

    recipe = Recipe(**given["recipe"])
    if given.get("to_the_end"):
        recipe = dataclasses.replace(recipe, margin=1000.0, check_below=0.0)  # out of reach
    training = Training.start(None, recipe, seed=given["seed"], threads=1, device="cpu")
    curve, wrong_at = [], {}
    certified: dict[str, Any] = {"certified_at": None, "seconds": None}
    for progress in training.run():
        curve.append([progress.step, progress.wrong, round(progress.least_margin, 3)])
        if progress.step in given.get("wrong_at", ()):
            wrong_at[str(progress.step)] = training.wrong_prompts()
        right = progress.wrong == 0 and certified["certified_at"] is None
        if right and (training.certificate is not None or training.as_run().judged().certified):
            certified = {"certified_at": progress.step, "seconds": round(progress.seconds, 2)}
    wrong = training.wrong_prompts() if training.certificate is None else []
    return training, {
        **certified,
        "steps": training.step,
        "all_seconds": round(training.seconds, 2),
        "wrong": len(wrong),
        "wrong_unseen": sum(prompt not in training.shown for prompt in wrong),
        "unseen": len(training.config.task.domain) - len(training.shown),
        "least_margin": curve[-1][2],
        "parameters": training.model.parameter_count,
        "prompts": len(training.config.task.domain),
        "sha256": training.as_run().sha256,
        "curve": curve,
        **({"wrong_at": wrong_at} if "wrong_at" in given else {}),
        **({FILES: packed(training.as_run())} if "keep" in given else {}),
    }


@dataclass(frozen=True, kw_only=True)
class Group:
    """The runs of one recipe over its seeds, named by the settings that vary in the sweep."""

    changes: dict[str, Any]
    runs: int
    failed: int
    certified: int
    median_steps: float | None  # to the certificate; None if half of the runs were never certified
    median_seconds: float | None


def groups(rows: Sequence[Row]) -> list[Group]:
    """Group a sweep's runs by recipe, in order."""
    kinds = [dataclasses.asdict(Recipe(**row.settings["recipe"])) for row in rows]
    varying = [name for name in kinds[0] if any(kind[name] != kinds[0][name] for kind in kinds)]
    gathered: dict[str, list[Row]] = {}
    for row, kind in zip(rows, kinds, strict=True):
        gathered.setdefault(json.dumps({name: kind[name] for name in varying}), []).append(row)
    return [_group(json.loads(name), members) for name, members in gathered.items()]


def _group(changes: dict[str, Any], rows: Sequence[Row]) -> Group:
    results = [row.result or {"certified_at": None, "seconds": None} for row in rows]
    medians = [statistics.median([result[name] for result in results]).value for name in ("certified_at", "seconds")]
    steps, seconds = (value if math.isfinite(value) else None for value in medians)
    certified = sum(result["certified_at"] is not None for result in results)
    failed = sum(row.result is None for row in rows)
    return Group(
        changes=changes, runs=len(rows), failed=failed, certified=certified, median_steps=steps, median_seconds=seconds
    )


def grid(recipe: Recipe, changes: Mapping[str, Sequence[Any]], seeds: Iterable[int], **more: Any) -> list[Settings]:
    """Return the settings of every combination of changes, each with every seed.

    >>> len(grid(recipes.fast(), {"batch_size": [64, 128], "learning_rate": [1e-3, 4e-3]}, range(10)))
    40
    """
    choices = [dict(zip(changes, values, strict=True)) for values in itertools.product(*changes.values())]
    return [settings(changed(recipe, choice), seed, **more) for choice in choices for seed in seeds]


def read(path: Path) -> list[Settings]:
    """Read a plan: a recipe with a `grid` of changes or a list of `runs`, each with every seed (docs/sweeps.md)."""
    try:
        with path.open("rb") as file:  # may be a pipe
            text = file.read(MAX_PLAN_BYTES + 1)
        if len(text) > MAX_PLAN_BYTES:
            raise AlgaError(f"{path}: a plan has at most {MAX_PLAN_BYTES:,} bytes")
        content = tomllib.loads(text.decode())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as problem:
        raise AlgaError(f"{path} is not a TOML plan: {problem}") from None
    known = {"recipe": str, "task": str, "seeds": (int, list), "grid": dict, "runs": list, "keep": str}
    for name, value in content.items():
        if name not in known:
            raise AlgaError(f"{path}: expected {', '.join(known)}, got {name!r}")
        if not isinstance(value, known[name]):  # type: ignore[arg-type]
            raise AlgaError(f"{path}: {name} cannot be {value!r}")
    recipe = recipes.find(content.get("recipe", "fast"), content.get("task"))
    seeds, runs = content.get("seeds", 10), content.get("runs", [{}])
    seeds = range(seeds) if isinstance(seeds, int) else seeds
    if any(type(seed) is not int or seed < 0 for seed in seeds[:MAX_RUNS]):
        raise AlgaError(f"{path}: seeds must be a count or a list of integers from 0 up")
    axes = {name: value if isinstance(value, list) else [value] for name, value in content.get("grid", {}).items()}
    count = len(runs) * math.prod(map(len, axes.values())) * len(seeds)
    if not 0 < count <= MAX_RUNS:
        raise AlgaError(f"{path}: expected 1 to {MAX_RUNS:,} runs, got {count:,}")
    keep = {"keep": content["keep"]} if "keep" in content else {}
    if keep and content["keep"] not in KEPT:
        raise AlgaError(f"{path}: keep must be one of {', '.join(KEPT)}, got {content['keep']!r}")
    plan = []
    for changes in runs:
        if not isinstance(changes, dict):
            raise AlgaError(f"{path}: each of runs must be a table of changes, got {changes!r}")
        plan += grid(changed(recipe, changes), axes, seeds, **keep)
    return plan
