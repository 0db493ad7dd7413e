"""Impossible columns are refused in one place, for every task and engine, in one line."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from alga import tasks
from alga.base.errors import AlgaError
from alga.solve.solver import Solver
from alga.training.trainer import Training
from alga.trust.table import Table
from tests.conftest import Alga, tiny

SLOPPY = '''
from alga.tasks import Digits, Procedure, Text


class Anything(Digits):
    def rows(self, *operands):
        return operands


class Collatz(Procedure):
    """The task of docs/own-task.md with a layout that checks nothing itself."""

    name = "collatz"
    layout = Anything(first="13579")

    def step(self, before, column):
        return str(3 * int(column) + (1 if before is None else int(before[:-1] or 0)))

    def oracle(self, n):
        return str(3 * int(n) + 1)


class EndsInB(Procedure):
    """A finite automaton over texts of a and b; the digits are what it says."""

    name = "ends-in-b"
    layout = Text("ab")

    def step(self, before, column):
        return "1" if column == "b" else "0"

    def written(self, output):
        return ""

    def oracle(self, text):
        return "1" if text.endswith("b") else "0"


class OwnText(Text):
    def rows(self, *operands):
        return ("".join("ab"["ab".index(char)] for char in operands[0]),)


class Careless(EndsInB):
    """The same; what is no text of a and b ends in an error of its own."""

    name = "careless"
    layout = OwnText("ab")
'''


@pytest.fixture
def sloppy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("alga.tasks.catalogue._OWN", {})
    Path("sloppy.py").write_text(SLOPPY)


def exact(name: str) -> Solver:
    """Return a solver with an untrained network and the exact table, as a certified one would have."""
    task = tasks.find(name)
    training = Training.start(None, tiny(task=name))
    exact = Table(task.name, {prompt: instance.output for prompt, instance in task.domain.items()})
    run = dataclasses.replace(training.as_run(), table=exact)
    return Solver(run)


BAD = [
    ("sloppy.py:Collatz", "26", "collatz: '6' cannot be the first column (column 1 of 2, from the right)"),
    ("sloppy.py:Collatz", "2a7", "collatz: 'a' cannot be a later column (column 2 of 3, from the right)"),
    ("sloppy.py:Collatz", "٣7", "collatz: '٣' cannot be a later column (column 2 of 2, from the right)"),
    ("sloppy.py:EndsInB", "a3b", "ends-in-b: '3' cannot be a later column (column 2 of 3, from the left)"),
    ("sloppy.py:EndsInB", "", "ends-in-b: a problem needs at least one column, got none"),
    ("sloppy.py:Careless", "axb", "careless: its columns of 'axb' failed (ValueError: substring not found)"),
]


@pytest.mark.parametrize("engine", ["sequential", "table"])
@pytest.mark.parametrize(("name", "operand", "message"), BAD)
@pytest.mark.usefixtures("sloppy")
def test_columns_outside_the_task_are_refused_by_every_engine(
    name: str, operand: str, message: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calculator = exact(name)
    monkeypatch.setattr(Solver, "table", calculator.run.table)
    with pytest.raises(AlgaError) as refused:
        calculator.solve(operand, engine=engine)
    assert str(refused.value) == message


@pytest.mark.parametrize("bad", ["6", "a7", "٣7"])
@pytest.mark.usefixtures("sloppy")
def test_compiled_loop_and_replaying_refuse_the_same(bad: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calculator = exact("sloppy.py:Collatz")
    monkeypatch.setattr(Solver, "table", calculator.run.table)
    import alga.solve.engines.loop  # noqa: F401 - once it is loaded, long problems go through it

    long = "1" * 100
    assert calculator.solve(long + "7", engine="table").answer == str(3 * int(long + "7") + 1)
    with pytest.raises(AlgaError, match="cannot be"):
        calculator.solve(long + bad, engine="table")


@pytest.mark.slow
@pytest.mark.usefixtures("sloppy")
def test_certified_task_without_validation_refuses_in_one_line(alga: Alga) -> None:
    """A regression: it once answered 70 for 26, certified."""
    assert alga("train", "--task", "sloppy.py:Collatz", "--recipe", "small", "--out", "run").code == 0
    good = alga("solve", "run", "27", "--task", "sloppy.py:Collatz", "--json")
    assert (json.loads(good.out)["answer"], json.loads(good.out)["certified"]) == ("82", True)
    for engine in ("sequential", "table"):
        for bad in ("26", "2x7", ""):
            refused = alga("solve", "run", bad, "--task", "sloppy.py:Collatz", "--engine", engine, "--json")
            assert (refused.code, refused.out) == (2, "")
            assert refused.err.count("\n") == 1
            assert "collatz: " in refused.err
        evaluated = alga("evaluate", "run", "--task", "sloppy.py:Collatz", "--count", "20", "--engine", engine)
        assert evaluated.code == 0


@pytest.mark.parametrize("operands", [("9" * 70 + "x", "1"), ("1", "2²"), ("", "1")])
def test_lookahead_refuses_columns_outside_the_task(operands: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if the layout's rows accept it."""
    calculator = Solver.load("addition-lookahead")
    monkeypatch.setattr(type(calculator.procedure.layout), "rows", lambda self, *operands: operands)
    with pytest.raises(AlgaError, match=r"addition: "):
        calculator.solve(*operands)


def test_setting_holds_for_the_whole_problem() -> None:
    times = tasks.find("times-a-digit")
    assert times.columns("907", "3") == ["73", "03", "93"]
    assert times.layout.admits("73", {"93", "03"})
    assert not times.layout.admits("73", {"93", "97"})
    with pytest.raises(
        AlgaError, match=r"times-a-digit: '97' cannot be a later column \(column 3 of 3, from the right\)"
    ):
        raise times.layout.refusal(["73", "93", "97"], times.name)
