"""`alga recipes`: what each recipe contains."""

from __future__ import annotations

import dataclasses
import textwrap
from typing import Any

import typer

from alga.cli.console import as_json
from alga.cli.options import AsJson


def recipes(json: AsJson = False) -> None:
    """Show what each recipe contains, and what differs from the paper's.

    `alga train --set NAME=VALUE` changes a setting.

    Examples:
      alga recipes
      alga recipes --json

    """
    from alga.training import recipes as named
    from alga.training.changes import settings

    found = {name: _contents(name) for name in named.names()}
    paper = found["paper"]["settings"]
    for content in found.values():
        content["unlike_the_paper"] = {
            name: value for name, value in content["settings"].items() if name not in paper or value != paper[name]
        }
    if json:
        kinds = {name: kind.__name__ for name, kind in settings().items()}
        typer.echo(as_json({"recipes": found, "settings": kinds}))
        return
    for name, content in found.items():
        typer.echo(f"{name}, by default for {content['task']}: {content['summary']}")
        other = "" if name == "paper" else "unlike the paper: "
        typer.echo(_wrapped(other + _listed(content["unlike_the_paper" if other else "settings"])) + "\n")
    typer.echo(
        f"Any of these can be changed, and further settings of the network:\n{_wrapped(', '.join(_further(paper)))}"
    )


def _further(paper: dict[str, Any]) -> list[str]:
    from alga.training.changes import settings

    return [name for name, kind in settings().items() if name not in paper and kind is not dict]


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 100, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def _contents(name: str) -> dict[str, Any]:
    """Return a recipe's summary, task and settings; options of the network are settings as others are."""
    from alga.training import recipes as named

    function = getattr(named, name.replace("-", "_"))
    contained = dataclasses.asdict(named.find(name))
    for other in ("name", "task"):
        contained.pop(other)
    options = contained.pop("options")
    summary = str(function.__doc__).partition("\n")[0]
    return {"summary": summary, "task": named.find(name).task, "settings": contained | options}


def _listed(settings: dict[str, Any]) -> str:
    return ", ".join(
        f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in settings.items()
    )
