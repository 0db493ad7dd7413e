"""The app: every verb in the order of `alga --help`, and the one place where errors become messages.

Exit codes: 0 done; 1 the answer is "no"; 2 bad input, explained in one line on stderr; 130 after Ctrl-C,
143 after SIGTERM.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable
from typing import Annotated, Final

import typer
from typer.exceptions import TyperException

import alga
from alga.base import signals
from alga.base.errors import AlgaError, one_line, unloaded
from alga.cli import (
    arithmetic,
    certify,
    console,
    demo,
    diff,
    evaluate,
    exchange,
    recipes,
    serve,
    tasks,
    train,
    verify,
)
from alga.cli.lab import bench, compare, paper, plot, study, sweep
from alga.cli.lab import verify as lab_verify
from alga.cli.verbs import LabGroup, NumberVerb, RenamedVerb, Verb, VerbGroup

BROKEN_PIPE: Final = 141  # `alga … | head` ends quietly; not by SIGPIPE itself, which would end sweeps with a worker
MESSAGE_LENGTH: Final = 1000  # characters of a message
THREADS_VARIABLE: Final = "NUMBA_NUM_THREADS"
CONTEXT_SETTINGS: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 100}  # inherited by every verb
NUMBERS: Final = {"ignore_unknown_options": True}  # -5 is a number

app = typer.Typer(
    name="alga",
    cls=VerbGroup,
    help="""A tiny Transformer that adds numbers of any length, certified on every step there is.

    `alga VERB -h` explains a verb.

    Examples:
      alga demo
      alga add 65785 8765 --trace
      alga solve parity 10110111
      alga train --out runs/mine
      alga certify runs/mine
    """,
    context_settings=CONTEXT_SETTINGS,
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command(cls=Verb)(demo.demo)
for verb in arithmetic.VERBS:
    app.command(verb, cls=NumberVerb, context_settings=NUMBERS)(arithmetic.command(verb))
app.command(cls=NumberVerb, context_settings=NUMBERS)(arithmetic.solve)
for function in (
    tasks.tasks,
    serve.serve,
    train.train,
    recipes.recipes,
    certify.certify,
    verify.verify,
    evaluate.evaluate,
    diff.diff,
):
    app.command(cls=Verb)(function)
app.command(cls=Verb)(exchange.export)
app.command("import", cls=Verb)(exchange.import_)

lab = typer.Typer(
    name="lab",
    cls=LabGroup,
    help="""Research: sweeps, benchmarks, the paper's experiments and open questions.

    Long runs can be stopped at any time; the same command continues them. `alga lab study` runs the studies.

    Examples:
      alga lab paper --quick --out runs/quick
      alga lab study share --quick --out runs/quick --results runs/quick
      alga lab bench --max-digits 1000
    """,
    invoke_without_command=True,
    rich_markup_mode=None,
)
RESEARCH: Final[tuple[Callable[..., None], ...]] = (
    sweep.sweep, plot.plot, bench.bench, compare.compare, paper.paper, study.study, study.report, lab_verify.verify
)  # fmt: skip
for research in RESEARCH:
    lab.command(cls=Verb)(research)
app.add_typer(lab)

OLD_NAMES: Final[dict[str, Callable[..., None]]] = {
    "sweep": sweep.sweep,
    "bench": bench.bench,
    "compare": compare.compare,
    "reproduce": paper.paper,
    "report": study.report,
}
for old, renamed in OLD_NAMES.items():
    app.command(old, cls=RenamedVerb, hidden=True)(renamed)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"alga {alga.__version__}")
        raise typer.Exit


@lab.callback()
def _lab_options(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command line: the one place where errors become a line on stderr and an exit code."""
    # Waiting threads should sleep soon: beside other work, training is then many times as fast (docs/decisions.md).
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    # A proof multiplies thousands of small matrices in numpy: its threads would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if sys.stdout is None:
        sys.stdout = console.Closed()
    try:
        with signals.raise_on_signal():
            code = app(standalone_mode=False) or 0
    except AlgaError as problem:
        code = _say(str(problem))
    except TyperException as problem:
        context = getattr(problem, "ctx", None)
        code = _say(problem.format_message() + (f" (see {context.command_path} --help)" if context else ""))
    except SystemExit as ended:  # how typer ends after a broken pipe
        code = BROKEN_PIPE if isinstance(ended.__context__, BrokenPipeError) else ended.code
    except (signals.SignalReceived, KeyboardInterrupt, typer.Abort) as stopped:
        number = getattr(stopped, "number", signal.SIGINT)
        code = signals.exit_code(number)
        typer.echo(f"alga: stopped by {'SIGTERM' if number == signal.SIGTERM else 'Ctrl-C'}", err=True)
        with signals.ignoring_finalisers():  # of what the interrupted functions held
            stopped.__traceback__ = stopped.__context__ = stopped.__cause__ = None
    except OSError as problem:
        code = _say(str(one_line(problem)))
    except ImportError as problem:
        if problem.name is None or problem.name.partition(".")[0] == "alga":
            raise
        code = _say(str(unloaded(problem)))
    except ValueError:
        threads = os.environ.get(THREADS_VARIABLE, "")
        if not re.fullmatch("-[0-9]+|0+", threads):
            raise
        # numba's own message does not name the variable
        code = _say(f"{THREADS_VARIABLE} must be at least 1, got {threads!r}")
    except MemoryError:
        code = _say("not enough memory")
    sys.exit(code)


def _say(message: str) -> int:
    typer.echo(f"alga: {in_one_line(message)}", err=True)
    return 2


def in_one_line(message: str) -> str:
    r"""Return a message as one short line without control characters: it may quote a hostile file.

    >>> in_one_line("no task\n'\x1b[2J'")
    "no task '\\x1b[2J'"
    """
    line = " ".join(message.split())
    line = line if len(line) <= MESSAGE_LENGTH else f"{line[: MESSAGE_LENGTH // 2]} … {line[-MESSAGE_LENGTH // 2 :]}"
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in line)
