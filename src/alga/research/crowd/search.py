"""A search over seeds: groups of networks trained at once, one line of JSON for each group, whatever came of it.

    >>> from alga.research.crowd.search import search  # doctest: +SKIP
    >>> search(changed(recipes.smallest(), {...}), range(0, 320, 32), Path("crowd.jsonl"))  # doctest: +SKIP

A group that has its line already is skipped, so a search that was stopped is started again with the same command. A
seed counts as certified if the real decoder says so of its best network.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from alga.runs.config import Recipe
from alga.training.crowd import LANES, Crowd


def search(recipe: Recipe, first_seeds: Iterable[int], log: Path) -> Iterator[dict[str, Any]]:
    """Train a group of LANES networks from each first seed; yield and append a record of each."""
    done = {(_key(record["recipe"]), record["first_seed"]) for record in records(log)}
    for first_seed in first_seeds:
        if (_key(recipe.settings()), first_seed) in done:
            continue
        record = group(recipe, first_seed)
        with log.open("a") as file:
            file.write(json.dumps(record) + "\n")
        yield record


def group(recipe: Recipe, first_seed: int) -> dict[str, Any]:
    """Train one group for the recipe's steps; return its record."""
    began, crowd = time.process_time(), Crowd(recipe, first_seed)
    while crowd.step < recipe.steps:
        crowd.train(min(recipe.check_every, recipe.steps - crowd.step))
        crowd.wrong()
    right = [lane for lane in range(LANES) if crowd.fewest_wrong[lane] == 0]
    certified = [lane for lane in right if crowd.as_run(lane).judged().certified]
    return {
        "recipe": recipe.settings(),
        "parameters": recipe.network().parameters,
        "first_seed": first_seed,
        "networks": LANES,
        "fewest_wrong": crowd.fewest_wrong.tolist(),
        "certified": [first_seed + lane for lane in certified],
        "numbers": {str(first_seed + lane): crowd.best_TN[:, lane].tolist() for lane in certified},
        "cpu_seconds": round(time.process_time() - began, 1),
    }


def records(log: Path) -> list[dict[str, Any]]:
    """Return the records of a log; none if there is no such file."""
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def _key(settings: dict[str, Any]) -> str:
    return json.dumps(settings, sort_keys=True)
