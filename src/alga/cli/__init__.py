"""The command line: arguments, messages, exit codes; one file per verb, no arithmetic.

Exit codes: 0 done; 1 the answer is "no"; 2 bad input, told in one line on stderr; 130 after Ctrl-C,
143 after SIGTERM.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Annotated, Final

import typer
from typer.exceptions import TyperException

import alga
from alga import stopping
from alga.cli import (
    arithmetic,
    bench,
    certify,
    compare,
    demo,
    evaluate,
    export,
    import_,
    lab,
    reproduce,
    serve,
    solve,
    sweep,
    tasks,
    train,
    verify,
)
from alga.errors import AlgaError

BROKEN_PIPE: Final = 141  # alga … | head ends quietly, as other commands do; SIGPIPE would end sweeps with a worker
LONGEST: Final = 1000  # characters of a message

app = typer.Typer(
    name="alga",
    help="A tiny Transformer that adds numbers of any length, certified on every step there is.",
    epilog="Example: alga add 65785 8765",
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for verb in arithmetic.VERBS:
    app.command(verb, context_settings={"ignore_unknown_options": True})(arithmetic.command(verb))
app.command(context_settings={"ignore_unknown_options": True})(solve.solve)
app.command()(tasks.tasks)
app.command()(train.train)
app.command()(sweep.sweep)
app.command()(certify.certify)
app.command()(verify.verify)
app.command()(evaluate.evaluate)
app.command()(bench.bench)
app.command()(export.export)
app.command("import")(import_.import_)
app.command()(reproduce.reproduce)
app.command()(lab.lab)
app.command()(lab.report)
app.command()(compare.compare)
app.command()(serve.serve)
app.command()(demo.demo)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"alga {alga.__version__}")
        raise typer.Exit


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
    # Threads that wait should soon sleep: beside other work, training is then many times as fast (docs/decisions.md).
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    # numpy multiplies thousands of small matrices in a proof: its threads would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        with stopping.by_exception():
            code = app(standalone_mode=False) or 0
    except AlgaError as problem:
        code = _say(str(problem))
    except TyperException as problem:
        context = getattr(problem, "ctx", None)
        code = _say(problem.format_message() + (f" (see {context.command_path} --help)" if context else ""))
    except SystemExit as ended:  # typer's for a broken pipe, and it is told nothing of which
        code = BROKEN_PIPE if isinstance(ended.__context__, BrokenPipeError) else ended.code
    except (stopping.Stopped, KeyboardInterrupt, typer.Abort) as stopped:
        number = getattr(stopped, "number", signal.SIGINT)
        code = stopping.code(number)
        typer.echo(f"alga: stopped by {'SIGTERM' if number == signal.SIGTERM else 'Ctrl-C'}", err=True)
    except OSError as problem:
        code = _say(f"{problem.filename or 'input/output'}: {(problem.strerror or str(problem)).lower()}")
    except MemoryError:
        code = _say("not enough memory")
    sys.exit(code)


def _say(message: str) -> int:
    typer.echo(f"alga: {in_one_line(message)}", err=True)
    return 2


def in_one_line(message: str) -> str:
    r"""Return a message as one line of bearable length that cannot steer a terminal: it may quote a hostile file.

    >>> in_one_line("no task\n'\x1b[2J'")
    "no task '\\x1b[2J'"
    """
    line = " ".join(message.split())
    line = line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} … {line[-LONGEST // 2 :]}"
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in line)
