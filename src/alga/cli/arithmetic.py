"""`alga add`, `sub`, `mul`, `divmod`, `cmp` and `solve`: numbers in, the answer out, by the networks."""

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
from alga.cli import pairs as in_pairs
from alga.cli.console import check_out, deliver_result, progress, warn_if_uncertified
from alga.cli.options import AsJson, Engine, Out, OwnTask, Traced, load_own_task, model_argument, model_option, option

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
    str | None, option("FILE", 'Read problems from this file (- for standard input): one "A B" per line.')
]
Models = Annotated[
    list[str] | None,
    model_option(
        "A network to use for its kind of step, by name or run folder; repeatable.", default="the shipped ones"
    ),
]
Base = Annotated[int, option("N", "The base of the numbers, 2 to 36; letters in either case.")]

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
        numbers = numbers or []
        _check_arguments(verb, numbers, pairs, trace=trace)
        _check_traceable(trace, engine)
        check_out(out)
        from alga.solve.calculator import Calculator

        calculator = Calculator(base, models=model or [], engine=engine)
        for network in calculator.networks.given_for(verb):
            warn_if_uncertified(network)
        if pairs is not None:
            raise typer.Exit(in_pairs.solve(calculator, verb, pairs, json=json, out=out))
        paths = [Path(number[1:]) for number in numbers if number.startswith("@")]
        if len(paths) == len(numbers) == 2 and verb == "add" and not (json or trace) and _streams(calculator, paths):
            _stream(calculator, paths, out)
            return
        operands = [_operand(text) for text in numbers]
        with progress("calculating") as watch:
            solve = calculator.trace if trace else calculator.solve
            result = solve(*operands, operation=verb, engine=engine, watch=watch)
        raise typer.Exit(deliver_result(result, json=json, out=out))

    run.__doc__ = VERBS[verb]
    return run


def solve(
    model: Annotated[str, model_argument("MODEL")],
    operands: Annotated[list[str], typer.Argument(metavar="OPERAND...", help="The problem, as its task takes it.")],
    task: OwnTask = None,
    trace: Traced = False,
    engine: Engine = None,
    json: AsJson = False,
    out: Out = None,
) -> None:
    """Solve a problem of any task with its network.

    Examples:
      alga solve parity 10110111
      alga solve xor-base-16 ff0f 1234
      alga solve runs/collatz 27 --task mine.py:Collatz --trace

    """
    _check_traceable(trace, engine)
    check_out(out)
    load_own_task(task)
    from alga.solve.solver import Solver

    solver = Solver.load(model)
    warn_if_uncertified(solver)
    with progress("solving") as watch:
        if trace:
            result = solver.trace(*operands, engine=engine, watch=watch)
        else:
            (result,) = solver.solve_many([operands], engine=engine, watch=watch)
    raise typer.Exit(deliver_result(result, json=json, out=out))


def _check_arguments(verb: str, numbers: list[str], pairs: str | None, *, trace: bool) -> None:
    for text in numbers:
        if text.startswith("--"):
            raise AlgaError(f"no such option: {text} (see alga {verb} --help)")
    if pairs is not None and (numbers or trace):
        raise AlgaError("--pairs goes with neither numbers nor --trace")
    if pairs is None and (len(numbers) < 2 or (verb != "add" and len(numbers) > 2)):
        needs = "at least two numbers to add" if verb == "add" else "two numbers"
        raise AlgaError(f"expected {needs}, got {len(numbers)} (see alga {verb} --help)")
    if numbers.count("-") > 1:
        raise AlgaError("standard input (-) can be read once only")


def _check_traceable(trace: bool, engine: str | None) -> None:
    if trace and engine not in (None, "sequential", "whole"):
        raise AlgaError(f"--trace runs the network step by step: it takes --engine sequential or whole, not {engine}")


def _operand(text: str) -> str:
    if text == "-" or text.startswith("@"):
        return reading.number_in(None if text == "-" else text[1:])
    return text


def _streams(calculator: Calculator, paths: list[Path]) -> bool:
    """Return whether two files can be added block by block: no signs, no letters."""
    if calculator.base > 10 or not all(path.is_file() and path.stat().st_size for path in paths):
        return False
    for path in paths:
        with path.open("rb") as file:
            if file.read(1) == b"-":
                return False
    return calculator.networks.find("add").streams(calculator.engine)


def _stream(calculator: Calculator, paths: list[Path], out: Path | None) -> None:
    """Add two files in bounded memory; the output file appears only when it is complete."""
    with ExitStack() as stack:
        sink = sys.stdout.buffer if out is None else stack.enter_context(files.writing(out))
        watch = stack.enter_context(progress("adding"))
        calculator.networks.find("add").stream(paths, sink, watch)
        sink.write(b"\n")
        sink.flush()
