"""Numbers from files and standard input, and problems from files of pairs."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from alga.base.errors import AlgaError

if TYPE_CHECKING:
    from alga.solve.calculator import Calculator

MINUS: Final = "-"
MOST_DIGITS_READ: Final = 2**30  # digits of a number read into memory
LONGEST_LINE: Final = 2**25  # characters of a pairs file's line, and of all lines held at a time
CHARACTERS_PER_READ: Final = 2**20  # characters read at a time
PAIRS_PER_BATCH: Final = 1024  # problems of a pairs file solved in one batch
PAIR_SIGNS: Final = {"add": "+", "sub": "-", "mul": "*", "divmod": "/", "cmp": "?"}  # as a pairs file may write them


def number_in(path: str | None) -> str:
    """Return the number in a file, or on standard input for None."""
    name, read, blocks = path or "standard input", 0, []
    with _opened(path) as file:
        try:
            while block := file.read(CHARACTERS_PER_READ):
                read += len(block)
                if "\0" in block:  # such as /dev/zero, which never ends
                    raise AlgaError(f"{name} holds something other than a number: the character '\\x00'")
                if read > MOST_DIGITS_READ:
                    raise AlgaError(
                        f"{name} has more than {MOST_DIGITS_READ:,} digits; add longer numbers from files, @A @B"
                    )
                blocks.append(block)
        except UnicodeDecodeError:
            raise AlgaError(f"{name} holds something other than text") from None
    return "".join(blocks).rstrip("\r\n")


def problems(pairs: str, verb: str, calculator: Calculator) -> Iterator[list[tuple[str, str]]]:
    """Yield the problems of a pairs file in batches; a bad line is refused after all problems before it."""
    with _opened(None if pairs == "-" else pairs) as file:
        chunk: list[tuple[str, str]] = []
        size, refused = 0, None
        try:
            for place, line in enumerate(iter(partial(file.readline, LONGEST_LINE + 1), ""), start=1):
                chunk.append(_problem(line, place, verb, calculator))
                size += len(line)
                if len(chunk) == PAIRS_PER_BATCH or size > LONGEST_LINE:
                    yield chunk
                    chunk, size = [], 0
        except UnicodeDecodeError:
            refused = AlgaError(f"{pairs} holds something other than text")
        except AlgaError as problem:
            refused = problem
        if chunk:
            yield chunk
        if refused is not None:
            raise refused


def count(pairs: str) -> int:
    """Return the number of lines of a pairs file; 0 for a pipe, which can be read only once."""
    path = Path(pairs)
    if pairs == "-" or not path.is_file():
        return 0
    with path.open("rb") as file:
        lines, last = 0, b"\n"
        while block := file.read(CHARACTERS_PER_READ):
            lines, last = lines + block.count(b"\n"), block[-1:]
    return lines + (last != b"\n")


def _problem(line: str, place: int, verb: str, calculator: Calculator) -> tuple[str, str]:
    """Read "A B", "A+B" or "A + B"; a minus right before a number is its sign: "12 -5" is two numbers."""
    if len(line) > LONGEST_LINE:
        raise AlgaError(f"line {place}: expected at most {LONGEST_LINE:,} characters, got more")
    sign, line = PAIR_SIGNS[verb], line.strip(" \t\r\n")
    operands = [part for part in re.split("[ \t]+", line) if part]
    if sign == MINUS and len(operands) == 1 and (found := re.fullmatch("(-?[^-]+)-(-?[^-]+)", line)):
        operands = [*found.groups()]
    elif sign == MINUS and operands[1:2] == [MINUS]:
        del operands[1]
    elif sign != MINUS and sign in line:
        operands = [part.strip(" \t") for part in line.split(sign)]
    if len(operands) != 2:
        raise AlgaError(f'line {place}: expected two numbers, "A B" or "A{sign}B", got {len(operands)}')
    try:
        calculator.check(verb, *operands)
    except AlgaError as problem:
        raise AlgaError(f"line {place}: {problem}") from None
    return operands[0], operands[1]


def _opened(path: str | None) -> AbstractContextManager[TextIO]:
    if path is not None:
        return Path(path).open(encoding="utf-8")
    if sys.stdin is None:
        raise AlgaError("expected a number on standard input, which is closed")
    return nullcontext(sys.stdin)
