"""`alga train`: from nothing to a certificate."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alga import stopping
from alga.cli.screen import AsJson, as_json, known_task, progress
from alga.errors import AlgaError

if TYPE_CHECKING:
    from alga.recipes import Recipe


def train(
    task: Annotated[
        str | None,
        typer.Option(help="What to learn: a task's name, or your own as FILE.py:CLASS.", show_default="addition"),
    ] = None,
    recipe: Annotated[
        str | None, typer.Option(help="fast, small, smallest, release or paper.", show_default="fast")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Decides weights and batches.", show_default="0")] = None,
    out: Annotated[
        Path | None, typer.Option(help="The run folder to make.", show_default="runs/TASK-RECIPE-SEED")
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with this run folder.")] = None,
    like: Annotated[str | None, typer.Option(help="Train as this network was: recipe, seed and threads.")] = None,
    threads: Annotated[int | None, typer.Option(help="CPU threads.", show_default="2")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda or mps.", show_default="auto")] = None,
    steps: Annotated[int | None, typer.Option(help="Give up after this many steps.")] = None,
    json: AsJson = False,
) -> None:
    """Train a network until it is certified; exit with 1 if it was not.

    Ctrl-C or SIGTERM leaves a run that --resume continues.

    Example: alga train --recipe fast --seed 1 --out runs/mine

    Example: alga train --like smallest --out runs/smallest

    Example: alga train --task mine.py:Collatz --out runs/collatz
    """
    own = task is not None and ".py:" in task
    if own:
        known_task(task)
    given = {"task": None if own else task, "recipe": recipe, "seed": seed, "threads": threads}
    if like is not None:
        _refuse("--like takes everything from that network", {**given, "resume": resume})
    if resume is not None:
        _refuse("--resume takes everything from the run itself", {**given, "out": out, "device": device})
    from alga.training import Training

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
    with stopping.between_steps() as interrupted, progress("training") as watch:
        for latest in training.run(should_stop=lambda: bool(interrupted)):
            note = f"loss {latest.loss:.4f}, {latest.wrong:,} wrong, margin {latest.least_margin:.2f}"
            watch(latest.step, training.recipe.steps, note)
    if interrupted and training.certificate is None:
        typer.echo(f"stopped at step {training.step:,}; go on with: alga train --resume {training.folder}", err=True)
        raise typer.Exit(stopping.code(interrupted[0]))
    certificate = training.certificate
    if json:
        typer.echo(
            as_json(
                {
                    "run": str(training.folder),
                    "task": training.config.task.name,
                    "recipe": training.recipe.name,
                    "seed": training.config.training["seed"],
                    "steps": training.step,
                    "seconds": round(training.seconds, 3),
                    "certified": certificate is not None,
                    "least_margin": certificate.least_margin if certificate else None,
                }
            )
        )
    else:
        typer.echo(f"{training.folder}: {training.step:,} steps, {training.seconds:.1f} s")
        if certificate is None:
            wrong = f"{latest.wrong:,} prompts are still wrong" if latest else "no check was made"
            typer.echo(f"not certified: {wrong}; more steps: alga train --resume {training.folder} --steps N")
        else:
            typer.echo(certificate.statement)
        if certificate is not None and not training.reached_margin:
            more = f"alga train --resume {training.folder} --steps N"
            typer.echo(f"the recipe asks for a margin of {training.recipe.margin:g}; more steps: {more}")
    raise typer.Exit(0 if certificate else 1)


def _chosen(recipe: str | None, task: str | None, seed: int | None, threads: int | None) -> tuple[Recipe, int, int]:
    from alga import recipes
    from alga.training import THREADS

    found = recipes.find("fast" if recipe is None else recipe, task)
    return found, 0 if seed is None else seed, THREADS if threads is None else threads


def _like(model: str) -> tuple[Recipe, int, int]:
    """Return how a network was trained."""
    from alga import config, runs
    from alga.recipes import Recipe

    found = config.load(runs.locate(model))
    if not found.training:
        raise AlgaError(f"{model} was not trained here: its recipe is not known")
    try:
        recipe = Recipe(**found.training["recipe"] | {"task": found.task.name})  # which is no file that would be run
        return recipe, found.training["seed"], found.training["threads"]
    except (TypeError, KeyError) as problem:
        raise AlgaError(f"{model}/config.json describes no training ({problem})") from None


def _refuse(why: str, given: dict[str, object]) -> None:
    if clash := [f"--{name}" for name, value in given.items() if value is not None]:
        raise AlgaError(f"{why}, got {', '.join(clash)} too")
