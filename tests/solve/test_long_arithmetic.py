"""Products and quotients by compiled code: the same answers, counts and claims as row by row."""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from random import Random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from alga import tasks
from alga.base.cancellation import Cancellation, CancelledError
from alga.solve.calculator import Calculator
from alga.solve.engines import long_arithmetic
from alga.solve.engines import table as engine
from alga.solve.engines.by_digit import ByDigits
from alga.solve.engines.long_arithmetic import LongArithmetic
from alga.solve.engines.machine import Machine, machine_of
from alga.solve.engines.rows import NoColumnError
from alga.solve.engines.windows import Order, Rows
from alga.solve.result import Listener
from alga.solve.solver import Solver
from alga.tasks import Task
from alga.tasks.numbers import digits_of, in_base, signed_answer, text_of
from alga.trust.table import Table

KINDS = {"times": "times-a-digit", "add": "addition", "sub": "subtraction", "cmp": "comparison"}
BASES = (2, 8, 10, 16)


@lru_cache
def shipped(name: str) -> Machine:
    return machine_of(tasks.find(name).procedure, Solver.load(name).table)


def machines(base: int = 10, **others: Machine) -> dict[str, Machine]:
    return {kind: shipped(in_base(name, base)) for kind, name in KINDS.items()} | others


def wrong(task: Task, prompt: str, output: str) -> Machine:
    outputs = {each: output if each == prompt else instance.output for each, instance in task.domain.items()}
    return Machine(task, Table(task.name, outputs))


def drawn(rng: Random, digits: str, size: int) -> str:
    return rng.choice(digits[1:]) + "".join(rng.choices(rng.choice([digits, digits[0] + digits[-1]]), k=size - 1))


def right_product(base: int, sizes: tuple[int, int]) -> list[tuple[int, int]]:
    """Multiply two numbers of these lengths; return the progress that was told."""
    rng = Random(str(sizes))
    a, b = (drawn(rng, digits_of(base), size) for size in sizes)
    told: list[tuple[int, int]] = []
    found = LongArithmetic(machines(base), lambda *state: told.append(state)).product(a, b)  # type: ignore[arg-type]
    assert found == text_of(int(a, base) * int(b, base), base)
    return told


@pytest.mark.parametrize("base", BASES)
def test_products_and_quotients_are_right(base: int) -> None:
    rng, digits = Random(base), digits_of(base)
    for _ in range(60):
        size = rng.choice([1, 2, 3, 20, 62, 63, 64, 65, 127, 200])
        a, b = drawn(rng, digits, size), drawn(rng, digits, rng.randint(1, size))
        x, y = int(a, base), int(b, base)
        assert LongArithmetic(machines(base)).product(a, b) == text_of(x * y, base)
        found = LongArithmetic(machines(base)).division(a, b)
        assert found == tuple(text_of(part, base) for part in divmod(x, y))


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("sizes", [(40, 40), (41, 33), (200, 24), (97, 97), (23, 5)])
def test_products_by_halves_are_right(base: int, sizes: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_arithmetic, "HALVED", 6)
    monkeypatch.setattr(long_arithmetic, "PAIRED_FROM", 4)
    told = right_product(base, sizes)
    assert told[-1][0] == told[-1][1]
    assert len(told) == told[-1][1] or sizes[1] < 6


def test_long_number_is_multiplied_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_arithmetic, "PIECE", 50)
    monkeypatch.setattr(long_arithmetic, "PAIRED_FROM", 10)
    rng = Random(7)
    for sizes in ((200, 20), (101, 5), (51, 50), (150, 100)):
        a, b = (drawn(rng, "0123456789", size) for size in sizes)
        without = {kind: machine for kind, machine in machines().items() if kind != "sub"}
        assert LongArithmetic(without).product(a, b) == str(int(a) * int(b))


def test_long_products_by_halves_are_right() -> None:
    rng = Random(0)
    a, b = drawn(rng, "0123456789", 6000), drawn(rng, "0123456789", 2700)
    assert Calculator().mul(a, b) == signed_answer("mul", (a, b), 10)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("sizes", [(40, 40), (41, 33), (64, 7), (5, 5)])
def test_products_by_pairs_of_digits_are_right(
    base: int, sizes: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_arithmetic, "PAIRED_FROM", 5)
    monkeypatch.setattr(long_arithmetic, "AT_ONCE", 256)
    told = right_product(base, sizes)
    assert told[-1] == (sizes[1], sizes[1])


@settings(max_examples=60, deadline=None)
@given(*[st.integers(1, 10**90)] * 2)
def test_any_numbers(a: int, b: int) -> None:
    x, y = sorted((str(a), str(b)), key=lambda text: (len(text), text), reverse=True)
    assert LongArithmetic(machines()).product(x, y) == str(a * b)
    assert LongArithmetic(machines()).division(x, y) == tuple(map(str, divmod(int(x), int(y))))


@pytest.mark.parametrize("base", [10, 16])
@pytest.mark.parametrize("operation", ["mul", "divmod"])
def test_results_are_those_of_row_by_row(base: int, operation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, digits = Random(operation), digits_of(base)
    edges = [("10", "10"), ("99", "11"), ("100", "10"), ("11", "99"), ("100", "99"), ("9" * 30, "9" * 15)]
    sizes = [(rng.randint(2, 40), rng.randint(2, 30)) for _ in range(40)]
    problems = edges + [(drawn(rng, digits, size), drawn(rng, digits, other)) for size, other in sizes]
    calculator = Calculator(base)
    fast = [calculator.solve(*problem, operation=operation) for problem in problems]
    monkeypatch.setattr(engine, "long_arithmetic", lambda *_: None)
    slow = [calculator.solve(*problem, operation=operation) for problem in problems]
    for one, other in zip(fast, slow, strict=True):
        assert one.as_dict() == other.as_dict()
        assert one.certified
    assert [one.answer for one in fast] == [signed_answer(operation, problem, base) for problem in problems]


def test_signs_and_zeros_are_as_before() -> None:
    calculator = Calculator()
    assert calculator.mul("-123456789123", "0") == "0"
    assert calculator.mul("-123456789123", "-987654321") == str(123456789123 * 987654321)
    assert calculator.divmod("-123456789123", "-987654321") == tuple(map(str, divmod(-123456789123, -987654321)))
    assert calculator.divmod("-123456789123", "987654321") == tuple(map(str, divmod(-123456789123, 987654321)))
    assert calculator.divmod("5", "987654321") == ("0", "5")


def test_a_wrong_table_gives_its_wrong_products() -> None:
    """One entry of the table for one digit is wrong: exactly its wrong rows are added up."""
    times = tasks.find("times-a-digit")
    broken = wrong(times, "42C76", "45")
    long = LongArithmetic(machines(times=broken))
    rng, differing = Random(3), 0
    for _ in range(60):
        a, b = drawn(rng, "0167", 30), drawn(rng, "0126", 20)
        rows = [engine.replay(broken, (a, digit)).answer or "" for digit in reversed(b)]
        expected = sum(int(row) * 10**i for i, row in enumerate(rows))
        assert long.product(a, b) == str(expected)
        differing += expected != int(a) * int(b)
    assert differing > 5


def test_traces_other_engines_and_uncertified_networks_go_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("compiled products were asked for")

    monkeypatch.setattr(engine, "long_arithmetic", never)
    calculator = Calculator()
    assert str(calculator.trace("37", "48", operation="mul", listener=Listener())).endswith("(proven)")
    assert calculator.solve("37", "48", operation="mul", engine="sequential").answer == "1776"
    unjudged = Solver(dataclasses.replace(Solver.load("times-a-digit").run, certificate=None))
    result = Calculator(models=[unjudged]).solve("37", "48", operation="mul", engine="table")
    assert (result.answer, result.certified) == ("1776", False)
    changed = Solver.load("times-a-digit")
    with torch.no_grad():
        changed.run.model.head.weight.mul_(2)
    assert not Calculator(models=[changed]).solve("37", "48", operation="mul", engine="table").certified
    with pytest.raises(AssertionError):
        calculator.mul("37", "48")


def test_network_that_changes_meanwhile_is_not_certified() -> None:
    network = Solver.load("times-a-digit")
    weight = network.run.model.head.weight

    def watch(*_: object) -> None:
        with torch.no_grad():
            weight.mul_(1.5)

    import alga.solve.engines.long_arithmetic  # noqa: F401

    result = Calculator(models=[network]).solve("37", "48", operation="mul", watch=watch)
    assert (result.answer, result.certified) == ("1776", False)


def test_progress_and_cancelling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_arithmetic, "AT_ONCE", 64)
    told: list[tuple[int, int]] = []
    LongArithmetic(machines(), lambda *state: told.append(state)).product("123456", "1234")  # type: ignore[arg-type]
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    told.clear()
    LongArithmetic(machines(), lambda *state: told.append(state)).division("123456", "1234")  # type: ignore[arg-type]
    assert told == [(1, 3), (2, 3), (3, 3)]
    cancel = Cancellation()
    cancel.cancel()
    with pytest.raises(CancelledError):
        LongArithmetic(machines(), cancel=cancel).product("123456", "1234")


def test_tables_that_do_other_things_are_not_run() -> None:
    comparison, addition = tasks.find("comparison"), tasks.find("addition")
    with pytest.raises(NoColumnError):
        Order(wrong(comparison, "<C55", ">"))
    with pytest.raises(NoColumnError):
        Order(machine_of(addition, Solver.load().table))
    with pytest.raises(NoColumnError):
        Rows(wrong(addition, "55", "11"))
    with pytest.raises(ValueError, match="expected digits"):
        ByDigits(machines()["times"], "37").texts("1x")
    unsaid = Table("times-a-digit", {**machines()["times"].table.outputs, "42C76": None})
    with pytest.raises(ValueError, match="steps that fail"):
        ByDigits(Machine(tasks.find("times-a-digit"), unsaid), "6")
    with pytest.raises(NoColumnError):
        LongArithmetic(machines(times=Machine(tasks.find("times-a-digit"), unsaid))).product("123", "66")
