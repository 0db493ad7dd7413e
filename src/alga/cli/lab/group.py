"""The group `alga lab`, which used to be a verb: its old options still run `alga lab study`."""

from __future__ import annotations

from typing import Any

import typer

from alga.cli import completion
from alga.cli.commands import Verb, VerbGroup, say_renamed
from alga.cli.lab import bench, compare, paper, study, sweep


class LabGroup(VerbGroup):
    """`alga lab VERB`; `alga lab --quick` and `alga lab share`, as 0.1 had them, run the studies."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `study` before the arguments of the old verb."""
        if args and not ctx.resilient_parsing and self._is_old(args[0]):
            say_renamed("lab", "lab study")
            args = ["study", *args]
        return super().parse_args(ctx, args)

    def _is_old(self, word: str) -> bool:
        if word.startswith("-"):
            options = {name for option in self.commands["study"].params for name in option.opts}
            return word.partition("=")[0] in options
        return word not in self.commands and word in completion.studies()


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
for function in (sweep.sweep, bench.bench, compare.compare, paper.paper, study.study, study.report):
    lab.command(cls=Verb)(function)


@lab.callback()
def _help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
