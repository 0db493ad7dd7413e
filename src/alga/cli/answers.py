"""Printing results: the answer, the trace or JSON on stdout, warnings and failures on stderr."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from alga.cli.console import as_json, deliver

if TYPE_CHECKING:
    from alga.solve.result import Result
    from alga.solve.solver import Solver


def warn_if_uncertified(network: Solver) -> None:
    """Warn that answers may be wrong."""
    if not network.certified:
        name = network.run.name
        typer.echo(f"alga: warning: the model {name} has no certificate; its answers may be wrong", err=True)


def deliver_result(result: Result, *, json: bool, out: Path | None) -> int:
    """Print a result as JSON, as its trace if there is one, or as its answer; return the exit code."""
    if json:
        trace = {"trace": [step.as_dict() for step in result.steps]} if result.traced else {}
        deliver(as_json({**result.as_dict(), **trace}), out)
    elif result.traced or result.answer is not None:
        deliver(str(result), out)
    return report_result(result)


def report_result(result: Result) -> int:
    """Print what is wrong with a result; return the exit code."""
    if result.uncertain:
        message = f"at {result.uncertain} the margin is within rounding error; other engines may disagree"
        typer.echo(f"alga: warning: {message}", err=True)
    if result.failure:
        typer.echo(f"alga: {result.failure}", err=True)
    return 1 if result.failure else 0
