"""Progress as people see it: a bar on a terminal, a line that changes in a notebook, plain lines elsewhere."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress

QUICK_SECONDS: Final = 0.5  # shorter work gets no bar
PLAIN_SECONDS: Final = 10.0  # between two lines of progress where stderr is not a terminal
NOTEBOOK_SECONDS: Final = 0.2  # between two changes of the line in a notebook


class Watch(Protocol):
    """A callback for progress with a note."""

    def __call__(self, done: int, total: int, note: str = "") -> None:
        """Tell how much is done; `total` is 0 if unknown, `note` is shown after the count."""


@contextmanager
def progress(what: str, *, until: str = "") -> Iterator[Watch]:
    """Show progress on stderr, or below the cell of a notebook.

    With `until`, the total is a limit instead of an end ("at most 400, until certified").
    """
    with ExitStack() as stack:
        if in_notebook():
            yield _cell(what, stack, until)
        elif sys.stderr is not None and sys.stderr.isatty():
            yield _bar(what, stack, until)
        else:
            yield _plain(what, until)


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook; IPython in a terminal has no kernel."""
    return "IPython" in sys.modules and hasattr(sys.modules["IPython"].get_ipython(), "kernel")


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
    from rich import progress as rich  # noqa: PLC0415 - slow to import
    from rich.console import Console  # noqa: PLC0415

    if until:
        limit = rich.TextColumn(f"{{task.completed:,}} of at most {{task.total:,}}, until {until}")
        columns: list[rich.ProgressColumn] = [rich.SpinnerColumn(), limit, rich.TimeElapsedColumn()]
    else:
        columns = [rich.BarColumn(), rich.MofNCompleteColumn(), rich.TimeRemainingColumn()]
    columns = [rich.TextColumn("{task.description}"), *columns, rich.TextColumn("{task.fields[note]}")]
    return rich.Progress(*columns, console=Console(stderr=True), transient=True)


def _cell(what: str, stack: ExitStack, until: str) -> Watch:
    """Show one line below the cell, in HTML and as text; it stays, without the bar, when the work is done.

    Not by rich, which shows nothing in a notebook without ipywidgets.
    """
    display = sys.modules["IPython"].display.display  # it is there in a notebook
    began = last = time.monotonic()
    handle: Any = None
    line = _liner(what, until)
    text = ""

    def shown(bar: str) -> dict[str, str]:
        return {"text/plain": text, "text/html": f"{bar}<code>{html.escape(text)}</code>"}

    def watch(done: int, total: int, note: str = "") -> None:
        nonlocal handle, last, text
        now = time.monotonic()
        text = line(done, total, note, now)
        if now - began < QUICK_SECONDS or (handle is not None and now - last < NOTEBOOK_SECONDS):
            return
        last = now
        extent = f' value="{done}" max="{total}"' if total and not until else ""
        bar = f"<progress{extent}></progress> "
        if handle is None:
            handle = display(shown(bar), raw=True, display_id=True)
        else:
            handle.update(shown(bar), raw=True)

    stack.callback(lambda: handle.update(shown(""), raw=True) if handle is not None else None)
    return watch


def _plain(what: str, until: str = "") -> Watch:
    last = time.monotonic()
    line = _liner(what, until, last)

    def watch(done: int, total: int, note: str = "") -> None:
        nonlocal last
        now = time.monotonic()
        text = line(done, total, note, now)
        if now - last >= PLAIN_SECONDS:
            last = now
            if sys.stderr is not None:
                sys.stderr.write(f"{text}\n")
                sys.stderr.flush()

    return watch


def _liner(what: str, until: str, began: float | None = None) -> Callable[[int, int, str, float], str]:
    """Return a function that puts progress into a line, with the time left if the total is an end."""
    began = time.monotonic() if began is None else began
    found, of, before = 0, -1, 0  # `found` was done before this run: it does not count towards the speed

    def line(done: int, total: int, note: str, now: float) -> str:
        nonlocal began, found, of, before
        if total != of or done < before:  # a new piece of work: estimate its time from zero
            began, found, of = began if of < 0 else now, done, total
        before = done
        assert began is not None
        if total == 0:
            text = f"{what}: {done:,} so far"
        elif until:
            text = f"{what}: {done:,} of at most {total:,}, until {until}"
        else:
            left = f", about {(now - began) / (done - found) * (total - done):.0f} s left" if done > found else ""
            text = f"{what}: {done:,} of {total:,}{left}"
        return f"{text}; {note}" if note else text

    return line
