"""What an answer claims is about that answer: the network that gave it, when it gave it, for its own task and table."""

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
from alga.runs import Run
from alga.serve import content
from alga.solve.calculator import Calculator
from alga.solve.solver import Solver
from alga.trust.table import Table
from tests.runs.test_forged import forged as forged  # noqa: PLC0414 - a fixture

Put = Callable[[bool], None]


@pytest.fixture
def swapping() -> Iterator[tuple[Solver, Put]]:
    """An adder, and a function that takes 3 and 4 for each other in its embedding, or puts them back."""
    calculator = Solver.load()
    weight, ids = calculator.run.model.token_embedding.weight, calculator.run.config.tokens.ids
    good = weight.detach().clone()
    bad = good.clone()
    bad[[ids["3"], ids["4"]]] = bad[[ids["4"], ids["3"]]]

    def put(right: bool) -> None:
        with torch.no_grad():
            weight.copy_(good if right else bad)

    return calculator, put


def test_a_result_says_what_held_when_it_was_computed(swapping: tuple[Solver, Put]) -> None:
    calculator, put = swapping
    put(False)
    wrong = Calculator(models=[calculator]).solve("13", "1", operation="add")
    put(True)
    right = Calculator(models=[calculator]).solve("13", "1", operation="add")
    put(False)
    assert (wrong.answer, wrong.certified, wrong.certificates) == ("15", False, {})
    assert (right.answer, right.certified, list(right.certificates)) == ("14", True, ["addition"])
    assert wrong.as_dict()["certified"] is False


def test_two_networks_of_one_name_do_not_vouch_for_each_other(swapping: tuple[Solver, Put]) -> None:
    calculator, put = swapping
    put(False)
    subtraction = Solver.load("subtraction")
    named = Solver(dataclasses.replace(calculator.run, name=subtraction.run.name))
    result = Calculator(models=[subtraction, named]).solve("-3", "1", "-4", operation="add")
    assert not result.certified


@pytest.mark.parametrize("engine", ["sequential", "table"])
def test_weights_put_back_within_a_solve_leave_no_certified_answer(engine: str, swapping: tuple[Solver, Put]) -> None:
    calculator, put = swapping
    put(False)
    (answer,) = calculator.solve_many([("3", "1")], engine=engine, watch=lambda *_: put(True))
    assert (answer.answer, answer.certified) == ("5", False)
    assert calculator.solve("3", "1", engine=engine).certified


def test_weights_changed_within_a_trace_end_it(swapping: tuple[Solver, Put]) -> None:
    calculator, put = swapping
    with pytest.raises(AlgaError, match="but its certified table says"):
        calculator.trace("1234", "1234", tell=lambda _: put(False))


def test_a_solve_within_a_solve_does_not_clear_what_was_altered() -> None:
    calculator = Solver.load()
    handle = calculator.run.model.final_norm.register_forward_hook(lambda _module, _inputs, out: out * 0)

    def within(*_: int) -> None:
        handle.remove()
        assert calculator.solve("1", "1", engine="sequential").certified

    (answer,) = calculator.solve_many([("3", "1")], engine="sequential", watch=within)
    assert not answer.certified


def test_weights_changed_while_they_are_judged_are_not_certified(swapping: tuple[Solver, Put]) -> None:
    calculator, put = swapping
    with pytest.raises(AlgaError, match="changed while it was checked"):
        calculator.run.judged(lambda done, total: put(done < total))
    put(True)
    run = calculator.run.judged()
    put(False)
    with pytest.raises(AlgaError, match="changed while it was checked"):
        run.proven()


def test_a_mode_that_changes_torchs_operations_is_an_alteration() -> None:
    class Negated(TorchFunctionMode):
        def __torch_function__(self, function: Any, kinds: Any, arguments: Any = (), named: Any = None) -> Any:
            out = function(*arguments, **(named or {}))
            return -out if function is torch.nn.functional.linear else out

    calculator = Solver.load()
    with Negated():
        assert calculator.solve("2", "2", engine="sequential").certified  # torch has no part in it yet
    _ = calculator.run.model
    with Negated():
        assert not calculator.solve("2", "2", engine="sequential").certified
        assert calculator.certify().altered == "torch runs in the mode Negated"
    with torch.device("cpu"):
        assert calculator.certified
    assert calculator.certified


def test_a_calculator_takes_no_task_that_its_network_was_not_trained_for() -> None:
    with pytest.raises(AlgaError, match="the model addition was trained for addition, not for subtraction"):
        Solver(Solver.load().run, tasks.find("subtraction"))
    assert set(Solver.load("arithmetic").parts()) == {"add", "sub", "times"}


@pytest.mark.parametrize("how", ["another table", "no table", "another task", "another certificate"])
def test_certificate_table_and_task_must_belong_together(how: str) -> None:
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


def test_a_table_cannot_be_changed_and_can_be_copied() -> None:
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


def test_steps_and_domain_that_are_shown_are_held_to_the_table(forged: Path) -> None:
    calculator = Solver.load(forged)
    wrong = next(prompt for prompt in calculator.trained.domain if "5" in calculator.trained.domain[prompt].output)
    for show in (lambda: content.step(calculator, wrong), lambda: content.domain(calculator)):
        with pytest.raises(AlgaError, match="but its certified table says"):
            show()
    assert content.step(Solver.load(), "15C77")["text"] == "15S"


# --- tasks of one's own -----------------------------------------------------------------------------------------------

MINE = '''
from alga.tasks import Digits, Procedure, Text
from alga.tasks.addition import Addition
from alga.tasks.lookahead import Lookahead


class FirstBackwards(Digits):
    def rows(self, a, b):
        return super().rows(a[::-1], b)

    def operands(self, columns):
        found = super().operands(columns)
        return None if found is None else (found[0][::-1], found[1])


class Swapped(Addition):
    """The first number backwards, plus the second."""

    def __init__(self):
        super().__init__()
        self.name, self.layout = "swapped", FirstBackwards(2)

    def oracle(self, a, b):
        return str(int(a[::-1]) + int(b))


class Kept(Addition):
    """The sum with its leading zeros."""

    numeric = False

    def __init__(self):
        super().__init__()
        self.name, self.layout = "kept", WithZeros(2, fill="0")

    def oracle(self, a, b):
        return str(int(a) + int(b)).zfill(max(len(a), len(b)))


class WithZeros(Digits):
    def rows(self, a, b):
        return a, b


class Silent(Procedure):
    """The first step writes nothing, later ones whether the ones so far are odd in number."""

    name, summary, symbols, numeric = "silent", "running parity", "01ab", False
    layout = Text("01")

    def step(self, before, column):
        return "ab"[int(column)] if before is None else str(("0a".find(before) < 0) ^ int(column))

    def written(self, output):
        return "" if output in "ab" else output

    def oracle(self, a):
        parities = "".join(str(a[: i + 1].count("1") % 2) for i in range(1, len(a)))
        return parities or "ab"[int(a)]


class Carried(Procedure):
    """Ones, counted up to five; that four and five mean the same as none is a lie."""

    name, numeric = "carried", False
    layout = Text("01")

    def step(self, before, column):
        return str(min(5, int(before or 0) + int(column)))

    def carried(self, output):
        return "0" if output in "45" else output

    view = carried

    def written(self, output):
        return ""

    def oracle(self, a):
        return str(min(5, a.count("1")))


class Begun(Lookahead):
    """Begins with a carry."""

    name, start = "begun", "g"


class Ungrouped(Lookahead):
    """Composes otherwise, depending on the grouping."""

    name = "ungrouped"

    def compose(self, later, earlier):
        return "k" if later == earlier == "g" else super().compose(later, earlier)
'''


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("alga.tasks.catalogue._OWN", {})
    Path("mine.py").write_text(MINE)


def exact(name: str) -> Solver:
    """Return a calculator by the exact table of a task: what a certified network of it would have."""
    task = tasks.find(f"mine.py:{name}")
    held = Solver.load("parity").run.weights
    run = Run(name=name, config=dataclasses.replace(Solver.load("parity").run.config, task=task), weights=held)
    calculator = Solver(run)
    table = Table(task.name, {prompt: instance.output for prompt, instance in task.domain.items()})
    calculator._extracted = (held.sha256, table)
    return calculator


@pytest.mark.parametrize(
    ("name", "operands"),
    [
        ("Swapped", ("1" * 99 + "2", "1")),
        ("Kept", ("0" * 30 + "1" * 70, "0" * 80 + "9")),
        ("Silent", ("01" * 40,)),
    ],
)
@pytest.mark.usefixtures("mine")
def test_long_problems_of_unusual_tasks_are_solved_as_short_ones_are(name: str, operands: tuple[str, ...]) -> None:
    import alga.solve.engines.loop  # noqa: F401 - once it is loaded, long problems go through it

    calculator = exact(name)
    assert calculator.solve(*operands, engine="table").answer == calculator.procedure.oracle(*operands)
    assert not calculator.streams("table")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Carried", "task carried: '0', carried from '4', is not equivalent before '0'"),
        ("Begun", "task begun: looking ahead, 0+0 is '1', not '0'"),
        ("Ungrouped", "task ungrouped: composing g, k and g depends on the grouping"),
    ],
)
@pytest.mark.usefixtures("mine")
def test_tasks_that_go_wrong_after_some_columns_are_refused(name: str, message: str) -> None:
    with pytest.raises(AlgaError) as refused:
        tasks.find(f"mine.py:{name}")
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("name = 5", "is not a valid task (TypeError: its name must be printable text, got 5)"),
        ("summary = '\\ud800'", "is not a valid task (TypeError: its summary must be printable text, got '\\ud800')"),
        ("symbols = '01ab\\ud800'", "is not a valid task (TypeError: its symbols must be printable text"),
    ],
)
@pytest.mark.usefixtures("mine")
def test_what_a_task_is_called_is_text(line: str, message: str) -> None:
    Path("mine.py").write_text(f"{MINE}\n\nclass Odd(Silent):\n    {line}\n")
    with pytest.raises(AlgaError) as refused:
        tasks.find("mine.py:Odd")
    assert message in str(refused.value)


@pytest.mark.usefixtures("mine")
def test_what_a_persons_own_task_raises_while_solving_is_one_line() -> None:
    raising = (
        "broken = False\n\n    def ending(self, output):\n        return output if not self.broken else str(1 / 0)"
    )
    Path("mine.py").write_text(f"{MINE}\n\nclass Odd(Silent):\n    name = 'odd'\n    {raising}\n")
    calculator = exact("Odd")
    calculator.procedure.broken = True  # type: ignore[attr-defined]
    with pytest.raises(AlgaError, match=r"^odd: its own code failed \(ZeroDivisionError: division by zero\)$"):
        calculator.solve("0101010", engine="table")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("class Odd(Silent):\n    def read(self, outputs): return ''", "Odd must not change read"),
        ("class Odd(Silent):\n    def tidied(self, text): return ''", "Odd must not change tidied"),
        ("class Odd(Silent):\n    def columns(self, a): return [a]", "Odd must not change columns"),
        ("class Own(Text):\n    def split(self, a): return [a]", "Own makes columns of its own"),
        ("class Own(Text):\n    def admits(self, first, others): return True", "Own must not change admits"),
    ],
)
@pytest.mark.usefixtures("mine")
def test_what_engines_rely_on_cannot_be_changed(code: str, message: str) -> None:
    Path("mine.py").write_text(f"{MINE}\n\n{code}\n")
    with pytest.raises(AlgaError, match=message):
        tasks.find("mine.py:Silent")


def test_the_arrays_of_a_certified_network_cannot_be_changed() -> None:
    calculator = Solver.load()
    with pytest.raises(ValueError, match="read-only"):
        calculator.run.weights.arrays["head.weight"][0, 0] += 1
    assert calculator.certified
    assert calculator.solve("1", "2", engine="sequential").answer == "3"


# --- exports ----------------------------------------------------------------------------------------------------------


def test_the_exported_table_knows_which_outputs_end_no_problem() -> None:
    from alga import export

    ending = json.loads(export.table(Solver.load("subtraction")))["ending"]
    assert {output: text for output, text in ending.items() if output in ("-8", "2")} == {"-8": None, "2": "2"}
    assert None not in json.loads(export.table(Solver.load()))["ending"].values()


@pytest.mark.parametrize("name", ["Swapped", "Kept", "Silent"])
@pytest.mark.usefixtures("mine")
def test_tables_that_would_run_otherwise_elsewhere_are_not_exported(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from alga import export

    monkeypatch.setattr(Solver, "decode", lambda self, prompts: [])
    with pytest.raises(AlgaError, match="its table would not run elsewhere"):
        export.table(exact(name))
