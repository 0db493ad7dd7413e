"""Arguments and options that several verbs share, each written once.

A verb about a network takes it as its first argument; a verb about numbers takes it as `--model`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from alga.base.errors import AlgaError
from alga.cli import completion
from alga.cli.console import INSTEAD

ADDER: Final = "addition"  # the network that is meant where none is named
ENGINES: Final = "table, sequential or lookahead"  # a test holds it to `engines.names()`, which takes longer to import
A_MODEL: Final = "A shipped network's name or a run folder."


def model_argument(metavar: str = "[MODEL]", help: str = A_MODEL, **more: Any) -> Any:  # noqa: A002 - typer's name
    """Return the positional argument that names a network."""
    return typer.Argument(metavar=metavar, help=help, autocompletion=completion.models, **more)


def model_option(help: str, **more: Any) -> Any:  # noqa: A002 - typer's name
    """Return the option that names a network."""
    return typer.Option("--model", metavar="MODEL", help=help, autocompletion=completion.models, **more)


def engine_option(default: str) -> Any:
    """Return the option that names an engine."""
    return typer.Option(
        metavar="ENGINE",
        help=f"How steps are chained: {ENGINES}.",
        show_default=default,
        autocompletion=completion.engines,
    )


def recipe_option(help: str, **more: Any) -> Any:  # noqa: A002 - typer's name
    """Return the option that names a recipe."""
    return typer.Option(metavar="RECIPE", help=help, autocompletion=completion.recipes, **more)


def task_option(help: str, **more: Any) -> Any:  # noqa: A002 - typer's name
    """Return the option that names a task."""
    return typer.Option(metavar="TASK", help=help, autocompletion=completion.tasks, **more)


Model = Annotated[str, model_argument()]
OldModel = Annotated[str | None, model_option("The old spelling of the argument MODEL.", hidden=True)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
OwnTask = Annotated[
    str | None,
    typer.Option("--task", metavar="FILE.py:CLASS", help="The network's task, if you wrote it yourself."),
]
Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help=INSTEAD)]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="Run on this Dask scheduler, such as tcp://HOST:8786.", show_default="this machine"
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Processes on this machine, with one thread each.", show_default="one per core"
    ),
]


def load_own_task(name: str | None) -> None:
    """Read a task that a person wrote, so that networks for it can be loaded."""
    if name is not None:
        from alga import tasks

        tasks.find(name)


def one_model(argument: str | None, option: str | None) -> str:
    """Return the network that was named, by the argument or by the old option; the adder if neither was given."""
    if argument is not None and option is not None:
        raise AlgaError(f"expected one network, got {argument} and --model {option}")
    return argument or option or ADDER
