"""A damaged copy: certificate and answers are the copy's, and the problem stays unchanged."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from alga.base.errors import AlgaError
from alga.serve import damage
from alga.serve.limits import RefusedError
from alga.serve.registry import ModelRegistry
from alga.serve.schemas import AskedProblem, Verb
from alga.serve.workers import Worker
from alga.solve.calculator import Calculator
from alga.tasks import numbers

MOST = 1000


@pytest.fixture(scope="module")
def worker() -> Worker:
    return Worker(ModelRegistry())


def solved(worker: Worker, name: str, amount: float, problem: AskedProblem) -> dict[str, Any]:
    calculator = worker.solver(name)
    damaged, _ = damage.damage(calculator, damage.default_weight(calculator), amount)
    return damage.solve(worker, damaged, problem, MOST)


@pytest.mark.parametrize(
    ("name", "verb", "operands", "answer"),
    [
        ("addition", "add", ["-5", "-9"], "-14"),
        ("addition", "add", ["-5", "9"], "4"),
        ("addition", "sub", ["-5", "9"], "-14"),
        ("times-a-digit", "mul", ["37", "-48"], "-1776"),
        ("addition", "mul", ["37", "48"], "1776"),
        ("comparison", "divmod", ["1000", "-37"], "-28 -36"),
        ("arithmetic", "sub", ["1000", "1"], "999"),
        ("addition-base-16", "add", ["FF", "1"], "100"),
        ("addition-lookahead", "add", ["65785", "8765"], "74550"),
    ],
)
def test_undamaged_copy_solves_the_original_problem(
    worker: Worker, name: str, verb: Verb, operands: list[str], answer: str
) -> None:
    found = solved(worker, name, 0.0, AskedProblem(verb=verb, operands=operands))
    assert (found["answer"], found["exact"], found["operands"]) == (answer, answer, operands)


def test_damaged_copy_is_used_and_its_wrong_steps_are_reported(worker: Worker) -> None:
    found = solved(worker, "times-a-digit", 2.0, AskedProblem(verb="mul", operands=["37", "48"]))
    assert (found["answer"], found["exact"], found["certified"]) == ("1786", "1776", False)
    problems = found["problems"]
    assert [(problem["expression"], problem["after"]) for problem in problems] == [
        ("37×8", "write 6, carry 30"),
        ("37×4", ""),
        ("30+148", ""),
    ]
    steps = [(step["prompt"], step["text"], step["expected"]) for problem in problems for step in problem["steps"]]
    assert [step for step in steps if step[1] != step[2]] == [("56C38", "30S", "29S")]
    assert len(steps) == found["steps"]


@pytest.mark.parametrize(("amount", "certified"), [(0.25, True), (0.5, False)])
def test_answer_and_certificate_of_a_copy_agree(worker: Worker, amount: float, certified: bool) -> None:
    calculator = worker.solver("addition")
    problem = AskedProblem(verb="add", operands=["65785", "8765"])
    report = damage.report(worker, calculator, damage.default_weight(calculator), amount, problem, max_steps=MOST)
    assert report["certificate"]["certified"] is certified
    assert report["solved"]["certified"] is certified
    assert (report["example"] is None) is certified


def test_wrong_step_is_the_networks_failure(worker: Worker) -> None:
    """An intermediate difference with a sign inside is not a number; the problem itself was valid."""
    found = solved(worker, "subtraction", -8.0, AskedProblem(verb="divmod", operands=["1000", "37"]))
    assert found["failure"].startswith(
        "a wrong step led to an invalid problem: a number has only the digits 0-9, got '-'"
    )
    assert (found["answer"], found["exact"], found["certified"]) == (None, "27 1", False)
    assert any(step["text"] != step["expected"] for problem in found["problems"] for step in problem["steps"])


def test_invalid_problem_is_explained(worker: Worker) -> None:
    for verb, operands, why in (
        ("add", ["1.5", "2"], "got '.' at position 2"),
        ("divmod", ["1", "0"], "divided by zero"),
        ("mul", ["1", "2", "3"], "takes two numbers, got 3"),
        ("cmp", ["1", "2"], "does not cmp"),
    ):
        with pytest.raises(AlgaError, match=why):
            solved(worker, "addition", 1.0, AskedProblem.model_validate({"verb": verb, "operands": operands}))
    with pytest.raises(RefusedError, match="more than 1,000 steps"):
        solved(worker, "addition", 0.0, AskedProblem(verb="mul", operands=["7" * 40, "9" * 40]))


@pytest.mark.parametrize("base", [2, 8, 10, 16])
def test_exact_arithmetic_agrees_with_certified_networks(base: int) -> None:
    """Two computations that share no code: Python's integers, and steps of the networks."""
    rng, calculator = Random(base), Calculator(base)
    for _ in range(20):
        a, b = (f"{rng.choice(('', '-'))}{_digits(rng, base)}" for _ in range(2))
        for verb in ("add", "sub", "mul", "divmod", "cmp"):
            assert numbers.signed_answer(verb, (a, b), base) == calculator.solve(a, b, operation=verb).answer, (
                verb,
                a,
                b,
            )


def _digits(rng: Random, base: int) -> str:
    return "".join(rng.choices(numbers.digits_of(base)[1:], k=rng.randint(1, 6)))
