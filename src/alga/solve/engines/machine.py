"""A table as a minimal state machine: which contexts are equivalent, and what each column does to them.

Everything here is derived from the table, not from the procedure. Contexts are in one *class* if no column
distinguishes them, now or later (addition: with and without a carry). With at most four classes and columns of at most
two characters, all that a column can do fits into one 64-bit word, and `loop.py` runs at memory speed. Every other
table is replayed step by step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final

from alga.base.errors import AlgaError
from alga.solve.engines.scan import Scan, scan_of
from alga.tasks import Procedure, Situation
from alga.trust.table import Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from alga.solve.engines.by_digit import ByDigits

CLASSES: Final = 4  # per word: a byte for what is written and a byte for the next class, of each
MOST_KEPT: Final = 64  # sets of digits
ROWS: Final = 2  # per word: it is indexed by two bytes


@dataclass(frozen=True)
class Classes:
    """Classes of equivalent contexts, and what each column does to each class."""

    of: dict[str, int]  # every reachable output -> its class
    like: tuple[str, ...]  # for each class, one of its contexts
    moves: dict[str, tuple[tuple[str, int], ...]]  # column -> for each class, what is written and the next class


class Machine:
    """A table ready to run; `after[context][column]` is the network's output."""

    def __init__(self, procedure: Procedure, table: Table) -> None:
        self.procedure, self.table = procedure, table
        self.after = _Contexts(procedure, table)
        self.classes = _classes(procedure, table)
        self.replayed = 0.0  # columns so far, or as much work
        self._by_digits: dict[str, ByDigits] = {}

    @cached_property
    def fits(self) -> bool:
        """Whether all that a column can do fits into a word."""
        return self.classes is not None and len(self.classes.like) <= CLASSES and _fits(self.procedure, self.classes)

    @cached_property
    def silent(self) -> bool:
        """Whether no step but the last writes anything."""
        return not any(written for moves in self.moves.values() for written, _ in moves)

    @property
    def moves(self) -> dict[str, tuple[tuple[str, int], ...]]:
        """What each column does to each class; nothing if the table has none."""
        return {} if self.classes is None else self.classes.moves

    @cached_property
    def ends(self) -> tuple[int, tuple[str, ...]] | None:
        """The class before the first column, and for each class what the last step writes first if it leads there.

        None unless the first step does as any other in that class, and the last step, too, writes its digit.
        """
        classes, procedure = self.classes, self.procedure
        if classes is None:
            return None
        leads: dict[int, str] = {}
        first = {column: self.after[None][column] for column in procedure.layout.first(procedure.layout.settings()[0])}
        others = (self.after[context][column] for context in classes.like for column in classes.moves)
        for output in {*first.values(), *others}:
            if output is None:
                return None
            written, ending = procedure.written(output), procedure.ending(output)
            lead = ending.removesuffix(written)
            if lead + written != ending or leads.setdefault(classes.of[output], lead) != lead:
                return None
        moves = {column: (procedure.written(output), classes.of[output]) for column, output in first.items() if output}
        for start in range(len(classes.like)):
            if {column: each[start] for column, each in classes.moves.items() if column in moves} == moves:
                return start, tuple(leads.get(i, "") for i in range(len(classes.like)))
        return None

    @cached_property
    def scan(self) -> Scan | None:
        """The table for all columns at once; None if it does not allow that."""
        return scan_of(self)

    def by_digits(self, digits: str) -> ByDigits:
        """Return the tables of some settings as arrays; raises ValueError if they cannot be. Loads the compiler."""
        if digits not in self._by_digits:
            from alga.solve.engines.by_digit import ByDigits

            if len(self._by_digits) > MOST_KEPT:
                self._by_digits.clear()
            self._by_digits[digits] = ByDigits(self, digits)
        return self._by_digits[digits]

    @cached_property
    def words(self) -> NDArray[np.uint64] | None:
        """A word for each pair of bytes that is a column, all ones for other pairs; None if the table does not fit.

        From the low end: four bytes with what is written in each class, four with eight times the class that follows.
        """
        import numpy as np

        if not self.fits or self.classes is None:
            return None
        words = np.full(2**16, 2**64 - 1, np.uint64)
        for column, moves in self.classes.moves.items():
            word = 0
            for i, (written, following) in enumerate(moves):
                word |= ord(written or " ") << (8 * i) | 8 * following << (32 + 8 * i)
            for place in _places(column, self.procedure):
                words[place] = word
        return words


class _Contexts(dict[str | None, "_Replies"]):
    """Context -> outputs after it, made on first use."""

    def __init__(self, procedure: Procedure, table: Table) -> None:
        super().__init__()
        self._procedure, self._table = procedure, table

    def __missing__(self, context: str | None) -> _Replies:
        self[context] = _Replies(self._procedure, self._table, context)
        return self[context]


class _Replies(dict[str, str | None]):
    """Column -> output after one context, looked up in the table on first use."""

    def __init__(self, procedure: Procedure, table: Table, context: str | None) -> None:
        super().__init__()
        self._procedure, self._table, self._context = procedure, table, context

    def __missing__(self, column: str) -> str | None:
        prompt = self._procedure.prompt(self._context, column)
        if prompt not in self._table.outputs:
            raise AlgaError(f"{self._procedure.name}: the prompt {prompt!r} is outside its table")
        self[column] = self._table.outputs[prompt]
        return self[column]


@lru_cache(maxsize=64)
def machine_of(procedure: Procedure, table: Table) -> Machine:
    """Return the machine of a table, cached."""
    return Machine(procedure, table)


def _classes(procedure: Procedure, table: Table) -> Classes | None:
    """Return the coarsest classes of the reachable contexts; None if the table has failures or uncertain prompts."""

    def respond(situations: Sequence[Situation]) -> list[str | None]:
        return [table.outputs[procedure.prompt(context, column)] for context, column in situations]

    if table.uncertain or len(procedure.layout.settings()) > 1:
        return None
    steps = procedure.explore(respond)
    columns = procedure.layout.following(procedure.layout.settings()[0])
    rows: dict[str, list[str]] = {}
    for output in dict.fromkeys(steps.values()):
        if output is None:
            return None
        replies = [steps[procedure.carried(output), column] for column in columns]
        if None in replies:
            return None
        rows[output] = [reply for reply in replies if reply is not None]
    written = {output: (procedure.written(output), procedure.ending(output)) for output in rows}
    classes = _numbered({output: tuple(written[reply] for reply in row) for output, row in rows.items()})
    while True:
        finer = _numbered(
            {output: (classes[output], *(classes[reply] for reply in row)) for output, row in rows.items()}
        )
        if max(finer.values()) == max(classes.values()):
            break
        classes = finer
    like = tuple(next(output for output in classes if classes[output] == i) for i in range(max(classes.values()) + 1))
    moves = {
        column: tuple((written[rows[context][i]][0], classes[rows[context][i]]) for context in like)
        for i, column in enumerate(columns)
    }
    return Classes(classes, like, moves)


def _numbered(signatures: dict[str, tuple[object, ...]]) -> dict[str, int]:
    numbers: dict[tuple[object, ...], int] = {}
    return {output: numbers.setdefault(signature, len(numbers)) for output, signature in signatures.items()}


def _fits(procedure: Procedure, classes: Classes) -> bool:
    """Return whether columns fit two bytes, and every step writes one character or every step writes none."""
    chars = {procedure.written(output) for output in classes.of}
    return (
        procedure.layout.by_rows
        and procedure.layout.arity <= ROWS
        and all(1 <= len(column) <= ROWS and column.isascii() for column in classes.moves)
        and {len(char) for char in chars} in ({0}, {1})
        and all(char.isascii() for char in chars)
    )


def _places(column: str, procedure: Procedure) -> list[int]:
    """Return the pairs of bytes that stand for a column, upper row first; 0 after the end of a row."""
    if len(column) == ROWS:
        return [ord(column[0]) << 8 | ord(column[1])]
    return [ord(column) << 8] + ([ord(column)] if procedure.layout.arity == ROWS else [])
