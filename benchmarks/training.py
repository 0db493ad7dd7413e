"""How long until a network is certified: the recipe `fast` against the paper's, and against `fast` as it was.

Same network, same task, same machine, one thread, seeds 0 to 4, the recipes in turn: one run, one ratio for each goal.
*right*: every prompt is right; *margin*: with a least margin of 5, which the paper's recipe does not aim for. The time
is that of the processor, from the first step to the check that finds it so, all checks included; the certificate that
follows is the same for all, and counted apart.

    make bench-training
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import sys
import time
from pathlib import Path

from alga.runs.config import Recipe
from alga.training import recipes
from alga.training.trainer import Training

TASK = "addition-padded"
CHECK_EVERY = 25  # in the recipes that make every check
RECIPES = {"paper": recipes.paper, "fast by AdamW": recipes.fast_by_adamw, "fast": recipes.fast}
GOALS = {"right": (0.0, RECIPES), "margin": (5.0, ("fast by AdamW", "fast"))}


class Timed(Training):
    """A training that notes when a check reached the goal."""

    reached_at = 0.0

    def _finish_if_certified(self, ended: str) -> None:
        self.reached_at = time.process_time()
        super()._finish_if_certified(ended)


def time_to_goal(recipe: Recipe, seed: int) -> dict[str, float]:
    training = Timed.start(None, recipe, seed=seed, threads=1, device="cpu")
    assert isinstance(training, Timed)
    began = time.process_time()
    for _ in training.run():
        pass
    if not training.reached_margin:
        raise SystemExit(f"{recipe.name}, seed {seed}: not certified after {recipe.steps:,} steps")
    seconds, certified = (round(end - began, 2) for end in (training.reached_at, time.process_time()))
    return {"seed": seed, "steps": training.step, "seconds": seconds, "seconds_with_certificate": certified}


def main() -> None:
    parser = argparse.ArgumentParser(description="The fast recipe against the paper's, in one run.")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    options = parser.parse_args()
    found: dict[str, dict[str, list[dict[str, float]]]] = {
        goal: {name: [] for name in names} for goal, (_, names) in GOALS.items()
    }
    for seed in range(options.seeds):
        for goal, (margin, names) in GOALS.items():
            for name in names:
                recipe = dataclasses.replace(RECIPES[name](), task=TASK, margin=margin)
                if not recipe.check_below:
                    recipe = dataclasses.replace(recipe, check_every=CHECK_EVERY)
                row = time_to_goal(recipe, seed)
                found[goal][name].append(row)
                told = f"{row['steps']:>6,} steps {row['seconds']:>8.2f} s"
                print(f"{goal:>6}, {name:>13}, seed {seed}: {told}", file=sys.stderr)
    medians = {
        goal: {name: statistics.median(row["seconds"] for row in rows) for name, rows in by_recipe.items()}
        for goal, by_recipe in found.items()
    }
    print(f"medians of {options.seeds} seeds, {TASK}, one thread, seconds of the processor:")
    for goal, by_recipe in medians.items():
        ratios = {name: took / by_recipe["fast"] for name, took in by_recipe.items()}
        told = ", ".join(f"{name} {took:.2f} s ({ratios[name]:.1f} times fast's)" for name, took in by_recipe.items())
        print(f"  {goal}: {told}")
    if options.out:
        content = {"task": TASK, "check_every": CHECK_EVERY, "threads": 1, "runs": found, "median_seconds": medians}
        options.out.write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
