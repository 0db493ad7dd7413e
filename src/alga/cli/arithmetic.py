"""`alga add`, `sub`, `mul`, `divmod`, `cmp`: numbers in, the answer out, by the networks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from alga.base import files
from alga.base.errors import AlgaError
from alga.cli import operands as reading
from alga.cli.answers import deliver_result, report_result, warn_if_uncertified
from alga.cli.console import as_json, check_out, deliver, progress
from alga.cli.options import AsJson, Out, engine_option, model_option

if TYPE_CHECKING:
    from alga.solve.calculator import Calculator

Numbers = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NUMBER...",
        help="Digits, with a minus sign or without; @FILE for the number in a file; - for the one on standard input.",
        show_default=False,
    ),
]
Pairs = Annotated[
    str | None,
    typer.Option(metavar="FILE", help='Read problems from this file (- for standard input): one "A B" per line.'),
]
Traced = Annotated[bool, typer.Option("--trace", help="Show every step, as the paper prints it.")]
Engine = Annotated[str | None, engine_option("table where the network is certified, else sequential")]
Models = Annotated[
    list[str] | None,
    model_option(
        "A network to use for its kind of step, by name or run folder; repeatable.", show_default="the shipped ones"
    ),
]
Base = Annotated[int, typer.Option(metavar="N", help="The base of the numbers, 2 to 36; letters in either case.")]


VERBS: Final = {
    "add": """Add two or more numbers of any length.

    Examples:
      alga add 65785 8765 --trace
      alga add @a.txt @b.txt --out sum.txt
      printf '1 2\\n30+40\\n' | alga add --pairs -
    """,
    "sub": """Subtract the second number from the first.

    Examples:
      alga sub 1000 1 --trace
    """,
    "mul": """Multiply two numbers digit by digit, as on paper.

    Examples:
      alga mul 37 48 --trace
    """,
    "divmod": """Divide the first number by the second.

    Prints the quotient and the remainder, rounded down as in Python.

    Examples:
      alga divmod 1000 37
    """,
    "cmp": """Compare two numbers: prints <, = or >.

    Examples:
      alga cmp 99 100
      alga cmp ff 100 --base 16
    """,
}


def command(verb: str) -> Callable[..., None]:
    """Return the command of a verb: all take the same options."""

    def run(
        numbers: Numbers = None,
        pairs: Pairs = None,
        trace: Traced = False,
        engine: Engine = None,
        model: Models = None,
        base: Base = 10,
        json: AsJson = False,
        out: Out = None,
    ) -> None:
        _run(verb, numbers or [], pairs, engine, model or [], base, trace=trace, json=json, out=out)

    run.__doc__ = VERBS[verb]
    return run


def _run(
    verb: str,
    operands: list[str],
    pairs: str | None,
    engine: str | None,
    models: list[str],
    base: int,
    *,
    trace: bool,
    json: bool,
    out: Path | None,
) -> None:
    for operand in operands:
        if operand.startswith("--"):
            raise AlgaError(f"no such option: {operand} (see alga {verb} --help)")
    if pairs is not None and (operands or trace):
        raise AlgaError("--pairs goes with neither numbers nor --trace")
    if pairs is None and (len(operands) < 2 or (verb != "add" and len(operands) > 2)):
        needs = "at least two numbers to add" if verb == "add" else "two numbers"
        raise AlgaError(f"expected {needs}, got {len(operands)} (see alga {verb} --help)")
    if operands.count("-") > 1:
        raise AlgaError("standard input (-) can be read once only")
    if trace and engine not in (None, "sequential"):
        raise AlgaError(f"--trace runs the network step by step: it goes with --engine sequential, not {engine}")
    check_out(out)
    from alga.solve import engines
    from alga.solve.calculator import Calculator

    if engine is not None:
        engines.find(engine)
    calculator = Calculator(base, models=models, engine=engine)
    for network in calculator.networks.given_for(verb):
        warn_if_uncertified(network)
    if pairs is not None:
        raise typer.Exit(_many(calculator, verb, pairs, json=json, out=out))
    paths = [Path(operand[1:]) for operand in operands if operand.startswith("@")]
    if len(paths) == len(operands) == 2 and verb == "add" and not (json or trace) and _streams(calculator, paths):
        raise typer.Exit(_stream(calculator, paths, out))
    numbers = [reading.operand(operand) for operand in operands]
    with progress("calculating") as watch:
        solve = calculator.trace if trace else calculator.solve
        result = solve(*numbers, operation=verb, watch=watch)
    raise typer.Exit(deliver_result(result, json=json, out=out))


def _streams(calculator: Calculator, paths: list[Path]) -> bool:
    """Return whether two files can be added block by block: no signs, no letters."""
    if calculator.base > 10 or not all(path.is_file() and path.stat().st_size for path in paths):
        return False
    for path in paths:
        with path.open("rb") as file:
            if file.read(1) == b"-":
                return False
    return calculator.networks.find("add").streams(calculator.engine)


def _stream(calculator: Calculator, paths: list[Path], out: Path | None) -> int:
    """Add two files in bounded memory; the output file appears only when it is complete."""
    with ExitStack() as stack:
        sink = sys.stdout.buffer if out is None else stack.enter_context(files.writing(out))
        watch = stack.enter_context(progress("adding"))
        calculator.networks.find("add").stream(paths, sink, watch)
        sink.write(b"\n")
        sink.flush()
    return 0


def _many(calculator: Calculator, verb: str, pairs: str, *, json: bool, out: Path | None) -> int:
    code, before, total = 0, 0, reading.count(pairs)
    with ExitStack() as stack:
        sink = None if out is None else stack.enter_context(files.writing(out))
        watch = stack.enter_context(progress("calculating"))
        for problems in reading.problems(pairs, verb, calculator):

            def further(done: int, of: int, before: int = before, some: int = len(problems)) -> None:
                now = before + done * some // of
                watch(now, total and max(total, now))  # a file may grow while it is read

            lines = []
            for result in calculator.solve_many(problems, operation=verb, watch=further):
                code = max(code, report_result(result))
                lines.append(as_json(result.as_dict()) if json else result.answer or "failed")
            before += len(problems)
            if sink is None:
                deliver("\n".join(lines), None)
            else:
                sink.write("".join(f"{line}\n" for line in lines).encode())
                sink.flush()
    return code
