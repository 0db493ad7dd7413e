"""What verbs print: results on stdout or in a file; warnings and failures on stderr."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from alga.base import files
from alga.base.errors import AlgaError
from alga.base.progress_bar import Watch, progress

if TYPE_CHECKING:
    from alga.solve.result import Result
    from alga.solve.solver import Solver

__all__ = [
    "INSTEAD", "Closed", "Watch", "as_json", "check_folder", "check_out", "check_stdout", "deliver", "deliver_result",
    "note", "progress", "report_problems", "warn_if_uncertified",
]  # fmt: skip

INSTEAD: Final = "Write the result to this file instead of stdout."  # help of every --out that replaces stdout


def note(line: str) -> None:
    """Print a message on stderr."""
    typer.echo(line, err=True)


def as_json(content: dict[str, Any]) -> str:
    """Return one JSON document on one line."""
    return json.dumps(content, allow_nan=False)


class Closed(io.TextIOBase):
    """Stands in for a closed stdout: writing raises instead of losing the result."""

    encoding = "utf-8"

    def write(self, _text: object, /) -> int:
        raise AlgaError("standard output is closed: there is nowhere to write the result to")


def check_stdout() -> None:
    """Refuse a closed stdout before doing the work."""
    if isinstance(sys.stdout, Closed):
        sys.stdout.write("")


def check_out(out: Path | None) -> None:
    """Refuse a file that cannot be written before doing the work; without a file, check stdout."""
    if out is None:
        check_stdout()
    elif out.is_dir():
        raise AlgaError(f"expected a file to write to, got the folder {out}")
    elif not out.parent.is_dir():
        raise AlgaError(f"{out.parent} is not a folder: cannot write {out} there")


def check_folder(folder: Path) -> None:
    """Refuse an output folder that is a file."""
    if folder.exists() and not folder.is_dir():
        raise AlgaError(f"expected a folder to write to, got the file {folder}")


def deliver(text: str, out: Path | None) -> None:
    """Print a result, or write it to a file atomically."""
    if out is None:
        typer.echo(text)
    else:
        files.write(out, f"{text}\n".encode())


def deliver_result(result: Result, *, json: bool, out: Path | None) -> int:
    """Print a result as JSON, as its trace if there is one, or as its answer; return the exit code."""
    if json:
        trace = {"trace": [step.as_dict() for step in result.steps]} if result.traced else {}
        deliver(as_json({**result.as_dict(), **trace}), out)
    elif result.traced or result.answer is not None:
        deliver(str(result), out)
    return report_problems(result)


def report_problems(result: Result) -> int:
    """Print what is wrong with a result on stderr; return the exit code."""
    if result.uncertain:
        note(f"alga: warning: at {result.uncertain} the margin is within rounding error; other engines may disagree")
    if result.failure:
        note(f"alga: {result.failure}")
    return 1 if result.failure else 0


def warn_if_uncertified(network: Solver) -> None:
    """Warn that answers may be wrong."""
    if not network.certified:
        note(f"alga: warning: the model {network.run.name} has no certificate; its answers may be wrong")
