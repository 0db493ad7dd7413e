"""Many problems in one call: the same answers and claims as one by one, and nothing taken that is not two numbers."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alga import tasks
from alga.base.cancellation import Cancellation, CancelledError
from alga.base.errors import AlgaError
from alga.base.progress import unwatched
from alga.solve.calculator import Calculator
from alga.solve.engines import bulk as bulk_module
from alga.solve.engines import table as engine
from alga.solve.engines.bulk import Bulk
from alga.solve.engines.machine import Machine, machine_of
from alga.solve.result import Result, Results
from alga.solve.solver import Solver
from tests.solve.machines import ADDITION, FAST, Make, machine, unload

ADDER = Bulk(machine_of(ADDITION, Solver.load().table))


def drawn(digits: str, count: int, most: int = 30, seed: int = 0) -> list[tuple[str, str]]:
    rng = Random(seed)
    return [
        ("".join(rng.choices(digits, k=rng.randint(1, most))), "".join(rng.choices(digits, k=rng.randint(1, most))))
        for _ in range(count)
    ]


@pytest.mark.parametrize("name", ["addition", "addition-base-2", "addition-base-8", "addition-base-16", "comparison"])
def test_lines_are_answered(name: str) -> None:
    made = machine_of(tasks.find(name).procedure, Solver.load(name).table)
    problems = drawn(made.procedure.layout.symbols, 500)
    expected = [made.procedure.oracle(*problem) for problem in problems]
    assert Bulk(made).answers(problems, unwatched) == expected
    data = "".join(f"{a} {b}\n" for a, b in problems).encode()
    answers, stop, count = Bulk(made).lines(data, 0, "+")
    assert (answers.decode().splitlines(), stop, count) == (expected, len(data), len(problems))


def test_wrong_tables_give_their_wrong_answers(faulty: Make) -> None:
    problems, fit = drawn("0123456789", 200), set()
    for name in FAST:
        made = machine(name, faulty)
        if Bulk.fits(made):
            fit.add(name)
            expected = [engine.replay(made, problem).answer for problem in problems]
            assert Bulk(made).answers(problems, unwatched) == expected, name
    assert fit >= {"addition", "comparison", "digits permuted", "one wrong digit", "comparison, one wrong answer"}
    assert not fit & {"one wrong first step", "contexts that differ in the ending alone", "subtraction", "parity"}


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("1 2", "3"), (" 3 + 4 ", "7"), ("5+6\r", "11"), ("\t007\t+ 000\t", "7"), ("0 0", "0"), ("999 1", "1000"),
        ("-1 2", None), ("1 -2", None), ("1", None), ("", None), ("1 2 3", None), ("1++2", None), ("1 x", None),
        ("1\0 2", None), ("\0001 2", None), ("1 2\0", None), ("+1 2", None), ("1 2+", None), ("é 1", None),
        ("1 / 2", None), ("1 2\r\r", None), ("1 2 \r", "3"), ("\r1 2", None),
        ("1.5 2", None), ("1\r2", None), ("1+", None), ("+", None), (": 1", None),
    ],
)  # fmt: skip
def test_what_a_line_may_be(line: str, answer: str | None) -> None:
    data = f"8 8\n{line}\n9 9\n".encode()
    answers, stop, count = ADDER.lines(data, 0, "+")
    if answer is None:
        assert (answers, stop, count) == (b"16\n", 4, 1)
    else:
        assert (answers.decode(), stop, count) == (f"16\n{answer}\n18\n", len(data), 3)


@settings(max_examples=300, deadline=None)
@given(st.text("0123456789 +-\t\r\n\0x", max_size=60))
def test_any_text_is_answered_as_one_by_one_or_left(text: str) -> None:
    data = f"{text}\n".encode()
    answers, stop, count = ADDER.lines(data, 0, "+")
    lines = data[:stop].decode().split("\n")[:-1]
    assert (len(lines), len(answers.decode().splitlines())) == (count, count)
    for line, answer in zip(lines, answers.decode().splitlines(), strict=True):
        a, b = line.replace("+", " ", 1).split()
        assert int(answer) == int(a) + int(b)


@pytest.mark.parametrize(
    "odd",
    [
        ("-1", "2"), ("1", "2\n3"), ("1\n", "2"), ("x", "1"), ("", "1"), ("1", " 2"), ("１", "2"), (1, 2), ("1",),
        ("1", "2", "3"), ("1", "2\r"),
    ],
)  # fmt: skip
def test_odd_problem_leaves_all_to_the_careful_way(odd: tuple[object, ...]) -> None:
    problems: list[tuple[object, ...]] = [("5", "6")] * 40
    assert ADDER.answers([*problems, odd], unwatched) is None  # type: ignore[list-item]
    assert engine.answers(machine_of(ADDITION, Solver.load().table), [*problems, odd]) is None  # type: ignore[list-item]


def test_calculator_answers_many_as_one_by_one() -> None:
    calculator, problems = Calculator(), drawn("0123456789", 60)
    for operation in ("add", "cmp"):
        many = calculator.solve_many(problems, operation=operation)
        assert isinstance(many, Results)
        assert many == [calculator.solve(*problem, operation=operation) for problem in problems]
        assert [many.answers[7], many[-3].answer] == [many[7].answer, many.answers[-3]]
        assert many[3:9:2] == [many[3], many[5], many[7]]
    mixed = [*problems, ("-5", "3")]
    assert calculator.solve_many(mixed, operation="add").answers[-1] == "-2"
    with pytest.raises(AlgaError, match="got 'x'"):
        calculator.solve_many([*problems, ("x", "3")], operation="add")
    with pytest.raises(IndexError):
        calculator.solve_many(problems, operation="add")[60]


def test_results_of_an_uncertified_network_are_not_certified() -> None:
    network = Solver.load()
    with __import__("torch").no_grad():
        network.run.model.head.weight.mul_(2)
    many = network.solve_many([("1", "2")] * 30, engine="table")
    assert (many.answers[0], many[0].certified, many[0].certificates) == ("3", False, {})
    assert Solver.load().solve_many([("1", "2")] * 30)[29].certified


def test_progress_and_cancelling_between_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_module, "PROBLEMS_PER_CALL", 10)
    told: list[tuple[int, int]] = []
    ADDER.answers([("1", "2")] * 25, lambda *state: told.append(state))  # type: ignore[arg-type]
    assert told == [(10, 25), (20, 25), (25, 25)]
    cancel = Cancellation()
    cancel.cancel()
    with pytest.raises(CancelledError):
        ADDER.answers([("1", "2")] * 25, unwatched, cancel)


def test_few_problems_load_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Machine(ADDITION, Solver.load().table)
    unload(engine.BULK, monkeypatch)
    assert engine.bulk_of(made, 1000) is None
    assert engine.answers(made, [("1", "2")] * 20) == ["3"] * 20
    assert made.replayed == 20 * engine.QUICK
    made.replayed = engine.COMPILE_FROM
    assert engine.bulk_of(made, 1000) is not None


def test_results_that_are_made_already() -> None:
    made = [Result(operation="add", operands=("1", "2"), answer="3"), Result(operation="add", operands=(), answer=None)]
    results = Results.of(made)
    assert results == made
    assert results.answers == ["3", None]
    assert repr(results) == "Results(2 problems)"
    assert results.told(base=10)[0].base == 10
    assert results.told([("4",), ("5",)])[1].operands == ("5",)
    assert results != [made[0]]
