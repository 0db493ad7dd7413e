"""`make learned`: two trainings for the page's *Watch it learn*, as src/alga/serve/page/learned.json.

It trains by the recipes `fast` and `smallest`, keeps which prompts were right at each checkpoint, and writes both into
one file. Trainings that are there already are resumed or taken as they are. Few seeds of `smallest` are certified, and
which ones depends on how the processor rounds; so it tries one after the other, first that of the shipped network.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from alga import runs
from alga.base.folders import Folder
from alga.runs import verdicts
from alga.tasks.procedure import SEPARATOR

PAGE = Path(__file__).parents[1] / "src" / "alga" / "serve" / "page"
CHECKPOINTS = {"fast": 4, "smallest": 500}  # steps between two
SEEDS = {"fast": range(10), "smallest": [13, 22, *range(30)]}


def main() -> None:
    """Train what is not there, in a folder that may be named, and write the page's file."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("runs/learned")
    content = {"runs": [recorded(certified(folder, name)) for name in CHECKPOINTS]}
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    (PAGE / "learned.json").write_text(f"{text}\n")
    print(f"{PAGE / 'learned.json'}: {len(text):,} bytes")


def certified(folder: Path, name: str) -> Path:
    """Return the folder of the first training that is certified at its end."""
    for seed in SEEDS[name]:
        out = folder / f"{name}-{seed}"
        if not (out / "SHA256SUMS").exists():
            options = ("--recipe", name, "--seed", seed, "--checkpoints", CHECKPOINTS[name], "--out", out)
            started = ("--resume", out) if out.exists() else options
            ended = subprocess.run([sys.executable, "-m", "alga", "train", *map(str, started)], check=False)
            if ended.returncode > 1:  # 1: all steps done, not certified
                sys.exit(ended.returncode)
        if (out / "certificate.json").exists():
            return out
    sys.exit(f"no seed of {name} was certified")


def recorded(folder: Path) -> dict[str, Any]:
    """Return a training as the page shows it."""
    run, kept = runs.load(folder), verdicts.read(Folder(folder))
    recipe, domain, certificate = run.config.training["recipe"]["name"], run.config.task.domain, run.certificate
    assert certificate is not None
    assert certificate.certified
    contexts, columns = domain.axes
    for prompt, each in domain.items():  # the page writes prompts in this way
        assert prompt == (each.column if each.context is None else f"{each.context}{SEPARATOR}{each.column}")
    seed = run.config.training["seed"]
    size = f"{run.config.model.parameters:,} numbers"
    places = [(contexts.index(each.context), columns.index(each.column)) for each in domain.values()]
    return {
        "title": f"{recipe}: {size}",
        "end": f"Recipe {recipe}, seed {seed}, {size}, a checkpoint every {kept[1].step:,} steps. "
        f"The trainer certified the network at the end on all {len(domain):,} questions; "
        f"the closest lead is {certificate.least_margin:.2f} logits.",
        "contexts": contexts,
        "columns": columns,
        "places": [row * len(columns) + place for row, place in places],
        "steps": [each.step for each in kept],
        "losses": [None if each.loss is None else float(f"{each.loss:.3g}") for each in kept],
        "right": [verdicts.packed(each.right) for each in kept],
    }  # fmt: skip


if __name__ == "__main__":
    main()
