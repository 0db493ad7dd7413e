"""Own tasks: long problems match short ones, and methods that engines rely on cannot be overridden."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from alga import tasks
from alga.base.errors import AlgaError
from alga.runs import Run
from alga.solve.solver import Solver
from alga.trust.table import Table

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
    """Return a solver with a task's exact table, as a certified network would have."""
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
def test_long_problems_of_unusual_tasks_match_short_ones(name: str, operands: tuple[str, ...]) -> None:
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
def test_tasks_that_fail_after_some_columns_are_refused(name: str, message: str) -> None:
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
def test_task_name_must_be_text(line: str, message: str) -> None:
    Path("mine.py").write_text(f"{MINE}\n\nclass Odd(Silent):\n    {line}\n")
    with pytest.raises(AlgaError) as refused:
        tasks.find("mine.py:Odd")
    assert message in str(refused.value)


@pytest.mark.usefixtures("mine")
def test_error_in_an_own_task_is_one_line() -> None:
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
def test_own_task_may_not_override_what_engines_use(code: str, message: str) -> None:
    Path("mine.py").write_text(f"{MINE}\n\n{code}\n")
    with pytest.raises(AlgaError, match=message):
        tasks.find("mine.py:Silent")


@pytest.mark.parametrize("name", ["Swapped", "Kept", "Silent"])
@pytest.mark.usefixtures("mine")
def test_tables_that_would_run_differently_elsewhere_are_not_exported(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from alga import export

    monkeypatch.setattr(Solver, "decode", lambda self, prompts: [])
    with pytest.raises(AlgaError, match="its table would not run elsewhere"):
        export.table(exact(name))
