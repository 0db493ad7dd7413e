"""How verbs look: their help with its examples, their usage line, and the names they had in 0.1."""

from __future__ import annotations

import inspect
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from alga.cli import completion, console

EXAMPLES: Final = "\n\nExamples:\n"  # in a docstring; one indented command per line follows


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
