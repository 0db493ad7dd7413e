"""Signed arithmetic composed of network steps, compared with Python's."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from alga import runs
from alga.base.cancellation import Cancellation, CancelledError
from alga.base.errors import AlgaError
from alga.solve.calculator import Calculator
from alga.solve.solver import Solver
from alga.tasks.numbers import text_of
from tests.conftest import Alga

BASES = (2, 8, 10, 16)
VERBS = ("add", "sub", "mul", "divmod", "cmp")
SHARED = {base: Calculator(base) for base in BASES}


def written(value: int, base: int) -> str:
    return f"-{text_of(-value, base)}" if value < 0 else text_of(value, base)


def expected(verb: str, a: int, b: int, base: int) -> str:
    match verb:
        case "divmod":
            return " ".join(written(part, base) for part in divmod(a, b))
        case "cmp":
            return "=" if a == b else "<" if a < b else ">"
        case _:
            return written({"add": a + b, "sub": a - b, "mul": a * b}[verb], base)


integers = st.one_of(
    st.integers(-(10**40), 10**40),
    st.integers(-20, 20),
    st.builds(lambda n, k, s: s * (10**n + k), st.integers(0, 40), st.integers(-1, 1), st.sampled_from([-1, 1])),
    st.builds(lambda n, k: 16**n - k, st.integers(1, 30), st.integers(-1, 1)),
)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("verb", VERBS)
@settings(max_examples=60, deadline=None)
@given(a=integers, b=integers)
def test_every_operation_matches_python_in_every_base_and_sign(verb: str, base: int, a: int, b: int) -> None:
    if verb == "divmod" and b == 0:
        b = 1
    result = SHARED[base].solve(written(a, base), written(b, base), operation=verb)
    assert result.answer == expected(verb, a, b, base)
    assert result.certified


@settings(max_examples=60, deadline=None)
@given(st.lists(integers, min_size=2, max_size=7))
def test_more_than_two_numbers_are_added(numbers: list[int]) -> None:
    assert SHARED[10].add(*map(str, numbers)) == str(sum(numbers))
    assert SHARED[10].add(*numbers) == sum(numbers)


def test_three_numbers_take_one_step_per_column() -> None:
    result = SHARED[10].solve("999", "999", "999", operation="add")
    assert (result.answer, result.step_count, list(result.networks)) == ("2997", 3, ["addition-of-three"])


@pytest.mark.parametrize("engine", ["table", "sequential"])
def test_engines_agree_on_composed_operations(engine: str) -> None:
    rng, calculator = Random(0), Calculator(engine=engine)
    for _ in range(3):
        a, b = rng.randrange(10**12), rng.randrange(1, 10**6)
        for verb in VERBS:
            assert calculator.solve(a, -b, operation=verb).answer == expected(verb, a, -b, 10)


def test_answer_names_its_certificates(alga: Alga) -> None:
    content = json.loads(alga("mul", "-37", "48", "--json").out)
    assert (content["answer"], content["task"], content["certified"]) == ("-1776", "mul", True)
    named = {entry["model"]: entry for entry in content["certificates"]}
    assert set(named) == {"times-a-digit", "addition"}
    assert named["addition"]["sha256"] == Solver.load("addition").run.sha256
    assert named["addition"]["strength"] == "proven"


def test_uncertified_network_is_not_named_with_anothers_certificate() -> None:
    """The product uses two networks; the uncertified first must not be named with the other's hash."""
    spoiled = Solver.load("times-a-digit")
    with torch.no_grad():
        spoiled.run.model.token_embedding.weight[5, 0] += 1e-3
    result = Calculator(models=[spoiled]).trace("37", "48", operation="mul")
    assert not result.certified
    assert list(result.networks) == ["times-a-digit", "addition"]
    assert [entry["model"] for entry in result.as_dict()["certificates"]] == ["addition"]
    assert "certificates of: addition (proven)" in str(result)


def test_trace_shows_the_failed_step() -> None:
    mute = Solver.load()
    with torch.no_grad():
        mute.run.model.head.weight[1] *= -4  # the row of the stop token
    result = Calculator(models=[mute]).trace("12", "34", operation="add")
    assert result.answer is None
    assert len(result.steps) == 1
    assert "INPUT: 24" in str(result)
    assert str(result).endswith(result.failure)


@pytest.mark.parametrize(
    ("verb", "a", "b"), [("mul", "1234", "567"), ("divmod", "123456", "789"), ("sub", "9" * 600, "1" * 600)]
)
@pytest.mark.parametrize("after", [1, 4])
def test_cancelled_operation_ends_at_its_next_step(verb: str, a: str, b: str, after: int) -> None:
    class Once(Cancellation):
        checks = 0

        def check(self) -> None:
            self.checks += 1
            if self.checks == after:
                self.cancel()
            super().check()

    token, calculator = Once(), Calculator(engine="sequential")
    with pytest.raises(CancelledError, match="the work was cancelled"):
        calculator.solve(a, b, operation=verb, cancel=token)
    assert token.checks == after
    assert calculator.solve(a, b, operation=verb, cancel=Cancellation()).certified


def test_three_at_a_time_takes_three_numbers() -> None:
    with pytest.raises(AlgaError, match="addition-of-three takes 3 numbers, got 4"):
        Solver.load("addition-of-three").solve("1", "2", "3", "4")


def test_product_is_traced_as_written_by_hand(alga: Alga) -> None:
    lines = alga("mul", "37", "48", "--trace").out.splitlines()
    assert lines[0] == "37 × 48, digit by digit"
    assert "  37×8 = 296" in lines
    assert "      78 → 56  56C38 → 29" in lines
    assert "  write 6, carry 29" in lines
    assert "  29+148 = 177" in lines
    assert lines[-2] == "Answer: 1776"
    assert lines[-1] == "It rests on the certificates of: times-a-digit (proven), addition (proven)"


def test_one_step_trace_shows_the_sign(alga: Alga) -> None:
    assert "Answer: -8" in alga("add", "-5", "-3", "--trace").out
    assert "Answer: 333 1" in alga("divmod", "1000", "3", "--trace").out
    assert "Final answer: 8" in alga("add", "5", "3", "--trace").out
    assert "  3 < 5" in alga("sub", "3", "5", "--trace").out.splitlines()


def test_quotient_is_traced_digit_by_digit(alga: Alga) -> None:
    out = alga("divmod", "1000", "37", "--trace").out
    assert "the quotient's next digit is 2; 26 is left" in out
    assert out.count("the quotient's next digit is") == 3
    assert "Answer: 27 1" in out


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["add", "-5", "3"], "-2"),
        (["add", "5", "-3"], "2"),
        (["sub", "3", "5"], "-2"),
        (["sub", "-3", "-3"], "0"),
        (["mul", "-0", "5"], "0"),
        (["divmod", "-7", "2"], "-4 1"),
        (["divmod", "7", "-2"], "-4 -1"),
        (["divmod", "6", "-2"], "-3 0"),
        (["divmod", "5", "1000000"], "0 5"),
        (["divmod", "-5", "1000000"], "-1 999995"),
        (["cmp", "-5", "3"], "<"),
        (["cmp", "007", "7"], "="),
        (["cmp", "-10", "-9"], "<"),
        (["cmp", "-0", "0"], "="),
        (["add", "FF", "1", "--base", "16"], "100"),
        (["add", "-ff", "1", "--base", "16"], "-fe"),
        (["mul", "101", "-11", "--base", "2"], "-1111"),
        (["divmod", "777", "12", "--base", "8"], "63 1"),
    ],
)
def test_signs_and_other_bases_are_supported(arguments: list[str], printed: str, alga: Alga) -> None:
    result = alga(*arguments)
    assert (result.out, result.err, result.code) == (f"{printed}\n", "", 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["divmod", "5", "0"], "a number cannot be divided by zero"),
        (["divmod", "5", "-000"], "a number cannot be divided by zero"),
        (["add", "12", "2", "--base", "2"], "a number has only the digits 0 and 1, got '2' at position 2"),
        (["mul", "-19", "1", "--base", "8"], "a number has only the digits 0-7, got '9' at position 3"),
        (["add", "1", "g", "--base", "16"], "a number has only the digits 0-9 and a-f, got 'g' at position 1"),
        (["add", "1", "1", "--base", "1"], "base must be 2 to 36, got 1"),
        (["add", "1", "1", "--base", "37"], "base must be 2 to 36, got 37"),
        (["add", "1", "1", "--base", "7"], "no network for addition-base-7 ships; train one with alga train"),
        (["mul", "1", "2", "3"], "expected two numbers, got 3"),
        (["sub", "1"], "expected two numbers, got 1"),
        (["add", "-", "-"], "standard input (-) can be read once only"),
        (["add", "--5", "3"], "no such option: --5"),
        (["sub", "1", "2", "--model", "comparison-base-16"], "is for base 16, not 10"),
        (["mul", "1", "2", "--model", "subtraction"], "the model subtraction does not mul"),
        (["add", "1", "2", "--model", "parity"], "the model parity does no arithmetic"),
        (
            ["mul", "1", "2", "--engine", "lookahead"],
            "there is no network for times-a-digit that runs by the engine lookahead",
        ),
        (["solve", "parity", "12"], "a number has only the digits 0 and 1"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], message: str, alga: Alga) -> None:
    result = alga(*arguments)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert result.err.count("\n") == 1


def test_every_verb_takes_pairs(alga: Alga, tmp_path: Path) -> None:
    (tmp_path / "pairs").write_text("12 -5\n-12 5\n  7\t3\n")
    found = {verb: alga(verb, "--pairs", tmp_path / "pairs").out.splitlines() for verb in VERBS}
    assert found == {
        "add": ["7", "-7", "10"],
        "sub": ["17", "-17", "4"],
        "mul": ["-60", "-60", "21"],
        "divmod": ["-3 -3", "-3 3", "2 1"],
        "cmp": [">", "<", ">"],
    }
    (tmp_path / "pairs").write_text("12-5\n-12--5\n")
    assert alga("sub", "--pairs", tmp_path / "pairs").out.splitlines() == ["7", "-7"]
    (tmp_path / "pairs").write_text("12*5\n3 * -4\n")
    assert alga("mul", "--pairs", tmp_path / "pairs").out.splitlines() == ["60", "-12"]


def test_one_network_serves_three_operations(alga: Alga) -> None:
    for arguments, printed in ((["add", "99", "1"], "100"), (["sub", "100", "1"], "99"), (["mul", "37", "48"], "1776")):
        result = json.loads(alga(*arguments, "--model", "arithmetic", "--json").out)
        assert (result["answer"], result["certified"]) == (printed, True)
        assert "arithmetic" in result["model"]
    assert "INPUT: 10C+11" in alga("add", "15", "15", "--model", "arithmetic", "--trace").out
    assert alga("solve", "arithmetic", "×", "99", "7").out == "693\n"


@pytest.mark.parametrize("name", runs.shipped())
def test_every_shipped_network_is_certified_and_solves_small_problems(name: str) -> None:
    calculator = Solver.load(name)
    certificate = calculator.run.certificate
    assert calculator.certified
    assert certificate is not None
    assert certificate.least_margin is not None
    stated = {"smallest": 2, "smallest-26": 0.9, "smallest-whole": 0.8}  # small ones state their own
    assert certificate.least_margin >= stated.get(name, 5)
    assert certificate.prompts == len(calculator.trained.domain)
    rng = Random(0)
    for engine in ["table", "sequential"] if calculator.own_engine == "sequential" else [calculator.own_engine]:
        task = calculator.procedure
        problems = [task.families()["uniform"](rng, rng.randint(1, 30)) for _ in range(10)]
        answers = [answer.answer for answer in calculator.solve_many(problems, engine=engine)]
        assert answers == [task.oracle(*problem) for problem in problems]


def test_tasks_are_listed(alga: Alga) -> None:
    listed = alga("tasks").out
    assert all(name in listed for name in runs.shipped())
    assert "addition-base-7" in listed
    rows = json.loads(alga("tasks", "--json").out)["tasks"]
    assert "one step ahead: g61 = 8" in [row["example"] for row in rows]
    assert {row["name"] for row in rows} == set(runs.shipped())
    assert alga("tasks", "--names").out.split() == list(runs.shipped())
