"""The lookahead engine: all carries at once, and its behaviour with a wrong network."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alga import tasks
from alga.base.errors import AlgaError
from alga.network.step import Decode, Step
from alga.solve import evaluation
from alga.solve.engines import lookahead
from alga.solve.solver import Solver
from alga.tasks import Lookahead
from tests.conftest import Alga

TASK = tasks.find("addition-lookahead")
assert isinstance(TASK, Lookahead)
Make = Callable[..., Decode]


@settings(max_examples=200, deadline=None)
@given(*[st.text("0123456789", min_size=1, max_size=70)] * 2)
def test_three_maps_give_the_sum(a: str, b: str) -> None:
    def decode(prompts: list[str]) -> list[Step]:
        return [Step(p, f"{TASK.domain[p].output}S", TASK.domain[p].output, 9.0) for p in prompts]

    (solution,) = lookahead.solve(TASK, decode, [(a, b)])  # type: ignore[arg-type]
    assert solution.answer == str(int(a) + int(b))


def test_shipped_network_solves_hard_sums(adder: Solver) -> None:
    problems = evaluation.draw(adder.procedure, count=150, max_digits=120)
    answers = adder.solve_many([problem.operands for problem in problems], engine="lookahead")
    assert [a.answer for a in answers] == [adder.procedure.oracle(*problem.operands) for problem in problems]
    assert {(a.engine, *a.networks, a.certified) for a in answers} == {("lookahead", "addition-lookahead", True)}


@pytest.mark.parametrize("digits", [1, 2, 3, 31, 32, 33, 1000, 100_000])
def test_rounds_grow_logarithmically_and_use_the_network(digits: int, adder: Solver) -> None:
    rng = Random(digits)
    a, b = ("".join(rng.choices("123456789", k=digits)) for _ in range(2))
    result = adder.solve(a, b, engine="lookahead")
    assert result.answer == adder.procedure.oracle(a, b)
    assert result.rounds == math.ceil(math.log2(digits + 1)) + 2 <= 2 * math.log2(digits) + 4
    assert result.network_calls >= 2 * result.rounds
    compositions = sum(max(0, digits + 1 - 2**i) for i in range(result.rounds - 2))
    assert result.step_count == digits + compositions + digits + 1
    assert result.generated_tokens == 2 * result.step_count  # a character and S, each time


def test_equal_prompts_are_computed_once_per_round(faulty: Make) -> None:
    exact, asked = faulty(TASK), []

    def decode(prompts: list[str]) -> list[Step]:
        asked.append(list(prompts))
        return exact(prompts)

    lookahead.solve(TASK, decode, [("5555", "4444")])  # type: ignore[arg-type]
    assert asked == [["54"], ["pk", "pp"], ["pk", "pp"], ["pk"], ["k", "k54"]]


def test_wrong_status_is_composed_uncorrected(faulty: Make) -> None:
    (solution,) = lookahead.solve(TASK, faulty(TASK, {"55": "kS"}), [("15", "15")])  # type: ignore[arg-type]
    assert solution.answer == "20"  # the carry is lost, the digit is right


@pytest.mark.parametrize("faults", [{"55": "kk"}, {"gk": "S"}, {"k55": "\nS"}])
def test_failed_step_ends_the_problem(faults: dict[str, str], faulty: Make) -> None:
    (solution,) = lookahead.solve(TASK, faulty(TASK, faults), [("15", "15")])  # type: ignore[arg-type]
    (prompt,) = faults
    assert solution.answer is None
    assert f"it wrote {faults[prompt]!r} for {prompt}" in solution.failure


def test_digits_of_several_characters_are_written_unchanged(faulty: Make) -> None:
    (solution,) = lookahead.solve(TASK, faulty(TASK, {"k12": "00S"}), [("11", "22")])  # type: ignore[arg-type]
    assert solution.answer == "0"  # 0, 00 and 00, without leading zeros


def test_own_network_is_refused_for_lookahead(alga: Alga, tmp_path: Path) -> None:
    Solver.load().save(tmp_path / "mine")
    for arguments in (["add", "1", "2", "--model"], ["evaluate"]):
        refused = alga(*arguments, tmp_path / "mine", "--engine", "lookahead")
        assert refused.code == 2
        assert "does not run by the engine lookahead; the model addition-lookahead does" in refused.err
    refused = alga("evaluate", "addition", "--engine", "lookahead")
    assert (refused.code, "evaluate addition-lookahead instead" in refused.err) == (2, True)


def test_uncertain_prompt_is_reported(faulty: Make) -> None:
    (solution,) = lookahead.solve(TASK, faulty(TASK, margin=1e-5), [("1", "2")])  # type: ignore[arg-type]
    assert solution.uncertain == "12"


def test_lookahead_network_runs_only_by_lookahead(alga: Alga) -> None:
    assert alga("add", "65785", "8765", "--model", "addition-lookahead").out == "74550\n"
    assert alga("evaluate", "addition-lookahead", "--count", "20", "--max-digits", "20").code == 0
    refused = alga("add", "1", "2", "--model", "addition-lookahead", "--engine", "table")
    assert refused.code == 2
    assert "runs by the engine lookahead only, not by table" in refused.err


def test_task_without_a_lookahead_network_says_so(adder: Solver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alga.runs.shipped", lambda: ("addition",))
    with pytest.raises(AlgaError, match="there is no network for addition that runs by the engine lookahead"):
        Solver.load().solve("1", "2", engine="lookahead")
