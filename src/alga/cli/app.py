"""The app: how verbs look, every verb in the order of `alga --help`, and the one place where errors become messages.

Exit codes: 0 done; 1 the answer is "no"; 2 bad input, explained in one line on stderr; 130 after Ctrl-C,
143 after SIGTERM.
"""

from __future__ import annotations

import inspect
import os
import re
import signal
import sys
from collections.abc import Callable
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

import alga
from alga.base import signals
from alga.base.errors import AlgaError, one_line, unloaded
from alga.cli import (
    arithmetic,
    certify,
    completion,
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

BROKEN_PIPE: Final = 141  # `alga … | head` ends quietly; not by SIGPIPE itself, which would end sweeps with a worker
MESSAGE_LENGTH: Final = 1000  # characters of a message
THREADS_VARIABLE: Final = "NUMBA_NUM_THREADS"
EXAMPLES: Final = "\n\nExamples:\n"  # in a docstring; one indented command per line follows
CONTEXT_SETTINGS: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 100}  # inherited by every verb
NUMBERS: Final = {"ignore_unknown_options": True}  # -5 is a number

# --- how verbs look ---------------------------------------------------------------------------------------------------


class _WithExamples:
    """A command or group whose help ends with its examples, one per line and never wrapped."""

    help: str | None

    def __init__(self, *args: Any, **settings: Any) -> None:
        """Split the docstring into help and examples."""
        settings["help"], _, examples = inspect.cleandoc(settings.get("help") or "").partition(EXAMPLES)
        self.examples = [line.strip() for line in examples.splitlines()]
        super().__init__(*args, **settings)

    def get_short_help_str(self, limit: int = 0) -> str:
        """Return the first paragraph of the help, never cut."""
        return " ".join((self.help or "").partition("\n\n")[0].split())

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples."""
        if self.examples:
            with formatter.section("Examples"):
                for line in self.examples:
                    formatter.write(f"{'':{formatter.current_indent}}{line}\n")


class Verb(_WithExamples, TyperCommand):
    """A command of `alga`."""

    def invoke(self, ctx: Any) -> Any:
        """Run the verb; a verb that cannot write to a file needs stdout, so check that before any work."""
        if not any(getattr(option, "help", "") == console.INSTEAD for option in self.params):
            console.check_stdout()
        return super().invoke(ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the usage line's words: arguments appear as their metavar spells them."""
        arguments = [param for param in self.params if param.param_type_name == "argument"]
        return ["[OPTIONS]", *(str(param.metavar or param.name) for param in arguments)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments without their Python type, then the options."""
        records = [(param, param.get_help_record(ctx)) for param in self.get_params(ctx)]
        for title, kind in (("Arguments", "argument"), ("Options", "option")):
            rows = [
                (param.metavar or record[0] if kind == "argument" else record[0], record[1])
                for param, record in records
                if record is not None and param.param_type_name == kind
            ]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


class NumberVerb(Verb):
    """A verb whose operands may start with a minus sign: `-h` asks for help, `-1h` is a number in base 36."""

    def make_parser(self, ctx: Any) -> Any:
        """Return a parser that recognises `-h` only as a whole word, not as a letter within one."""
        parser = super().make_parser(ctx)
        parser._long_opt["-h"] = parser._short_opt.pop("-h")
        return parser


class RenamedVerb(Verb):
    """The old name of a verb that is now under `alga lab`: prints the new name on stderr, then runs."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Print the new name first, so that it also precedes help and usage errors."""
        if not ctx.resilient_parsing:
            _say_renamed(str(self.name), f"lab {getattr(self.callback, '__name__', '')}")
        return super().parse_args(ctx, args)


class VerbGroup(_WithExamples, TyperGroup):
    """A group of verbs; its help lists each verb with its whole first paragraph."""


class LabGroup(VerbGroup):
    """`alga lab VERB`; `alga lab --quick` and `alga lab share`, as 0.1 had them, run the studies."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `study` before the arguments of the old verb."""
        if args and not ctx.resilient_parsing and self._is_old(args[0]):
            _say_renamed("lab", "lab study")
            args = ["study", *args]
        return super().parse_args(ctx, args)

    def _is_old(self, word: str) -> bool:
        if word.startswith("-"):
            options = {name for option in self.commands["study"].params for name in option.opts}
            return word.partition("=")[0] in options
        return word not in self.commands and word in completion.studies()


def _say_renamed(old: str, new: str) -> None:
    """Print the one line that names a verb's new spelling."""
    typer.echo(f"alga: 'alga {old}' is now 'alga {new}'", err=True)


# --- the verbs --------------------------------------------------------------------------------------------------------

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


# --- running one ------------------------------------------------------------------------------------------------------


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
