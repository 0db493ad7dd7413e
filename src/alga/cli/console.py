"""What verbs print: results on stdout or in a file; progress, warnings and failures on stderr."""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import typer

from alga.base import files
from alga.base.errors import AlgaError

if TYPE_CHECKING:
    from rich.progress import Progress

    from alga.solve.result import Result
    from alga.solve.solver import Solver

INSTEAD: Final = "Write the result to this file instead of stdout."  # help of every --out that replaces stdout
QUICK_SECONDS: Final = 0.5  # shorter work gets no bar
PLAIN_SECONDS: Final = 10.0  # between two lines of progress where stderr is not a terminal


class Watch(Protocol):
    """Progress callback: `total` is 0 if unknown; `note` is shown after the count."""

    def __call__(self, done: int, total: int, note: str = "") -> None: ...


@contextmanager
def progress(what: str, *, until: str = "") -> Iterator[Watch]:
    """Show progress on stderr: a bar with the time left on a terminal, plain lines elsewhere.

    With `until`, the total is a limit instead of an end ("at most 400, until certified").
    """
    with ExitStack() as stack:
        terminal = sys.stderr is not None and sys.stderr.isatty()
        yield _bar(what, stack, until) if terminal else _plain(what, until)


def _bar(what: str, stack: ExitStack, until: str = "") -> Watch:
    began, bar, task, of, before = time.monotonic(), None, None, -1, 0

    def watch(done: int, total: int, note: str = "") -> None:
        nonlocal bar, task, of, before
        if bar is None:
            if time.monotonic() - began < QUICK_SECONDS:
                return
            bar = stack.enter_context(_rich_bar(until))
            task = bar.add_task(what, total=total or None, note=note)
        assert task is not None
        if total != of or done < before:  # a new piece of work: estimate its time from zero
            of = total
            bar.reset(task, total=total or None, completed=done)
        bar.update(task, completed=done, total=total or None, note=note)
        before = done

    return watch


def _rich_bar(until: str) -> Progress:
    from rich import progress as rich
    from rich.console import Console

    if until:
        limit = rich.TextColumn(f"{{task.completed:,}} of at most {{task.total:,}}, until {until}")
        columns: list[rich.ProgressColumn] = [rich.SpinnerColumn(), limit, rich.TimeElapsedColumn()]
    else:
        columns = [rich.BarColumn(), rich.MofNCompleteColumn(), rich.TimeRemainingColumn()]
    columns = [rich.TextColumn("{task.description}"), *columns, rich.TextColumn("{task.fields[note]}")]
    return rich.Progress(*columns, console=Console(stderr=True), transient=True)


def _plain(what: str, until: str = "") -> Watch:
    began = last = time.monotonic()
    found, of, before = 0, -1, 0  # `found` was done before this run: it does not count towards the speed

    def watch(done: int, total: int, note: str = "") -> None:
        nonlocal began, last, found, of, before
        now = time.monotonic()
        if total != of or done < before:  # a new piece of work: estimate its time from zero
            began, found, of = began if of < 0 else now, done, total
        before = done
        if now - last >= PLAIN_SECONDS:
            last = now
            left = f"{(now - began) / (done - found) * (total - done):.0f} s left" if done > found else ""
            if total == 0:
                line = f"{what}: {done:,} so far"
            elif until:
                most = f" (at most about {left})" if left else ""
                line = f"{what}: {done:,} of at most {total:,}, until {until}{most}"
            else:
                line = f"{what}: {done:,} of {total:,}" + (f", about {left}" if left else "")
            typer.echo(f"{line}; {note}" if note else line, err=True)

    return watch


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
