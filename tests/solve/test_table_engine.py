"""The table engine: the network's answers from its table."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from alga import tasks
from alga.base.errors import AlgaError
from alga.solve import evaluation
from alga.solve.calculator import Calculator
from alga.solve.engines import sequential
from alga.solve.engines import table as engine
from alga.solve.engines.machine import Machine, machine_of
from alga.solve.solver import Solver
from alga.trust.table import Table, extract
from tests.solve.machines import ADDITION, FAST, PARITY, Make, by_loop, machine, unload


@pytest.mark.parametrize("name", FAST)
def test_loop_matches_replaying(name: str, faulty: Make) -> None:
    made = machine(name, faulty)
    assert made.words is not None
    problems = evaluation.draw(made.procedure, count=150, max_digits=90)
    compared = [problem.operands for problem in problems if problem.digits > 2]
    assert len(compared) > 100
    for operands in compared:
        assert by_loop(made, operands) == engine.replay(made, operands).answer


@pytest.mark.parametrize("name", FAST)
def test_replaying_matches_the_network(name: str, faulty: Make) -> None:
    task, faults = FAST[name]
    made, decode = machine(name, faulty), faulty(task, faults)
    problems = [problem.operands for problem in evaluation.draw(task, count=60, max_digits=30)]
    for solution, operands in zip(sequential.solve(task, decode, problems), problems, strict=True):
        assert engine.replay(made, operands).answer == solution.answer


def test_exact_addition_has_two_classes_carry_or_none(faulty: Make) -> None:
    classes = machine("addition", faulty).classes
    assert classes is not None
    assert {classes.of[str(i)] for i in range(10)} == {0}
    assert {classes.of[str(i)] for i in range(10, 20)} == {1}
    assert classes.moves["45"] == (("9", 0), ("0", 1))


@pytest.mark.parametrize("name", ["times-a-digit", "division-by-a-digit"])
def test_problems_the_loop_cannot_run_are_replayed(name: str, faulty: Make) -> None:
    task = tasks.find(name)
    table = extract(task.domain, faulty(task))
    assert machine_of(task, table).words is None
    problems = [problem.operands for problem in evaluation.draw(task, count=50, max_digits=200)]
    answers = [solution.answer for solution in engine.solve(task, table, problems)]
    assert answers == [task.oracle(*operands) for operands in problems]


@pytest.mark.parametrize("faults", [{"10C86": "155"}, {"55": "1CS"}, {"15C58": "S"}])
def test_failing_step_is_reported_like_the_sequential_engine(faults: dict[str, str], faulty: Make) -> None:
    decode = faulty(ADDITION, faults)
    table = extract(ADDITION.domain, decode)
    assert machine_of(ADDITION, table).words is None
    problem = ("65785", "8765")
    (ours,) = engine.solve(ADDITION, table, [problem])
    (theirs,) = sequential.solve(ADDITION, decode, [problem])
    assert (ours.failure, ours.step_count, ours.answer) == (theirs.failure, theirs.step_count, None)
    assert ours.failure


def test_prompt_within_rounding_error_is_reported(faulty: Make) -> None:
    exact, unsure = faulty(ADDITION), faulty(ADDITION, margin=1e-5)
    table = extract(ADDITION.domain, lambda prompts: [(unsure if p == "10C86" else exact)([p])[0] for p in prompts])
    assert machine_of(ADDITION, table).words is None
    met, not_met = engine.solve(ADDITION, table, [("65785", "8765"), ("1", "2")])
    assert (met.answer, met.uncertain) == ("74550", "10C86")
    assert not_met.uncertain is None
    (step_by_step,) = sequential.solve(ADDITION, unsure, [("65785", "8765")])
    assert step_by_step.uncertain == "55"


@settings(max_examples=200, deadline=None)
@given(*[st.integers(0, 400).flatmap(lambda n: st.text("0123456789", min_size=n + 1, max_size=n + 1))] * 2)
def test_shipped_table_adds(a: str, b: str) -> None:
    assert Solver.load().solve(a, b, engine="table").answer == str(int(a) + int(b))


@pytest.mark.parametrize("bad", ["12x4", "12 4", "-124", "１２", "", "1²", "12\x004"])
def test_wrong_character_is_refused_the_same_at_any_length(bad: str, adder: Solver) -> None:
    with pytest.raises(AlgaError) as short:
        adder.solve(bad, "1")
    with pytest.raises(AlgaError) as long:
        adder.solve(bad and bad + "7" * 500, "1" * 500)
    assert str(long.value) == str(short.value)


def test_several_numbers_of_uneven_lengths_are_added(adder: Solver) -> None:
    numbers = ["9" * 300, "1", "0" * 80 + "5" * 70, "123456789" * 20]
    assert Calculator(models=[adder], engine="table").add(*numbers) == str(sum(map(int, numbers)))


def test_loop_is_compiled_after_enough_replayed_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    task = tasks.find("addition-base-16")
    made = Machine(task, Solver.load("addition-base-16").table)
    unload(engine.LOOP, monkeypatch)
    assert engine._at_once(made, ("7" * 1000, "5" * 1000)) is None
    engine.replay(made, ("7" * 1000, "5" * 1000))
    made.replayed = engine.COMPILE_FROM
    assert engine._at_once(made, ("7" * 1000, "5" * 1000)) is not None


@pytest.mark.parametrize("seed", range(4))
def test_engines_agree_on_imperfect_networks_with_clear_margins(seed: int) -> None:
    """The adder with noise on its weights: wrong on some prompts, differently for every seed."""
    calculator = Solver.load()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in calculator.run.model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * parameter.std() * (0.25 + 0.1 * seed))
    certificate = calculator.certify()
    assert not certificate.certified
    problems = [p.operands for p in evaluation.draw(calculator.procedure, count=150, max_digits=80, seed=seed)]
    fast = calculator.solve_many(problems, engine="table")
    slow = calculator.solve_many(problems, engine="sequential")
    compared = 0
    for ours, theirs in zip(fast, slow, strict=True):
        if not (ours.uncertain or theirs.uncertain):
            assert (ours.answer, ours.failure) == (theirs.answer, theirs.failure)
            compared += 1
    assert compared > 100
    assert not fast[0].certified


def test_column_missing_from_the_table_raises_key_error() -> None:
    with pytest.raises(KeyError):
        engine.solve(PARITY, Table("parity", {"0": "0"}), [("1",)])
