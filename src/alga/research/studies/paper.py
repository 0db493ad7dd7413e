"""The reproduction of the paper, in stages; `page.py` turns the results into docs/paper.md.

Each stage's result is written at once, so that a stopped reproduction resumes.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Protocol

from alga import runs, tasks
from alga.base import files
from alga.base.folders import Folder
from alga.base.progress import Watch
from alga.research import records
from alga.research.studies.published import SUMS, TRACES
from alga.runs import adoption
from alga.runs.recipe import Recipe
from alga.solve import evaluation
from alga.solve.solver import Solver
from alga.training import metrics, recipes
from alga.training.trainer import Training

RESULTS: Final = "paper.json"
WHAT: Final = "results of a reproduction"
Result = dict[str, Any]
Stage = Callable[[Watch], Result]


class Show(Protocol):
    """Runs a stage under its title with a progress callback; `until` says what may end it early."""

    def __call__(self, title: str, stage: Stage, until: str = "") -> Result: ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scale:
    """The size of a reproduction: the whole one, or a tiny one for tests."""

    recipe: Recipe
    first_type_steps: int
    sums: int
    digits: int
    long_sums: int
    long_digits: int


def whole() -> Scale:
    """The paper's own settings and sizes."""
    return Scale(
        recipe=recipes.paper(),
        first_type_steps=600,
        sums=1000,
        digits=1000,
        long_sums=10,
        long_digits=300_000,
    )


def quick() -> Scale:
    """A minute's run with the fast recipe."""
    recipe = dataclasses.replace(recipes.fast(), task=recipes.paper().task, margin=0.0)
    return Scale(recipe=recipe, first_type_steps=50, sums=20, digits=60, long_sums=2, long_digits=400)


def reproduce(folder: Path, scale: Scale, show: Show, author: Path | None = None) -> Result:
    """Run the stages without a result; return all results."""
    path = folder / RESULTS
    runs.check_no_run(folder)
    folder.mkdir(parents=True, exist_ok=True)
    results: Result = records.read(path, WHAT) if path.exists() else {}
    trained, sums, digits = folder / "run", scale.sums, scale.digits
    stages: dict[str, tuple[str, Stage] | tuple[str, Stage, str]] = {
        "training": ("training by the recipe", lambda watch: _train(trained, scale.recipe, watch), "certified"),
        "first_type": ("training on the first type only", lambda watch: _first_type(scale, watch)),
        "traces": ("the two traces", lambda _: _traces()),
        "published": ("the author's two sums", lambda _: _published(Solver.load(trained))),
        "sums": ("random sums", lambda watch: _sums(Solver.load(trained), sums, digits, ["uniform"], watch)),
        "families": ("sums that break adders", lambda watch: _sums(Solver.load(trained), sums, digits, [], watch)),
        "long": ("very long sums", lambda watch: _long(Solver.load(trained), scale, watch)),
    }
    if author is not None:
        stages["author"] = ("the author's own weights", lambda watch: _author(author, watch))
    for name, stage in stages.items():
        if name not in results:
            results[name] = show(*stage)
            files.write(path, (json.dumps(results, indent=2) + "\n").encode())
    return results


def _train(folder: Path, recipe: Recipe, watch: Watch) -> Result:
    if (folder / "config.json").exists() and not (folder / "certificate.json").exists():
        training = Training.resume(folder)
    elif not (folder / "config.json").exists():
        training = Training.start(folder, recipe, seed=0)
    else:
        training = None
    if training is not None:
        for progress in training.run():
            watch(progress.step, recipe.steps)
    last = metrics.rows(Folder(folder))[-1]
    run = runs.load(folder)
    certificate = run.certificate
    return {
        "recipe": recipe.name,
        "task": run.config.task.name,
        "parameters": run.model.parameter_count,
        "vocabulary": list(run.config.tokens.vocabulary),
        "lengths": [run.config.tokens.input_length, run.config.tokens.output_length],
        "steps": last["step"],
        "seconds": round(last["seconds"] or 0.0, 1),
        "certified": run.certified,
        "prompts": len(run.config.task.domain),
        "least_margin": certificate.least_margin if certificate else None,
    }


def _first_type(scale: Scale, watch: Watch) -> Result:
    """Train without second-type instances, and count right answers of each type."""
    recipe = dataclasses.replace(scale.recipe, second_type_share=0.0, steps=scale.first_type_steps)
    training = Training.start(None, recipe, seed=0)
    for progress in training.run():
        watch(progress.step, recipe.steps)
    domain = training.config.task.domain
    right = domain.keys() - set(training.wrong_prompts())
    first = [prompt for prompt, instance in domain.items() if instance.context is None]
    return {
        "steps": training.step,
        "first_right": sum(domain[prompt].context is None for prompt in right),
        "first": len(first),
        "second_right": sum(domain[prompt].context is not None for prompt in right),
        "second": len(domain) - len(first),
    }


def _traces() -> Result:
    """Compare the shipped network's steps with the paper's; its text leaves columns unpadded, as that network does."""
    adder = Solver.load()
    same = {
        "+".join(operands): " ".join(f"{step.prompt} {step.text}" for step in adder.trace(*operands).steps) == printed
        for operands, printed in TRACES.items()
    }
    return {"same": same}


def _published(solver: Solver) -> Result:
    return {"right": {str(len(x)): solver.solve(x, y, engine="sequential").answer == answer for x, y, answer in SUMS}}


def _sums(solver: Solver, count: int, digits: int, families: list[str], watch: Watch) -> Result:
    problems = evaluation.draw(solver.procedure, count=count, max_digits=digits, families=families)
    return _evaluated(solver, problems, watch)


def _long(solver: Solver, scale: Scale, watch: Watch) -> Result:
    problems = evaluation.draw(
        solver.procedure, count=scale.long_sums, max_digits=scale.long_digits, families=["uniform"], exactly=True
    )
    return _evaluated(solver, problems, watch)


def _evaluated(solver: Solver, problems: list[evaluation.Problem], watch: Watch) -> Result:
    began = time.monotonic()
    result = evaluation.evaluate(solver, problems, engine="sequential", watch=watch).as_dict()
    return {**result, "engine": "sequential", "seconds": round(time.monotonic() - began, 1)}


def _author(author: Path, watch: Watch) -> Result:
    run = adoption.adopt(author, tasks.find(recipes.paper().task)).judged(watch)
    assert run.certificate is not None
    return {name: run.certificate.as_dict()[name] for name in ("certified", "prompts", "least_margin", "parameters")}
