"""The sequential engine and its traces."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alga import tasks
from alga.base.errors import AlgaError
from alga.network.step import Decode, Step
from alga.solve.engines import sequential
from alga.solve.solver import Solver
from tests.solve.paper_traces import FIRST, SECOND

ADDITION = tasks.find("addition")


@pytest.mark.parametrize(("a", "b", "printed"), [("65785", "8765", FIRST), ("9582", "9261", SECOND)])
def test_papers_traces_are_reproduced_but_for_one_odd_ordinal(adder: Solver, a: str, b: str, printed: str) -> None:
    assert str(adder.trace(a, b)) == printed


def test_batched_problems_match_single_ones(adder: Solver) -> None:
    problems = [("7", "9999"), ("0", "0"), ("123456789", "987654321"), ("5", "5"), ("00099", "1")]
    together = adder.solve_many(problems, engine="sequential")
    assert [result.answer for result in together] == [str(int(a) + int(b)) for a, b in problems]
    assert [result.as_dict()["steps"] for result in together] == [4, 1, 9, 1, 2]
    alone = [adder.solve(*problem, engine="sequential") for problem in problems]
    for apart, beside in zip(alone, together, strict=True):
        assert apart.told(network_calls=beside.network_calls) == beside
    assert together[0].network_calls < sum(r.network_calls for r in alone)


def test_equal_prompts_are_computed_once_per_round(faulty: Callable[..., Decode]) -> None:
    exact, asked = faulty(ADDITION), []

    def decode(prompts: Sequence[str]) -> list[Step]:
        asked.append(list(prompts))
        return exact(prompts)

    sequential.solve(ADDITION, decode, [("111", "111"), ("11", "11"), ("111", "111")])
    assert asked == [["11"], ["2C11"], ["2C11"]]


def test_output_that_never_stops_ends_the_problem(faulty: Callable[..., Decode]) -> None:
    decode = faulty(ADDITION, {"10C86": "155"})
    failed, fine = sequential.solve(ADDITION, decode, [("65785", "8765"), ("1", "2")], keep_steps=True)
    assert failed.answer is None
    assert failed.step_count == 2
    assert [step.text for step in failed.steps] == ["10S", "155"]
    assert failed.failure == "the network failed at step 2: it wrote '155' for 10C86"
    assert str(failed.told(procedure=ADDITION)).endswith(failed.failure)
    assert fine.answer == "3"


def test_wrong_output_is_chained_uncorrected(faulty: Callable[..., Decode]) -> None:
    """The engine chains the network's outputs and corrects nothing."""
    (solution,) = sequential.solve(ADDITION, faulty(ADDITION, {"55": "11S"}), [("15", "15")])
    assert solution.answer == "31"


def test_generated_tokens_and_steps_are_counted(adder: Solver) -> None:
    counted = adder.solve("65785", "8765", engine="sequential").as_dict()
    assert (counted["steps"], counted["rounds"], counted["generated_tokens"]) == (5, 5, 14)


def test_tasks_from_the_left_with_a_setting_run(faulty: Callable[..., Decode]) -> None:
    division = tasks.find("division-by-a-digit")
    (solution,) = sequential.solve(division, faulty(division), [("1234567", "9")])
    assert solution.answer == "137174 r1"


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(*[st.text("0123456789", min_size=1, max_size=40)] * 2), min_size=1, max_size=20))
def test_shipped_adder_adds(problems: list[tuple[str, str]]) -> None:
    adder = Solver.load()
    assert [r.answer for r in adder.solve_many(problems, engine="sequential")] == [
        str(int(a) + int(b)) for a, b in problems
    ]


def test_progress_reaches_the_end(faulty: Callable[..., Decode]) -> None:
    told: list[tuple[int, int]] = []
    problems = [("111", "1"), ("1", "1")]
    sequential.solve(ADDITION, faulty(ADDITION), problems, watch=lambda done, total: told.append((done, total)))
    assert told == [(2, 4), (3, 4), (4, 4)]


def test_unknown_engine_is_refused() -> None:
    with pytest.raises(AlgaError, match="unknown engine 'abacus'; there are table, sequential, lookahead"):
        Solver.load().engine_for("abacus")
