"""`alga train`: train a network until it is certified."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alga.base import signals
from alga.base.errors import AlgaError
from alga.cli.console import as_json, note, progress
from alga.cli.options import AsJson, load_own_task, model_option, option, recipe_option, task_option

if TYPE_CHECKING:
    from alga.runs import Run
    from alga.runs.config import Recipe


def train(
    task: Annotated[
        str | None, task_option("What to learn: a task's name, or your own as FILE.py:CLASS.", default="addition")
    ] = None,
    recipe: Annotated[
        str | None,
        recipe_option(
            "How to train: fast, small, smallest, smallest-26, whole, smallest-whole, release or paper.", default="fast"
        ),
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
    changes: Annotated[
        list[str] | None,
        option("NAME=VALUE", "Change a setting of the recipe, as width=32; `alga recipes` lists them.", "--set"),
    ] = None,
    init: Annotated[str | None, model_option("Begin from the weights of this network.", "--init")] = None,
    checkpoints: Annotated[
        int | None, option("EVERY", "Keep the weights every so many steps, in FOLDER/checkpoints.", min=1)
    ] = None,
    json: AsJson = False,
) -> None:
    """Train a network until it is certified.

    Exits with 1 if the steps end first. After Ctrl-C or SIGTERM, --resume continues.

    Examples:
      alga train --recipe fast --seed 1 --out runs/mine
      alga train --set width=32 --set learning_rate=1e-3 --out runs/narrow
      alga train --like smallest --out runs/smallest
      alga train --init runs/mine --checkpoints 50 --out runs/more
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
        new = {"out": out, "device": device, "set": changes or None, "init": init, "checkpoints": checkpoints}
        _refuse("--resume takes everything from the run itself", {**given, **new})
    from alga.training import reporting
    from alga.training.changes import changed, parsed
    from alga.training.trainer import Training

    if resume is not None:
        training = Training.resume(resume, steps=steps)
    else:
        chosen, seed, threads = _like(like, init) if like is not None else _chosen(recipe, task, seed, threads)
        settings = parsed(changes or []) | ({} if steps is None else {"steps": steps})
        training = Training.start(
            Path("runs") / f"{chosen.run_name}-{seed}" if out is None else out,
            changed(chosen, settings),
            seed=seed,
            threads=threads,
            device="auto" if device is None else device,
            init=None if init is None else _run(init),
            checkpoints=checkpoints or 0,
        )
    with signals.catch_first_signal() as interrupted, progress("training", until="certified") as watch:
        latest = reporting.follow(training, watch, should_stop=lambda: bool(interrupted))
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
            **({"checkpoints": training.kept_steps} if "checkpoints" in training.config.training else {}),
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
            if not training.reached_aim:
                proof = " and a proof in float32" if training.recipe.strength == "proven" else ""
                typer.echo(f"the recipe asks for a margin of {training.recipe.margin:g}{proof}; {more}")
    raise typer.Exit(0 if certificate else 1)


def _chosen(recipe: str | None, task: str | None, seed: int | None, threads: int | None) -> tuple[Recipe, int, int]:
    from alga.training import recipes
    from alga.training.trainer import DEFAULT_THREADS

    found = recipes.find("fast" if recipe is None else recipe, task)
    return found, 0 if seed is None else seed, DEFAULT_THREADS if threads is None else threads


def _run(model: str) -> Run:
    from alga import runs

    return runs.load(model)


def _like(model: str, init: str | None) -> tuple[Recipe, int, int]:
    """Return the recipe, seed and threads that a network was trained with."""
    from alga import runs
    from alga.runs import config
    from alga.runs.config import Recipe

    found = config.load(runs.locate(model))
    if not found.training:
        raise AlgaError(f"{model} was not trained here: its recipe is not known")
    if "init" in found.training and init is None:
        began = found.training["init"]
        raise AlgaError(f"{model} began from the weights {began['sha256'][:12]}… ({began['run']}): name them by --init")
    try:
        recipe = Recipe(**found.training["recipe"] | {"task": found.task.name})  # the name, never a file to run
        return recipe, found.training["seed"], found.training["threads"]
    except (TypeError, KeyError) as problem:
        raise AlgaError(f"{model}/config.json does not describe a training ({problem})") from None


def _refuse(why: str, given: dict[str, object]) -> None:
    if clash := [f"--{name}" for name, value in given.items() if value is not None]:
        raise AlgaError(f"{why}, got {', '.join(clash)} too")
