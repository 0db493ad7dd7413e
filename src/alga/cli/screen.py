"""What the verbs share: progress on stderr, results on stdout or in a file."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol

import typer

from alga import files
from alga.errors import AlgaError

if TYPE_CHECKING:
    from rich.progress import Progress

Model = Annotated[str, typer.Option("--model", help="A shipped network's name or a run folder.", show_default=True)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
OwnTask = Annotated[str | None, typer.Option("--task", help="The network's task, if it is your own: FILE.py:CLASS.")]
Out = Annotated[Path | None, typer.Option("--out", help="Write the result to this file instead of stdout.")]

QUICK_SECONDS: Final = 0.5  # what takes no longer needs no bar
PLAIN_SECONDS: Final = 10.0  # between two lines of progress where stderr is no terminal


class Watch(Protocol):
    """Is told how far the work is, and what else is worth seeing."""

    def __call__(self, done: int, total: int, note: str = "") -> None: ...


@contextmanager
def progress(what: str) -> Iterator[Watch]:
    """Show on stderr how far long work is: a bar with the time left, or plain lines where that is no terminal."""
    with ExitStack() as stack:
        yield _bar(what, stack) if sys.stderr is not None and sys.stderr.isatty() else _plain(what)


def _bar(what: str, stack: ExitStack) -> Watch:
    began, bar, task, of = time.monotonic(), None, None, -1

    def watch(done: int, total: int, note: str = "") -> None:
        nonlocal bar, task, of
        if bar is None:
            if time.monotonic() - began < QUICK_SECONDS:
                return
            bar = stack.enter_context(_rich_bar())
            task = bar.add_task(what, total=total, note=note)
        assert task is not None
        if total != of:  # the next piece of work begins, with a time left of its own
            of = total
            bar.reset(task, total=total, completed=done)
        bar.update(task, completed=done, total=total, note=note)

    return watch


def _rich_bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=Console(stderr=True),
        transient=True,
    )


def _plain(what: str) -> Watch:
    began = last = time.monotonic()
    found, of = 0, -1  # what had been done before: it says nothing of how long the rest takes

    def watch(done: int, total: int, note: str = "") -> None:
        nonlocal began, last, found, of
        now = time.monotonic()
        if total != of:  # the next piece of work begins
            began, found, of = began if of < 0 else now, done, total
        if now - last >= PLAIN_SECONDS:
            last = now
            each = (now - began) / (done - found) if done > found else None
            left = f", about {each * (total - done):.0f} s left" if each else ""
            typer.echo(f"{what}: {done:,} of {total:,}{left} {note}".rstrip(), err=True)

    return watch


def as_json(content: dict[str, Any]) -> str:
    """Return one JSON document for programs."""
    return json.dumps(content, allow_nan=False)


def known_task(name: str | None) -> None:
    """Read a person's own task, so that networks for it can be loaded."""
    if name is not None:
        from alga import tasks

        tasks.find(name)


def check_out(out: Path | None) -> None:
    """Refuse a file that could not be written, before the work that it would hold."""
    if out is not None and out.is_dir():
        raise AlgaError(f"expected a file to write to, got the folder {out}")
    if out is not None and not out.parent.is_dir():
        raise AlgaError(f"{out.parent} is not a folder: cannot write {out} there")


def deliver(text: str, out: Path | None) -> None:
    """Print a result, or write it whole to a file."""
    if out is None:
        typer.echo(text)
        return
    files.write(out, f"{text}\n".encode())
