"""The reproduction of the paper, in stages; `paper_page.py` turns the results into docs/paper.md.

Each stage's result is written at once, so that a stopped reproduction resumes.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from alga import runs, tasks
from alga.base import files
from alga.base.folders import Folder
from alga.base.progress import Watch
from alga.research import records
from alga.research.studies.published import SUMS, TRACES
from alga.runs import adoption
from alga.runs.config import Recipe
from alga.solve import evaluation
from alga.solve.solver import Solver
from alga.training import metrics, recipes
from alga.training.trainer import Training

RESULTS: Final = "paper.json"
WHAT: Final = "reproduction results"
Result = dict[str, Any]
Stage = Callable[[Watch], Result]
Show = Callable[[str, Stage, str], Result]  # runs a stage under its title; the last argument is what may end it early


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReproductionScale:
    """The size of a reproduction."""

    recipe: Recipe
    first_type_steps: int
    sums: int
    digits: int
    long_sums: int
    long_digits: int


def whole() -> ReproductionScale:
    """The paper's own settings and sizes."""
    recipe = recipes.paper()
    return ReproductionScale(
        recipe=recipe, first_type_steps=600, sums=1000, digits=1000, long_sums=10, long_digits=300_000
    )


def quick() -> ReproductionScale:
    """A minute's run with the fast recipe."""
    recipe = dataclasses.replace(recipes.fast(), task=recipes.paper().task, margin=0.0)
    return ReproductionScale(recipe=recipe, first_type_steps=50, sums=20, digits=60, long_sums=2, long_digits=400)


def reproduce(folder: Path, scale: ReproductionScale, show: Show, author: Path | None = None) -> Result:
    """Run the stages without a result; return all results."""
    path, trained = folder / RESULTS, folder / "run"
    runs.check_no_run(folder)
    folder.mkdir(parents=True, exist_ok=True)
    results: Result = records.read(path, WHAT) if path.exists() else {}
    sums = {"count": scale.sums, "max_digits": scale.digits}
    long = {"count": scale.long_sums, "max_digits": scale.long_digits, "exactly": True}
    stages: dict[str, tuple[str, Stage]] = {
        "training": ("training by the recipe", lambda watch: _train(trained, scale.recipe, watch)),
        "first_type": ("training on the first type only", lambda watch: _first_type(scale, watch)),
        "traces": ("the two traces", lambda _: _traces()),
        "published": ("the author's two sums", lambda _: _published(trained)),
        "sums": ("random sums", lambda watch: _evaluated(trained, watch, families=["uniform"], **sums)),
        "families": ("sums that break adders", lambda watch: _evaluated(trained, watch, families=[], **sums)),
        "long": ("very long sums", lambda watch: _evaluated(trained, watch, families=["uniform"], **long)),
    }
    if author is not None:
        stages["author"] = ("the author's own weights", lambda watch: _author(author, watch))
    for name, (title, stage) in stages.items():
        if name not in results:
            results[name] = show(title, stage, "certified" if name == "training" else "")
            files.write(path, (json.dumps(results, indent=2) + "\n").encode())
    return results


def _train(folder: Path, recipe: Recipe, watch: Watch) -> Result:
    started = (folder / "config.json").exists()
    if not started or not (folder / "certificate.json").exists():
        training = Training.resume(folder) if started else Training.start(folder, recipe, seed=0)
        for progress in training.run():
            watch(progress.step, recipe.steps)
    last, run = metrics.rows(Folder(folder))[-1], runs.load(folder)
    return {
        "recipe": recipe.name,
        "task": run.config.task.name,
        "parameters": run.model.parameter_count,
        "vocabulary": list(run.config.step_tokens.vocabulary),
        "lengths": [run.config.step_tokens.input_length, run.config.step_tokens.output_length],
        "steps": last["step"],
        "seconds": round(last["seconds"] or 0.0, 1),
        "certified": run.certified,
        "prompts": len(run.config.task.domain),
        "least_margin": run.certificate.least_margin if run.certificate else None,
    }


def _first_type(scale: ReproductionScale, watch: Watch) -> Result:
    """Train without second-type instances, and count right answers of each type."""
    recipe = dataclasses.replace(scale.recipe, second_type_share=0.0, steps=scale.first_type_steps)
    training = Training.start(None, recipe, seed=0)
    for progress in training.run():
        watch(progress.step, recipe.steps)
    domain = training.config.task.domain
    wrong = {*training.wrong_prompts()}
    first, second = ([p for p in domain if (domain[p].context is None) is kind] for kind in (True, False))
    return {
        "steps": training.step,
        "first_right": len({*first} - wrong),
        "first": len(first),
        "second_right": len({*second} - wrong),
        "second": len(second),
    }


def _traces() -> Result:
    """Compare the steps of the shipped network, whose columns are unpadded like those in the paper's text."""
    steps = {operands: Solver.load().trace(*operands).steps for operands in TRACES}
    written = {operands: " ".join(f"{step.prompt} {step.text}" for step in each) for operands, each in steps.items()}
    return {"same": {"+".join(operands): written[operands] == printed for operands, printed in TRACES.items()}}


def _published(trained: Path) -> Result:
    adder = Solver.load(trained)
    return {"right": {str(len(x)): adder.solve(x, y, engine="sequential").answer == answer for x, y, answer in SUMS}}


def _evaluated(trained: Path, watch: Watch, **drawn: Any) -> Result:
    solver = Solver.load(trained)
    problems = evaluation.draw(solver.procedure, **drawn)
    began = time.monotonic()
    result = evaluation.evaluate(solver, problems, engine="sequential", watch=watch).as_dict()
    return {**result, "engine": "sequential", "seconds": round(time.monotonic() - began, 1)}


def _author(author: Path, watch: Watch) -> Result:
    run = adoption.adopt(author, tasks.find(recipes.paper().task)).judged(watch)
    assert run.certificate is not None
    return {name: run.certificate.as_dict()[name] for name in ("certified", "prompts", "least_margin", "parameters")}
