"""Files of pairs: a problem per line in, an answer per line out.

Lines of two plain numbers go through the table in bulk, as bytes. A line that is anything else, such as a negative
number or a mistake, is read on its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from alga.base import files
from alga.base.errors import AlgaError
from alga.base.progress import Watch
from alga.cli.console import as_json, progress, report_problems
from alga.cli.operands import CHARACTERS_PER_READ, opened

if TYPE_CHECKING:
    from alga.solve.calculator import Calculator

MINUS: Final = "-"
LONGEST_LINE: Final = 2**25  # bytes
PROBLEMS_PER_BATCH: Final = 1024  # problems solved together, if not in bulk
LINE_COST: Final = 40  # what a line costs if it is not solved in bulk, replaying a column being 1
SIGNS: Final = {"add": "+", "sub": "-", "mul": "*", "divmod": "/", "cmp": "?"}  # as a line may write them


def solve(calculator: Calculator, verb: str, path: str, *, json: bool, out: Path | None) -> int:
    """Solve the problems of a file (- for standard input), one answer per line; return the exit code."""
    total = _count(path)
    with ExitStack() as stack:
        sink = None if out is None else stack.enter_context(files.writing(out))
        pairs = Pairs(calculator, verb, path, stack.enter_context(progress("calculating")), total)
        for answers in pairs.answers(json=json):
            if sink is None:
                typer.echo(answers.decode(), nl=False)
            else:
                sink.write(answers)
                sink.flush()
    return pairs.code


class Pairs:
    """The problems of one file, as they are read."""

    def __init__(self, calculator: Calculator, verb: str, path: str, watch: Watch, total: int) -> None:
        self._calculator, self._verb, self._path = calculator, verb, path
        self._watch, self._total = watch, total
        self._done = 0  # lines
        self.code = 0  # 1 if a network failed at a problem

    def answers(self, *, json: bool) -> Iterator[bytes]:
        """Yield the answers in blocks; a bad line is refused after all problems before it."""
        for block in self._blocks():
            lines = max(self._total, self._done + block.count(b"\n"))
            bulk = None if json else self._calculator.bulk(self._verb, LINE_COST * lines)
            at, some = 0, PROBLEMS_PER_BATCH if bulk is None else 1
            while at < len(block):
                if bulk is not None:
                    answers, at, count = bulk.lines(block, at, SIGNS[self._verb])
                    if count:
                        yield answers
                        some = 1
                        self._report(count)
                        continue
                end = _after_lines(block, at, some)
                yield from self._one_by_one(block[at:end], json=json)
                at, some = end, min(2 * some, PROBLEMS_PER_BATCH)  # where one is odd, others may be

    def _blocks(self) -> Iterator[bytes]:
        """Yield the file in blocks of whole lines."""
        rest = b""
        with _source(self._path) as source:
            while data := source(CHARACTERS_PER_READ):
                rest += data
                cut = rest.rfind(b"\n") + 1 or rest.rfind(b"\r", 0, -1) + 1
                if cut:
                    yield rest[:cut]
                    rest = rest[cut:]
                if len(rest) > LONGEST_LINE:
                    raise AlgaError(f"line {self._done + 1}: expected at most {LONGEST_LINE:,} characters, got more")
        if rest:
            yield rest if rest.endswith(b"\r") else rest + b"\n"

    def _one_by_one(self, block: bytes, *, json: bool) -> Iterator[bytes]:
        problems: list[tuple[str, str]] = []
        refused: AlgaError | None = None
        try:
            text = block.decode()
        except UnicodeDecodeError as problem:
            refused = AlgaError(f"{self._path} holds something other than text")
            text = block[: problem.start].decode()
            text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1]
        for place, line in enumerate(re.split("\r\n|\r|\n", text)[:-1], start=self._done + 1):
            try:
                problems.append(_problem(line, place, self._verb, self._calculator))
            except AlgaError as problem:
                refused = problem
                break
        before = self._done

        def watch(done: int, of: int, _note: str = "") -> None:
            self._report(before + done * len(problems) // of - self._done)

        lines = []
        for result in self._calculator.solve_many(problems, operation=self._verb, watch=watch):
            self.code = max(self.code, report_problems(result))
            lines.append(as_json(result.as_dict()) if json else result.answer or "failed")
        self._report(before + len(problems) - self._done)
        yield "".join(f"{line}\n" for line in lines).encode()
        if refused is not None:
            raise refused

    def _report(self, lines: int) -> None:
        self._done += lines
        self._watch(self._done, self._total and max(self._total, self._done))  # a file may grow while it is read


@contextmanager
def _source(path: str) -> Iterator[Callable[[int], bytes]]:
    """Open a file, or standard input; yields a function that reads what is there, up to so many bytes."""
    with opened(None if path == "-" else path) as file:
        binary: Any = getattr(file, "buffer", None)
        yield (lambda size: file.read(size).encode()) if binary is None else binary.read1


def _after_lines(block: bytes, at: int, lines: int) -> int:
    """Return the position after so many lines, or the end."""
    for _ in range(lines):
        at = block.find(b"\n", at) + 1
        if not at:
            return len(block)
    return at


def _count(pairs: str) -> int:
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
    try:
        calculator.check(verb, *operands)
    except AlgaError as problem:
        raise AlgaError(f"line {place}: {problem}") from None
    return operands[0], operands[1]
