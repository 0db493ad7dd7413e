"""Evaluation: problem families match their names, wrong answers are found and reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from alga import tasks
from alga.base.errors import AlgaError
from alga.research.studies.published import SUMS
from alga.solve import evaluation
from alga.solve.solver import Solver
from alga.tasks.hard_sums import FAMILIES
from tests.conftest import ALL_TASKS, Result

KEYS = {"problems", "correct", "accuracy", "max_digits", "edit_distance", "families"}
ADDITION = tasks.find("addition")


def carries(a: str, b: str) -> list[bool]:
    """Return which columns carry, units first."""
    return [len(step.output) == 2 for step in ADDITION.steps(a, b)]


@pytest.mark.parametrize("family", FAMILIES)
@given(seed=st.integers(0, 999), digits=st.integers(1, 40))
def test_family_gives_numbers_of_the_requested_length(family: str, seed: int, digits: int) -> None:
    operands = FAMILIES[family](Random(seed), digits)
    assert max(map(len, operands)) == digits or (family == "unequal-lengths" and digits < 3)
    assert ADDITION.read([step.output for step in ADDITION.steps(*operands)]) == ADDITION.oracle(*operands)


@given(seed=st.integers(0, 999), digits=st.integers(4, 40))
def test_hard_families_carry_as_named(seed: int, digits: int) -> None:
    rng = Random(seed)
    assert all(carries(*FAMILIES["one-long-carry"](rng, digits)))
    assert all(carries(*FAMILIES["sums-of-nine-and-a-carry"](rng, digits)))
    assert not any(carries(*FAMILIES["sums-of-nine"](rng, digits)))
    alternating = carries(*FAMILIES["alternating-carries"](rng, digits))
    assert alternating[: digits - 1] == [place % 2 == 0 for place in range(digits - 1)][: len(alternating)]
    a, b = FAMILIES["equal-operands"](rng, digits)
    assert a == b
    assert set("".join(FAMILIES["all-nines"](rng, digits))) == {"9"}


@pytest.mark.parametrize("name", ALL_TASKS)
def test_every_task_draws_uniform_problems_within_its_range(name: str) -> None:
    task = tasks.find(name).procedure
    for problem in evaluation.draw(task, count=20, max_digits=12, families=["uniform"]):
        assert task.read([step.output for step in task.steps(*problem.operands)]) == task.oracle(*problem.operands)


def test_problems_depend_on_the_seed_alone() -> None:
    first, again, other = (evaluation.draw(ADDITION, count=50, max_digits=30, seed=seed) for seed in (1, 1, 2))
    assert first == again != other
    assert {problem.family for problem in first} == set(FAMILIES)
    assert max(problem.digits for problem in first) == first[0].digits == 30


def test_shipped_adder_is_right_on_every_family(adder: Solver) -> None:
    problems = evaluation.draw(ADDITION, count=200, max_digits=60)
    told: list[tuple[int, int]] = []
    result = evaluation.evaluate(adder, problems, watch=lambda done, total: told.append((done, total)))
    content = result.as_dict()
    assert content.keys() >= KEYS
    assert (content["problems"], content["correct"], content["accuracy"], content["edit_distance"]) == (200, 200, 1, 0)
    assert sum(span["problems"] for span in content["lengths"]) == 200
    assert told[-1][0] == told[-1][1]


def spoiled() -> Solver:
    """A network that is sometimes wrong."""
    calculator = Solver.load()
    with torch.no_grad():
        calculator.run.model.head.weight[7] *= 4  # the row of the digit 5
    return calculator


def test_wrong_answer_is_traced_to_its_first_wrong_step() -> None:
    calculator = spoiled()
    result = evaluation.evaluate(calculator, evaluation.draw(ADDITION, count=100, max_digits=60))
    content = result.as_dict()
    assert 0 < content["correct"] < 100
    assert content["edit_distance"] > 0
    wrong = result.wrong[0]
    told = evaluation.first_wrong_step(calculator, wrong.problem.operands)
    place = int(told.split(":")[0].removeprefix("step ")) - 1
    steps = list(ADDITION.steps(*wrong.problem.operands))
    trace = calculator.trace(*wrong.problem.operands).steps
    assert [s.text for s in trace[:place]] == [f"{s.output}S" for s in steps[:place]]
    assert trace[place].text != f"{steps[place].output}S"
    assert f"expected {steps[place].output}S" in told


@pytest.mark.parametrize(
    ("operands", "expected", "distance"),
    [(("1", "1"), "12", 1), (("1", "1"), "3", 1), (("5", "5"), "0", 1), (("99", "1"), "001", 2), (("1", "1"), "2", 0)],
)
def test_edit_distance_counts_insertions_deletions_and_substitutions(
    adder: Solver, operands: tuple[str, str], expected: str, distance: int
) -> None:
    outcome = evaluation.Outcome(evaluation.Problem("given", operands), expected, adder.solve(*operands))
    assert outcome.edit_distance == distance


@pytest.mark.parametrize(("x", "y", "published"), SUMS)
def test_evaluate_reproduces_the_authors_sums(alga: Callable[..., Result], x: str, y: str, published: str) -> None:
    shown = alga("evaluate", "--numbers", x, y)
    expected = f"The output is TRUE\nx={x}\ny={y}\nReal x+y={published}\nPred x+y={published}\n"
    assert shown == Result(0, expected, "")


def test_show_draws_numbers_of_the_requested_length(alga: Callable[..., Result]) -> None:
    shown = alga("evaluate", "--digits", "50", "--show", "--seed", "10").out.splitlines()
    assert shown[0] == "The output is TRUE"
    assert (len(shown[1]), len(shown[2])) == (52, 52)


@pytest.mark.parametrize(("model", "names"), [("parity", ["x"]), ("addition-of-three", ["x", "y", "z"])])
def test_show_names_each_operand(alga: Callable[..., Result], model: str, names: list[str]) -> None:
    shown = alga("evaluate", model, "--digits", "5", "--show")
    assert shown.code == 0
    assert [line.partition("=")[0] for line in shown.out.splitlines()[1:-2]] == names


def test_evaluate_prints_a_table_and_json(alga: Callable[..., Result]) -> None:
    assert alga("evaluate", "--count", "20", "--max-digits", "9").out.splitlines()[-1].split() == [
        "all", "20", "20", "100.00%", "0.00",
    ]  # fmt: skip
    content = json.loads(alga("evaluate", "--count", "4", "--families", "zeros,uniform", "--json").out)
    assert content.keys() >= KEYS
    assert content["families"].keys() == {"zeros", "uniform"}


def test_evaluate_exits_with_1_and_names_the_wrong_step(alga: Callable[..., Result], tmp_path: Path) -> None:
    spoiled().save(tmp_path / "spoiled")
    judged = alga("evaluate", tmp_path / "spoiled", "--count", "100", "--max-digits", "60")
    assert judged.code == 1
    assert "wrong: " in judged.err
    assert "; step " in judged.err
    assert len(judged.err.splitlines()) <= 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--families", "hard"], "unknown family 'hard' of addition; there are uniform"),
        (["--count", "0"], "count must be 1 to 10,000,000, got 0"),
        (["--digits", "-3"], "digits must be 1 to 100,000,000, got -3"),
        (["--numbers", "1", "x"], "got 'x' at position 1"),
        (["--numbers", "1", "2", "--count", "3"], "--numbers goes with neither"),
        (["--engine", "abacus"], "unknown engine"),
        (["parity", "--numbers", "1", "0"], "parity takes 1 numbers, got 2"),
        (["addition-of-three", "--numbers", "1", "0"], "addition-of-three takes 3 numbers, got 2"),
    ],
)
def test_invalid_evaluation_is_a_one_line_error(
    alga: Callable[..., Result], arguments: list[str], message: str
) -> None:
    result = alga("evaluate", *arguments)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert result.err.count("\n") == 1


def test_many_problems_are_processed_in_chunks(adder: Solver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "COLUMNS_PER_BATCH", 30)
    problems = evaluation.draw(ADDITION, count=30, max_digits=20)
    assert len(list(evaluation._chunks(problems))) > 1
    assert evaluation.evaluate(adder, problems).as_dict()["correct"] == 30


def test_unknown_family_is_refused() -> None:
    with pytest.raises(AlgaError, match="unknown family 'x'"):
        evaluation.draw(ADDITION, count=1, max_digits=1, families=["x"])
