"""The engine `whole`: a network that reads both numbers in one text and continues it."""

from __future__ import annotations

import json
from random import Random

import numpy as np
import pytest

import alga as package
from alga.base.errors import AlgaError
from alga.network.reader_decoder import Look, Written
from alga.solve.evaluation import draw, evaluate
from alga.solve.solver import Solver
from tests.conftest import Alga


@pytest.fixture(scope="module")
def whole() -> Solver:
    return Solver.load("whole")


def test_network_adds_and_rests_on_its_certificate(whole: Solver) -> None:
    result = whole.solve("65785", "8765")
    assert (result.answer, result.engine, result.certified) == ("74550", "whole", True)
    assert (result.step_count, result.network_calls) == (6, 6)
    assert result.certificates["whole"].strength == "proven"


@pytest.mark.parametrize(
    ("a", "b"),
    [("0", "0"), ("000", "0"), ("9", "1"), ("007", "5"), ("9" * 500, "1"), ("1", "9" * 500), ("5" * 999, "5" * 1000)],
)
def test_sums_at_the_edges_are_right(whole: Solver, a: str, b: str) -> None:
    assert whole.solve(a, b).answer == package.load().add(a, b)


def test_hard_families_are_right(whole: Solver) -> None:
    problems = draw(whole.procedure, count=60, max_digits=300, seed=4)
    assert evaluate(whole, problems).wrong == ()


def test_adder_finds_it_by_the_engine(alga: Alga) -> None:
    shown = alga("add", "65785", "8765", "--engine", "whole", "--json")
    content = json.loads(shown.out)
    assert (content["answer"], content["engine"], content["model"]) == ("74550", "whole", "whole")
    assert package.Calculator(engine="whole").add(65785, 8765, 100) == 74650
    signed = package.Calculator(engine="whole").solve("-5", "-7", operation="add")
    assert (signed.answer, signed.engine) == ("-12", "whole")


def test_trace_shows_what_it_attends_to(alga: Alga) -> None:
    shown = alga("add", "65785", "8765", "--engine", "whole", "--trace")
    assert shown.code == 0, shown.err
    lines = shown.out.splitlines()
    assert "2ª) 65785+8765=0     writes 5, sees 5 5 0 and next 8 6" in lines[4]
    assert "head 1 attends to: own" in lines[2]
    assert lines[-1].split() == ["Final", "answer:", "74550"]
    again = alga("solve", "whole", "65785", "8765", "--trace")
    assert again.out == shown.out


def test_trace_keeps_steps_and_attention(whole: Solver) -> None:
    told = []
    result = whole.trace("99", "1", tell=told.append)
    assert [step.prompt for step in result.kept] == ["9+1=", "99+1=0", "9+=0", "+=1"]
    assert [step.text for step in result.kept] == ["0", "0", "1", "S"]
    assert told == list(result.kept)
    look = result.details[1]
    assert isinstance(look, Look)
    assert look.text == "99+1=0"
    assert all(shares["elsewhere"] < 1e-8 for shares in look.shares())


def test_other_engines_are_refused(whole: Solver) -> None:
    with pytest.raises(AlgaError, match="runs by the engine whole only, not by table"):
        whole.solve("1", "2", engine="table")
    with pytest.raises(AlgaError, match="runs by the engine whole only, not by sequential"):
        whole.trace("1", "2", engine="sequential")
    with pytest.raises(AlgaError, match="goes with the engine sequential or whole, not table"):
        Solver.load("parity").trace("1", engine="table")
    with pytest.raises(AlgaError, match="no network for parity that runs by the engine whole"):
        Solver.load("parity").solve("1", engine="whole")


@pytest.mark.parametrize(
    ("text", "failure"), [("12", "'12' after 2 tokens"), ("1+S", "'1+S' after 3 tokens"), ("S", "'S' after 1 tokens")]
)
def test_continuation_that_is_no_number_is_a_failure(text: str, failure: str) -> None:
    solver = Solver.load("whole")
    solver.run = package.runs.load("whole", read_certificate=False)
    solver.reader.continued = lambda *_: Written(text, np.ones(len(text)))  # type: ignore[method-assign]
    result = solver.solve("1", "2")
    assert result.answer is None
    assert f"{text!r} after {len(text)} tokens" in result.failure
    assert not result.certified


def test_token_that_the_certified_table_contradicts_stops_the_work() -> None:
    solver = Solver.load("whole")
    solver.reader.continued = lambda *_: Written("4S", np.ones(2))  # type: ignore[method-assign]
    with pytest.raises(AlgaError, match=r"wrote '4' for '1\+2=', but its certified table says '3'"):
        solver.solve("1", "2")


def test_token_within_rounding_error_is_told() -> None:
    solver = Solver.load("whole")
    solver.reader.continued = lambda *_: Written("3S", np.array([1.0, 1e-6]))  # type: ignore[method-assign]
    assert solver.solve("1", "2").uncertain == "1+2=3"


def test_changed_weight_is_not_called_certified() -> None:
    solver = Solver.load("whole")
    solver.run.model.head.weight.data[0, 0] += 0.01
    result = solver.solve("65785", "8765")
    assert result.answer == "74550"
    assert not result.certified


def test_hook_is_not_called_certified() -> None:
    solver = Solver.load("whole")
    solver.run.model.layers[0].attention.register_forward_hook(lambda *_: None)
    assert not solver.solve("65", "87").certified


def test_progress_and_cancelling(whole: Solver) -> None:
    from alga.base.cancellation import Cancellation, CancelledError

    told = []
    whole.solve_many([("1" * 9000, "2"), ("1", "2")], watch=lambda *state: told.append(state))
    assert told[0][0] == 4096
    assert told[-1] == (9002 + 3, 9002 + 3)
    cancel = Cancellation()
    cancel.cancel()
    with pytest.raises(CancelledError):
        whole.solve_many([("1", "2")], cancel=cancel)


@pytest.mark.slow
def test_a_thousand_sums_of_up_to_a_thousand_digits(whole: Solver) -> None:
    rng = Random(7)
    problems = draw(whole.procedure, count=1000, max_digits=1000, seed=rng.randint(0, 10**6))
    found = evaluate(whole, problems)
    assert found.wrong == ()
    assert len(found.outcomes) == 1000


@pytest.mark.slow
def test_three_numbers_are_added_at_every_length() -> None:
    three = Solver.load("addition-of-three")
    rng = Random(0)
    problems = [("9" * 50, "1", "9" * 49), ("0", "0", "0"), ("999", "999", "999"), ("5", "44", "333")]
    lengths = [(1, 20), (100, 3), (300, 300), (1000, 1)]
    problems += [tuple(f"{rng.randrange(10 ** rng.choice(pair)):d}" for _ in range(3)) for pair in lengths * 5]
    for problem, result in zip(problems, three.solve_many(problems, engine="whole"), strict=True):
        assert result.answer == str(sum(map(int, problem)))
        assert result.certified
        assert result.engine == "whole"
