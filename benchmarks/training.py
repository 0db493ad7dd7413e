"""How long until every prompt is right: the `fast` recipe against the `paper` recipe.

Same task, same network, same check interval, same machine, seeds 0 to 4, the two recipes in turn: one run, one ratio.
The time is from the first step to the first check that finds all prompts right, checks included.

    make bench-training
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import sys
import tempfile
from pathlib import Path

from alga.training import recipes
from alga.training.trainer import Training

TASK = "addition-padded"
CHECK_EVERY = 25


def time_to_all_right(recipe_name: str, seed: int) -> dict[str, float]:
    recipe = dataclasses.replace(recipes.find(recipe_name), task=TASK, check_every=CHECK_EVERY, margin=0.0)
    with tempfile.TemporaryDirectory() as folder:
        for progress in Training.start(Path(folder) / "run", recipe, seed=seed, device="cpu").run():
            if progress.wrong == 0:
                return {"seed": seed, "steps": progress.step, "seconds": round(progress.seconds, 2)}
    raise SystemExit(f"{recipe_name}, seed {seed}: not all right after {recipe.steps:,} steps")


def main() -> None:
    parser = argparse.ArgumentParser(description="The fast recipe against the paper's, in one run.")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    options = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = {"fast": [], "paper": []}
    for seed in range(options.seeds):
        for name, rows in found.items():
            rows.append(time_to_all_right(name, seed))
            print(
                f"{name:>5}, seed {seed}: {rows[-1]['steps']:>6,} steps {rows[-1]['seconds']:>8.2f} s", file=sys.stderr
            )
    medians = {name: statistics.median(row["seconds"] for row in rows) for name, rows in found.items()}
    ratio = medians["paper"] / medians["fast"]
    print(f"median of {options.seeds} seeds, {TASK}, all prompts right:")
    print(f"  fast {medians['fast']:.2f} s, paper {medians['paper']:.2f} s: 1/{ratio:.1f}")
    if options.out:
        content = {"task": TASK, "check_every": CHECK_EVERY, "runs": found, "median_seconds": medians, "ratio": ratio}
        options.out.write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
