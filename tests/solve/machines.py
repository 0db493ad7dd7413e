"""Tables of right and faulty networks, as machines for the table engine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

import pytest

from alga import tasks
from alga.network.step import Decode
from alga.solve.engines import loop, table
from alga.solve.engines.machine import Machine
from alga.tasks import Task
from alga.trust.table import extract

ADDITION = tasks.find("addition")
SUBTRACTION = tasks.find("subtraction")
PARITY = tasks.find("parity")
Make = Callable[..., Decode]


def unload(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make compiled code one that was never loaded."""
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.delitem(table._loaded, name, raising=False)


def permuted() -> dict[str, str]:
    """Every answer of addition with its last digit replaced by another."""
    digits = dict(zip("0123456789", "3847190562", strict=True))
    return {p: f"{i.output[:-1]}{digits[i.output[-1]]}S" for p, i in ADDITION.domain.items()}


FAST: dict[str, tuple[Task, Mapping[str, str]]] = {
    "addition": (ADDITION, {}),
    "addition-padded": (tasks.find("addition-padded"), {}),
    "subtraction": (SUBTRACTION, {}),
    "parity": (PARITY, {}),
    "comparison": (tasks.find("comparison"), {}),
    "comparison, one wrong answer": (tasks.find("comparison"), {"<C55": ">S"}),
    "addition in base 16": (tasks.find("addition-base-16"), {}),
    "digits permuted": (ADDITION, permuted()),
    "one wrong digit": (ADDITION, {"3C45": "8S"}),
    "one wrong carry": (ADDITION, {"3C45": "19S"}),
    "one wrong first step": (ADDITION, {"55": "11S"}),
    "a column wrong after every context": (ADDITION, {f"{i}C27": "5S" for i in range(20)}),
    "a lone digit wrong": (ADDITION, {"14C6": "6S"}),
    "subtraction, one wrong digit": (SUBTRACTION, {"-7C52": "4S"}),
    "contexts that differ in the ending alone": (
        ADDITION,
        {f"15C{c}": f"{ADDITION.step('5', c)}S" for c in ADDITION.layout.following("")}
        | {"3C14": "15S", "3C05": "15S"},
    ),
}


def machine(name: str, faulty: Make) -> Machine:
    task, faults = FAST[name]
    return Machine(task, extract(task.domain, faulty(task, faults)))


def by_loop(made: Machine, operands: tuple[str, ...]) -> str:
    rows = made.procedure.layout.rows(*operands)
    assert rows is not None
    return made.procedure.tidied(loop.text_of(made, rows))
