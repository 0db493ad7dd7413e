"""Arguments and options that several verbs share, each declared once.

A verb about a network takes it as its first argument; a verb about numbers takes it as `--model`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from alga.base.errors import AlgaError
from alga.cli import completion
from alga.cli.console import INSTEAD

ADDER: Final = "addition"  # the default network
ENGINES: Final = "table, sequential, lookahead or whole"  # a test compares it with `names.ENGINES`, a slow import
A_MODEL: Final = "A shipped network's name or a run folder."


def option(metavar: str, help: str, *names: str, default: str = "", **more: Any) -> Any:  # noqa: A002 - typer's name
    """Return an option with a value; `default` describes the default in the help if the value itself would not."""
    return typer.Option(*names, metavar=metavar, help=help, show_default=default or True, **more)


def model_argument(metavar: str = "[MODEL]", help: str = A_MODEL, **more: Any) -> Any:  # noqa: A002 - typer's name
    """Return the argument that names a network."""
    return typer.Argument(metavar=metavar, help=help, autocompletion=completion.models, **more)


def model_option(help: str, name: str = "--model", **more: Any) -> Any:  # noqa: A002 - typer's name
    """Return an option that names a network."""
    return option("MODEL", help, name, autocompletion=completion.models, **more)


def engine_option(default: str = "table if the network is certified, else sequential") -> Any:
    """Return the option that names an engine."""
    help_text = f"How steps are chained: {ENGINES}."
    return option("ENGINE", help_text, default=default, autocompletion=completion.engines)


def recipe_option(help: str, default: str = "") -> Any:  # noqa: A002 - typer's name
    """Return the option that names a recipe."""
    return option("RECIPE", help, default=default, autocompletion=completion.recipes)


def task_option(help: str, default: str) -> Any:  # noqa: A002 - typer's name
    """Return the option that names a task."""
    return option("TASK", help, default=default, autocompletion=completion.tasks)


Model = Annotated[str, model_argument()]
OldModel = Annotated[str | None, model_option("The old spelling of the argument MODEL.", hidden=True)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Traced = Annotated[bool, typer.Option("--trace", help="Show every step, as the paper prints it.")]
Engine = Annotated[str | None, engine_option()]
OwnTask = Annotated[str | None, option("FILE.py:CLASS", "The network's task, if you wrote it yourself.", "--task")]
Out = Annotated[Path | None, option("FILE", INSTEAD, "--out")]
Cluster = Annotated[
    str | None, option("ADDRESS", "Run on this Dask scheduler, such as tcp://HOST:8786.", default="this machine")
]
RunsFolder = Annotated[Path, option("FOLDER", "Folder for single runs; those already in it are not repeated.", "--out")]
Workers = Annotated[
    int | None, option("N", "Processes on this machine, with one thread each.", default="one per core", min=1)
]


def load_own_task(name: str | None) -> None:
    """Load a user-written task, so that networks for it can be loaded."""
    if name is not None:
        from alga import tasks

        tasks.find(name)


def one_model(argument: str | None, option: str | None) -> str:
    """Return the network given as argument or by the old option; the adder if neither was given."""
    if argument is not None and option is not None:
        raise AlgaError(f"expected one network, got {argument} and --model {option}")
    return argument or option or ADDER
