"""Claims of an answer refer to that answer: its network at that time, its task and its table."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode

from alga import tasks
from alga.base.errors import AlgaError
from alga.serve import content
from alga.solve.calculator import Calculator
from alga.solve.solver import Solver
from alga.trust.table import Table

Put = Callable[[bool], None]


@pytest.fixture
def swapping() -> Iterator[tuple[Solver, Put]]:
    """An adder, and a function that swaps 3 and 4 in its embedding, or restores them."""
    calculator = Solver.load()
    weight, ids = calculator.run.model.token_embedding.weight, calculator.run.config.tokens.ids
    good = weight.detach().clone()
    bad = good.clone()
    bad[[ids["3"], ids["4"]]] = bad[[ids["4"], ids["3"]]]

    def put(right: bool) -> None:
        with torch.no_grad():
            weight.copy_(good if right else bad)

    return calculator, put


def test_result_reports_the_state_when_it_was_computed(swapping: tuple[Solver, Put]) -> None:
    calculator, put = swapping
    put(False)
    wrong = Calculator(models=[calculator]).solve("13", "1", operation="add")
    put(True)
    right = Calculator(models=[calculator]).solve("13", "1", operation="add")
    put(False)
    assert (wrong.answer, wrong.certified, wrong.certificates) == ("15", False, {})
    assert (right.answer, right.certified, list(right.certificates)) == ("14", True, ["addition"])
    assert wrong.as_dict()["certified"] is False


def test_networks_with_the_same_name_do_not_share_certificates(swapping: tuple[Solver, Put]) -> None:
    calculator, put = swapping
    put(False)
    subtraction = Solver.load("subtraction")
    named = Solver(dataclasses.replace(calculator.run, name=subtraction.run.name))
    result = Calculator(models=[subtraction, named]).solve("-3", "1", "-4", operation="add")
    assert not result.certified


@pytest.mark.parametrize("engine", ["sequential", "table"])
def test_weights_changed_and_restored_during_solve_are_not_certified(engine: str, swapping: tuple[Solver, Put]) -> None:
    calculator, put = swapping
    put(False)
    (answer,) = calculator.solve_many([("3", "1")], engine=engine, watch=lambda *_: put(True))
    assert (answer.answer, answer.certified) == ("5", False)
    assert calculator.solve("3", "1", engine=engine).certified


def test_changing_weights_during_a_trace_ends_it(swapping: tuple[Solver, Put]) -> None:
    calculator, put = swapping
    with pytest.raises(AlgaError, match="but its certified table says"):
        calculator.trace("1234", "1234", tell=lambda _: put(False))


def test_nested_solve_does_not_clear_an_alteration() -> None:
    calculator = Solver.load()
    handle = calculator.run.model.final_norm.register_forward_hook(lambda _module, _inputs, out: out * 0)

    def within(*_: int) -> None:
        handle.remove()
        assert calculator.solve("1", "1", engine="sequential").certified

    (answer,) = calculator.solve_many([("3", "1")], engine="sequential", watch=within)
    assert not answer.certified


@pytest.mark.slow
def test_weights_changed_during_certification_are_not_certified(swapping: tuple[Solver, Put]) -> None:
    calculator, put = swapping
    with pytest.raises(AlgaError, match="changed while it was checked"):
        calculator.run.judged(lambda done, total: put(done < total))
    put(True)
    run = calculator.run.judged()
    put(False)
    with pytest.raises(AlgaError, match="changed while it was checked"):
        run.proven()


def test_torch_function_mode_is_an_alteration() -> None:
    class Negated(TorchFunctionMode):
        def __torch_function__(self, function: Any, kinds: Any, arguments: Any = (), named: Any = None) -> Any:
            out = function(*arguments, **(named or {}))
            return -out if function is torch.nn.functional.linear else out

    calculator = Solver.load()
    with Negated():
        assert calculator.solve("2", "2", engine="sequential").certified  # torch is not used yet
    _ = calculator.run.model
    with Negated():
        assert not calculator.solve("2", "2", engine="sequential").certified
        assert calculator.certify().altered == "torch runs in the mode Negated"
    with torch.device("cpu"):
        assert calculator.certified
    assert calculator.certified


def test_task_the_network_was_not_trained_for_is_refused() -> None:
    with pytest.raises(AlgaError, match="the model addition was trained for addition, not for subtraction"):
        Solver(Solver.load().run, tasks.find("subtraction"))
    assert set(Solver.load("arithmetic").parts()) == {"add", "sub", "times"}


@pytest.mark.parametrize("how", ["another table", "no table", "another task", "another certificate"])
def test_certificate_table_and_task_must_match(how: str) -> None:
    run = Solver.load().run
    assert run.table is not None
    assert run.certificate is not None
    changes: dict[str, dict[str, Any]] = {
        "another table": {"table": Table("addition", {**run.table.outputs, "35": "9"})},
        "no table": {"table": None},
        "another task": {"certificate": dataclasses.replace(run.certificate, task="subtraction")},
        "another certificate": {"certificate": Solver.load("subtraction").run.certificate},
    }
    changed = dataclasses.replace(run, **changes[how])
    assert not changed.certified
    answer = Solver(changed).solve("3", "5")
    assert (answer.answer, answer.certified) == ("8", False)


def test_table_is_immutable_and_can_be_copied() -> None:
    table = Solver.load().run.table
    assert table is not None
    with pytest.raises(TypeError):
        table.outputs["35"] = "9"  # type: ignore[index]
    for copied in (copy.deepcopy(table), pickle.loads(pickle.dumps(table))):
        assert copied == table
        assert dict(copied.outputs) == dict(table.outputs)
    given = {"1": "1"}
    mine = Table("parity", given)
    given["1"] = "0"
    assert mine.outputs["1"] == "1"


def test_shown_steps_and_domain_are_checked_against_the_table(forged: Path) -> None:
    calculator = Solver.load(forged)
    wrong = next(prompt for prompt in calculator.trained.domain if "5" in calculator.trained.domain[prompt].output)
    for show in (lambda: content.step(calculator, wrong), lambda: content.domain(calculator)):
        with pytest.raises(AlgaError, match="but its certified table says"):
            show()
    assert content.step(Solver.load(), "15C77")["text"] == "15S"


def test_arrays_of_a_certified_network_are_read_only() -> None:
    calculator = Solver.load()
    with pytest.raises(ValueError, match="read-only"):
        calculator.run.weights.arrays["head.weight"][0, 0] += 1
    assert calculator.certified
    assert calculator.solve("1", "2", engine="sequential").answer == "3"


# --- exports ----------------------------------------------------------------------------------------------------------


def test_exported_table_marks_outputs_that_end_no_problem() -> None:
    from alga import export

    ending = json.loads(export.table(Solver.load("subtraction")))["ending"]
    assert {output: text for output, text in ending.items() if output in ("-8", "2")} == {"-8": None, "2": "2"}
    assert None not in json.loads(export.table(Solver.load()))["ending"].values()
