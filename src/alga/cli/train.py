"""`alga train`: train a network until it is certified."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alga.base import signals
from alga.base.errors import AlgaError
from alga.cli.console import as_json, note, progress
from alga.cli.options import AsJson, load_own_task, model_option, option, recipe_option, task_option

if TYPE_CHECKING:
    from alga.runs.config import Recipe


def train(
    task: Annotated[
        str | None, task_option("What to learn: a task's name, or your own as FILE.py:CLASS.", default="addition")
    ] = None,
    recipe: Annotated[
        str | None, recipe_option("How to train: fast, small, smallest, whole, release or paper.", default="fast")
    ] = None,
    seed: Annotated[int | None, option("N", "The seed of initial weights and batches.", default="0")] = None,
    out: Annotated[Path | None, option("FOLDER", "The run folder to create.", default="runs/TASK-RECIPE-SEED")] = None,
    resume: Annotated[Path | None, option("FOLDER", "Continue the training in this folder.")] = None,
    like: Annotated[
        str | None, model_option("Repeat the training of this network: same recipe, seed and threads.", "--like")
    ] = None,
    threads: Annotated[int | None, option("N", "CPU threads.", default="1")] = None,
    device: Annotated[str | None, option("DEVICE", "auto, cpu, cuda or mps.", default="auto")] = None,
    steps: Annotated[int | None, option("N", "Give up after this many steps.", default="the recipe's")] = None,
    json: AsJson = False,
) -> None:
    """Train a network until it is certified.

    Exits with 1 if the steps end first. After Ctrl-C or SIGTERM, --resume continues.

    Examples:
      alga train --recipe fast --seed 1 --out runs/mine
      alga train --like smallest --out runs/smallest
      alga train --task mine.py:Collatz --recipe small --out runs/collatz
      alga train --resume runs/mine

    """
    own = task is not None and ".py:" in task
    if own:
        load_own_task(task)
    given = {"task": None if own else task, "recipe": recipe, "seed": seed, "threads": threads}
    if like is not None:
        _refuse("--like takes everything from that network", {**given, "resume": resume})
    if resume is not None:
        _refuse("--resume takes everything from the run itself", {**given, "out": out, "device": device})
    from alga.training.trainer import Training

    if resume is not None:
        training = Training.resume(resume, steps=steps)
    else:
        chosen, seed, threads = _like(like) if like is not None else _chosen(recipe, task, seed, threads)
        training = Training.start(
            Path("runs") / f"{chosen.run_name}-{seed}" if out is None else out,
            chosen if steps is None else dataclasses.replace(chosen, steps=steps),
            seed=seed,
            threads=threads,
            device="auto" if device is None else device,
        )
    latest = None
    with signals.catch_first_signal() as interrupted, progress("training", until="certified") as watch:
        for latest in training.run(should_stop=lambda: bool(interrupted)):
            state = f"loss {latest.loss:.4f}, {latest.wrong:,} wrong, margin {latest.least_margin:.2f}"
            watch(latest.step, training.recipe.steps, state)
    if interrupted and training.certificate is None:
        note(f"stopped at step {training.step:,}; continue with: alga train --resume {training.folder}")
        raise typer.Exit(signals.exit_code(interrupted[0]))
    certificate = training.certificate
    if json:
        content = {
            "run": str(training.folder),
            "task": training.config.task.name,
            "recipe": training.recipe.name,
            "seed": training.config.training["seed"],
            "steps": training.step,
            "seconds": round(training.seconds, 3),
            "certified": certificate is not None,
            "least_margin": certificate.least_margin if certificate else None,
        }
        typer.echo(as_json(content))
    else:
        typer.echo(f"{training.folder}: {training.step:,} steps, {training.seconds:.1f} s")
        more = f"more steps: alga train --resume {training.folder} --steps N"
        if certificate is None:
            wrong = f"{latest.wrong:,} prompts are still wrong" if latest else "no check was made"
            typer.echo(f"not certified: {wrong}; {more}")
        else:
            typer.echo(certificate.statement)
            if not training.reached_margin:
                typer.echo(f"the recipe asks for a margin of {training.recipe.margin:g}; {more}")
    raise typer.Exit(0 if certificate else 1)


def _chosen(recipe: str | None, task: str | None, seed: int | None, threads: int | None) -> tuple[Recipe, int, int]:
    from alga.training import recipes
    from alga.training.trainer import DEFAULT_THREADS

    found = recipes.find("fast" if recipe is None else recipe, task)
    return found, 0 if seed is None else seed, DEFAULT_THREADS if threads is None else threads


def _like(model: str) -> tuple[Recipe, int, int]:
    """Return the recipe, seed and threads that a network was trained with."""
    from alga import runs
    from alga.runs import config
    from alga.runs.config import Recipe

    found = config.load(runs.locate(model))
    if not found.training:
        raise AlgaError(f"{model} was not trained here: its recipe is not known")
    try:
        recipe = Recipe(**found.training["recipe"] | {"task": found.task.name})  # the name, never a file to run
        return recipe, found.training["seed"], found.training["threads"]
    except (TypeError, KeyError) as problem:
        raise AlgaError(f"{model}/config.json does not describe a training ({problem})") from None


def _refuse(why: str, given: dict[str, object]) -> None:
    if clash := [f"--{name}" for name, value in given.items() if value is not None]:
        raise AlgaError(f"{why}, got {', '.join(clash)} too")
