"""`alga add`, `sub`, `mul`, `divmod`, `cmp`: numbers in, the answer out, by the networks."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TextIO

import typer

from alga import engines, files
from alga.cli.screen import AsJson, Out, as_json, check_out, deliver, progress
from alga.errors import AlgaError

if TYPE_CHECKING:
    from alga.arithmetic import Arithmetic, Result

MINUS: Final = "-"
LONGEST: Final = 2**30  # digits of a number that is read whole
LONGEST_LINE: Final = 2**25  # characters of a pairs file's line; as many are held at a time
BLOCK: Final = 2**20  # characters read at a time
TOGETHER: Final = 1024  # problems of a pairs file that are solved side by side
SIGNS: Final = {"add": "+", "sub": "-", "mul": "*", "divmod": "/", "cmp": "?"}  # as a pairs file may write them

Numbers = Annotated[
    list[str] | None,
    typer.Argument(help="Numbers: digits, -digits, @FILE, or a lone - for standard input.", show_default=False),
]
Pairs = Annotated[
    str | None, typer.Option(help='Read problems from this file (- for standard input), one "A B" a line.')
]
Traced = Annotated[bool, typer.Option("--trace", help="Show every step, as the paper prints it.")]
Engine = Annotated[
    str | None,
    typer.Option(
        help=f"How steps are chained: {', '.join(engines.names())}.",
        show_default="table where the network is certified, else sequential",
    ),
]
Models = Annotated[
    list[str] | None,
    typer.Option("--model", help="A network's name or run folder, for its kind of step.", show_default="as shipped"),
]
Base = Annotated[int, typer.Option(help="The base of the numbers, 2 to 36; letters in either case.")]


VERBS: Final = {
    "add": """Add two or more numbers of any length: by certified tables, or by the networks themselves.

    Example: alga add 65785 8765 --trace

    Example: alga add @a.txt @b.txt --out sum.txt""",
    "sub": """Subtract the second number from the first.

    Example: alga sub 1000 1 --trace""",
    "mul": """Multiply two numbers, as on paper: by one digit after the other, and add up.

    Example: alga mul 37 48 --trace""",
    "divmod": """Divide the first number by the second: quotient and remainder, rounded down as in Python.

    Example: alga divmod 1000 37""",
    "cmp": """Compare two numbers: prints <, = or >.

    Example: alga cmp 99 100""",
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
    if engine is not None:
        engines.find(engine)
    from alga.arithmetic import Arithmetic

    arithmetic = Arithmetic(base, models=models, engine=engine, keep_steps=trace)
    for name, network in arithmetic.named(verb).items():
        if not network.certified:
            typer.echo(f"alga: warning: the model {name} has no certificate; its answers may be wrong", err=True)
    if pairs is not None:
        raise typer.Exit(_many(arithmetic, verb, pairs, json=json, out=out))
    paths = [Path(operand[1:]) for operand in operands if operand.startswith("@")]
    if len(paths) == len(operands) == 2 and verb == "add" and not (json or trace) and _streams(arithmetic, paths):
        raise typer.Exit(_stream(arithmetic, paths, out))
    raise typer.Exit(_one(arithmetic, verb, [_operand(operand) for operand in operands], json=json, out=out))


def _one(arithmetic: Arithmetic, verb: str, operands: list[str], *, json: bool, out: Path | None) -> int:
    with progress("calculating") as watch:
        result = arithmetic.solve(verb, *operands, watch=watch)
    if json:
        content = result.as_dict()
        if result.trace:
            content["trace"] = [
                {"prompt": step.prompt, "output": step.text, "margin": step.margin if isfinite(step.margin) else None}
                for note in result.trace
                for step in note.steps
            ]
        deliver(as_json(content), out)
    elif result.trace:
        deliver(str(result), out)
    elif result.answer is not None:
        deliver(result.answer, out)
    return _told(result)


def _streams(arithmetic: Arithmetic, paths: list[Path]) -> bool:
    """Tell whether two files can be added without being read whole: numbers without signs, digits as they are."""
    if arithmetic.base > 10 or not all(path.is_file() and path.stat().st_size for path in paths):
        return False
    for path in paths:
        with path.open("rb") as file:
            if file.read(1) == b"-":
                return False
    return arithmetic.network("add").streams(arithmetic.engine)


def _stream(arithmetic: Arithmetic, paths: list[Path], out: Path | None) -> int:
    """Add two files in bounded memory; what is written to a file appears when it is whole."""
    if out is None and sys.stdout is None:
        raise AlgaError("expected a place to write to, and standard output is closed")
    with ExitStack() as stack:
        sink = sys.stdout.buffer if out is None else stack.enter_context(files.writing(out))
        watch = stack.enter_context(progress("adding"))
        arithmetic.network("add").stream(paths, sink, watch)
        sink.write(b"\n")
        sink.flush()
    return 0


def _many(arithmetic: Arithmetic, verb: str, pairs: str, *, json: bool, out: Path | None) -> int:
    code, lines = 0, []
    with progress("calculating") as watch:
        for problems in _problems(pairs, verb, arithmetic):
            for result in arithmetic.solve_all(verb, problems, watch):
                code = max(code, _told(result))
                lines.append(as_json(result.as_dict()) if json else result.answer or "failed")
            if out is None and lines:
                deliver("\n".join(lines), out)
                lines.clear()
    if out is not None:
        files.write(out, "".join(f"{line}\n" for line in lines).encode())
    return code


def _told(result: Result) -> int:
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
    read, blocks = 0, []
    try:
        while block := file.read(BLOCK):
            read += len(block)
            if "\0" in block:  # as in a device that has no end
                raise AlgaError(f"{name} holds something other than a number: the character '\\x00'")
            if read > LONGEST:
                raise AlgaError(f"{name} has more than {LONGEST:,} digits; add longer numbers from files, @A @B")
            blocks.append(block)
    except UnicodeDecodeError:
        raise AlgaError(f"{name} holds something other than text") from None
    return "".join(blocks).rstrip("\r\n")


def _problems(pairs: str, verb: str, arithmetic: Arithmetic) -> Iterator[list[tuple[str, str]]]:
    """Yield the problems of a pairs file, some at a time."""
    with _standard_input() if pairs == "-" else _opened(pairs) as file:
        try:
            chunk, held = [], 0
            for place, line in enumerate(iter(partial(file.readline, LONGEST_LINE + 1), ""), start=1):
                if len(line) > LONGEST_LINE:
                    raise AlgaError(f"line {place}: expected at most {LONGEST_LINE:,} characters, got more")
                chunk.append(_problem(line, place, verb, arithmetic))
                held += len(line)
                if len(chunk) == TOGETHER or held > LONGEST_LINE:
                    yield chunk
                    chunk, held = [], 0
            if chunk:
                yield chunk
        except UnicodeDecodeError:
            raise AlgaError(f"{pairs} holds something other than text") from None


def _problem(line: str, place: int, verb: str, arithmetic: Arithmetic) -> tuple[str, str]:
    """Read "A B", "A+B" or "A + B"; a minus right before a number is its sign: "12 -5" is two numbers."""
    sign, line = SIGNS[verb], line.strip(" \t\r\n")
    operands = [part for part in re.split("[ \t]+", line) if part]
    if sign == MINUS and len(operands) == 1 and (found := re.fullmatch("(-?[^-]+)-(-?[^-]+)", line)):
        operands = [*found.groups()]
    elif sign == MINUS and operands[1:2] == [MINUS]:
        del operands[1]
    elif sign != MINUS and sign in line:
        operands = [part.strip(" \t") for part in line.split(sign)]
    if len(operands) != 2:
        raise AlgaError(f'line {place}: expected two numbers, "A B" or "A{sign}B", got {len(operands)}')
    for operand in operands:
        try:
            arithmetic.check(operand)
        except AlgaError as problem:
            raise AlgaError(f"line {place}: {problem}") from None
    return operands[0], operands[1]


def _standard_input() -> TextIO:
    if sys.stdin is None:
        raise AlgaError("expected a number on standard input, which is closed")
    return sys.stdin


def _opened(path: str) -> Any:
    return Path(path).open(encoding="utf-8")
