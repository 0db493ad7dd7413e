"""Task -> what Coq proves of its table, and by which theorem of the development.

Each statement is a property of whoever answers the prompts; its theorem turns it into one computation that is true.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from alga.base.errors import AlgaError
from alga.trust.coq.record import FLOAT32, NETWORK, TABLE, Theorem

PREFIXES: Final = {TABLE: "", NETWORK: "network_", FLOAT32: "network32_"}
LONGEST_STATEMENT: Final = 400


@dataclass(frozen=True)
class Statement:
    """A property, the theorem for tables that have it, and the file of the development that holds both.

    `network` is the file with the same for networks, if there is one.
    """

    file: str
    says: str
    by: str
    network: str = ""


_IN_ANY_BASE: Final = {
    "addition": Statement("Addition", "adds {base} 2 [] []", "table_adds", "NetworkAddition32"),
    "subtraction": Statement("Subtraction", "subtracts {base} []", "table_subtracts"),
    "comparison": Statement("Comparison", "compares {base}", "table_compares"),
    "times-a-digit": Statement("Digitwise", "multiplies {base} []", "table_multiplies"),
    "division-by-a-digit": Statement("Digitwise", "divides {base}", "table_divides"),
    "and": Statement("Bitwise", "computes_bits And {base}", "table_computes_bits"),
    "or": Statement("Bitwise", "computes_bits Or {base}", "table_computes_bits"),
    "xor": Statement("Bitwise", "computes_bits Xor {base}", "table_computes_bits"),
}
_TASKS: Final = {
    "addition-padded": (Statement("Addition", "adds 10 2 [zero] []", "table_adds", "NetworkAddition32"),),
    "addition-of-three": (Statement("Addition", "adds 10 3 [zero] []", "table_adds", "NetworkAddition32"),),
    "addition-lookahead": (Statement("Lookahead", "adds_ahead", "table_adds_ahead"),),
    "parity": (Statement("Parity", "finds_parity", "table_finds_parity"),),
    "arithmetic": (
        Statement("Addition", 'adds 10 2 [] (text! "+")', "table_adds"),
        Statement("Subtraction", 'subtracts 10 (text! "-")', "table_subtracts"),
        Statement("Digitwise", 'multiplies 10 (text! "×")', "table_multiplies"),
    ),
}


def statements_of(task: str) -> tuple[Statement, ...]:
    """Return what is proven of a task's table, by the task's name.

    >>> [each.says for each in statements_of("addition-base-16")]
    ['adds 16 2 [] []']
    """
    if task in _TASKS:
        return _TASKS[task]
    family, _, base = task.partition("-base-")
    if family in _IN_ANY_BASE and (base.isdecimal() or family == task):
        known = _IN_ANY_BASE[family]
        return (replace(known, says=known.says.format(base=base or "10")),)
    raise AlgaError(f"there is no Coq theorem for {task} yet; there is one for {', '.join((*_IN_ANY_BASE, *_TASKS))}")


def states(task: str, theorem: Theorem) -> bool:
    """Return whether a theorem in a certificate can be the one that is exported for this task.

    >>> states("addition", Theorem(TABLE, "adds 10 2 [] [] (by_table table)", ()))
    True
    >>> states("subtraction", Theorem(TABLE, "adds 10 2 [] [] (by_table table)", ()))
    False
    """
    try:
        begins = PREFIXES[theorem.subject] + re.split(r" [\[(]", statements_of(task)[0].says)[0]
    except AlgaError:
        return False
    said = theorem.statement
    return said.isprintable() and len(said) <= LONGEST_STATEMENT and said.startswith(f"{begins} ")
