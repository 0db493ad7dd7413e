"""`alga add`: numbers in, their sum out, by the network."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TextIO

import typer

from alga import engines, files
from alga.cli.screen import AsJson, Model, Out, as_json, check_out, deliver, progress
from alga.errors import AlgaError

if TYPE_CHECKING:
    from alga.calculator import Answer, Calculator
    from alga.tasks import Task

TOGETHER: Final = 1024  # problems of a pairs file that are solved side by side


def add(
    numbers: Annotated[
        list[str] | None,
        typer.Argument(help="Two or more numbers: digits, @FILE, or a lone - for standard input.", show_default=False),
    ] = None,
    pairs: Annotated[
        str | None, typer.Option(help='Read problems from this file (- for standard input), one "A B" or "A+B" a line.')
    ] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Show every step, as the paper prints it.")] = False,
    engine: Annotated[
        str | None,
        typer.Option(
            help=f"How steps are chained: {', '.join(engines.names())}.",
            show_default="table where the network is certified, else sequential",
        ),
    ] = None,
    model: Model = "addition",
    json: AsJson = False,
    out: Out = None,
) -> None:
    """Add numbers of any length: by the network's certified table, or column by column by the network itself.

    Example: alga add 65785 8765 --trace

    Example: alga add @a.txt @b.txt --out sum.txt
    """
    operands = numbers or []
    for operand in operands:
        if operand.startswith("--"):
            raise AlgaError(f"no such option: {operand} (see alga add --help)")
    if pairs is not None and (operands or trace):
        raise AlgaError("--pairs goes with neither numbers nor --trace")
    if pairs is None and len(operands) < 2:
        raise AlgaError(f"expected at least two numbers to add, got {len(operands)} (see alga add --help)")
    if operands.count("-") > 1:
        raise AlgaError("standard input (-) can be read once only")
    if trace and engine not in (None, "sequential"):
        raise AlgaError(f"--trace runs the network step by step: it goes with --engine sequential, not {engine}")
    check_out(out)
    if engine is not None:
        engines.find(engine)
    from alga.calculator import load

    calculator = load(model)
    if calculator.task.verb != "add":
        raise AlgaError(f"the model {model} does not add: it computes {calculator.task.summary}")
    if not calculator.certified:
        typer.echo(f"alga: warning: the model {model} has no certificate; its answers may be wrong", err=True)
    if pairs is not None:
        raise typer.Exit(_many(calculator, pairs, engine, json=json, out=out))
    paths = [Path(operand[1:]) for operand in operands if operand.startswith("@")]
    whole = json or trace or len(paths) != calculator.task.arity or len(paths) != len(operands)
    if not whole and all(path.is_file() for path in paths) and calculator.streams(engine):
        raise typer.Exit(_stream(calculator, paths, out))
    operands = [_operand(operand) for operand in operands]
    raise typer.Exit(_one(calculator, operands, engine, trace=trace, json=json, out=out))


def _one(
    calculator: Calculator, operands: list[str], engine: str | None, *, trace: bool, json: bool, out: Path | None
) -> int:
    with progress("adding") as watch:
        if trace:
            kept = calculator.trace(*operands, watch=watch)
            result = kept.result
        else:
            (result,) = calculator.solve_many([operands], engine=engine, watch=watch)
    if json:
        content = result.as_dict()
        if trace:
            content["trace"] = [
                {"prompt": step.prompt, "output": step.text, "margin": step.margin} for step in kept.steps
            ]
        deliver(as_json(content), out)
    elif trace:
        deliver(str(kept), out)
    elif result.answer is not None:
        deliver(result.answer, out)
    return _told(result)


def _stream(calculator: Calculator, paths: list[Path], out: Path | None) -> int:
    """Add two files in bounded memory; what is written to a file appears when it is whole."""
    with ExitStack() as stack:
        sink = sys.stdout.buffer if out is None else stack.enter_context(files.writing(out))
        watch = stack.enter_context(progress("adding"))
        calculator.stream(paths, sink, watch)
        sink.write(b"\n")
        sink.flush()
    return 0


def _many(calculator: Calculator, pairs: str, engine: str | None, *, json: bool, out: Path | None) -> int:
    code, lines = 0, []
    with progress("adding") as watch:
        for problems in _problems(pairs, calculator.task):
            for result in calculator.solve_many(problems, engine=engine, watch=watch):
                code = max(code, _told(result))
                lines.append(as_json(result.as_dict()) if json else result.answer or "failed")
            if out is None and lines:
                deliver("\n".join(lines), out)
                lines.clear()
    if out is not None:
        files.write(out, "".join(f"{line}\n" for line in lines).encode())
    return code


def _told(result: Answer) -> int:
    if result.uncertain:
        typer.echo(
            f"alga: warning: at {result.uncertain} rounding decides; another engine may go on otherwise", err=True
        )
    if result.failure:
        typer.echo(f"alga: {result.failure}", err=True)
    return 1 if result.failure else 0


def _operand(text: str) -> str:
    if text == "-":
        return _number_in(_standard_input(), "standard input")
    if text.startswith("@"):
        with _opened(text[1:]) as file:
            return _number_in(file, text[1:])
    return text


def _number_in(file: TextIO, name: str) -> str:
    try:
        return file.read().strip("\r\n")
    except UnicodeDecodeError:
        raise AlgaError(f"{name} holds something other than text") from None


def _problems(pairs: str, task: Task) -> Iterator[list[tuple[str, ...]]]:
    """Yield the problems of a pairs file, some at a time."""
    with _standard_input() if pairs == "-" else _opened(pairs) as file:
        numbered = enumerate(file, start=1)
        try:
            while chunk := list(islice(numbered, TOGETHER)):
                yield [_problem(line, number, task) for number, line in chunk]
        except UnicodeDecodeError:
            raise AlgaError(f"{pairs} holds something other than text") from None


def _problem(line: str, number: int, task: Task) -> tuple[str, ...]:
    line = line.rstrip("\r\n").strip(" \t")
    parts = line.split(task.sign) if task.sign in line else line.replace("\t", " ").split(" ")
    operands = tuple(part.strip(" \t") for part in parts if part or task.sign in line)
    if len(operands) != task.arity:
        raise AlgaError(f'line {number}: expected two numbers, "A B" or "A{task.sign}B", got {len(operands)}')
    try:
        task.columns(*operands)
    except AlgaError as problem:
        raise AlgaError(f"line {number}: {problem}") from None
    return operands


def _standard_input() -> TextIO:
    if sys.stdin is None:
        raise AlgaError("expected a number on standard input, which is closed")
    return sys.stdin


def _opened(path: str) -> Any:
    return Path(path).open(encoding="utf-8")
