"""A task from the user's file: works as documented, refused if it breaks the contract."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from alga import tasks
from alga.base.errors import AlgaError
from alga.research import trials
from alga.tasks import Task, own
from alga.training import recipes
from tests.conftest import ROOT, Alga

PAGE = (ROOT / "docs" / "own-task.md").read_text()


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The task of docs/own-task.md, as mine.py in the current folder."""
    monkeypatch.chdir(tmp_path)
    code, *_ = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "mine.py").write_text(code)
    monkeypatch.setattr("alga.tasks.catalogue._OWN", {})
    return tmp_path / "mine.py"


@pytest.mark.slow
def test_documented_task_works_as_written(mine: Path, alga: Alga, monkeypatch: pytest.MonkeyPatch) -> None:
    (commands,) = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    outputs = [alga(*command.split()[1:]) for command in commands.splitlines()]
    assert [result.code for result in outputs] == [0, 0, 0, 0]
    assert "certified for collatz of any length" in outputs[0].out
    assert "Final answer: 82" in outputs[2].out
    refused = alga("solve", "runs/collatz", "28", "--task", "mine.py:Collatz")
    said = "alga: collatz: '8' cannot be the first column (column 1 of 2, from the right)\n"
    assert (refused.code, refused.err) == (2, said)
    # A network is refused with a task that is not named, or has changed since.
    monkeypatch.setattr("alga.tasks.catalogue._OWN", {})
    unnamed = alga("solve", "runs/collatz", "27")
    assert unnamed.code == 2
    assert "unknown task 'collatz'" in unnamed.err
    assert "or --task mine.py:Collatz on the command line" in unnamed.err
    mine.write_text(mine.read_text() + "\n# changed\n")
    changed = alga("solve", "runs/collatz", "27", "--task", "mine.py:Collatz")
    assert changed.code == 2
    assert "the task collatz has changed since this network was trained" in changed.err


def test_documented_example_has_at_most_twelve_lines() -> None:
    code, *_ = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 12


def test_last_loaded_version_of_a_task_file_is_used(mine: Path) -> None:
    first = tasks.find("mine.py:Collatz")
    mine.write_text(mine.read_text() + "\n# changed\n")
    second = tasks.find("mine.py:Collatz")
    assert first.source != second.source
    assert tasks.known("collatz") is second
    assert trials.settings(recipes.find("fast", "mine.py:Collatz"), 0)["source"] == second.source
    assert "source" not in trials.settings(recipes.find("fast"), 0)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('Digits(first="13579")', "Digits(1 / 0)", "is not a valid task (ZeroDivisionError: division by zero)"),
        (
            "3 * int(column) + carry",
            "2 * int(column) + carry",
            "steps of collatz of 1 spell '3', its answer is '4'",
        ),
        ("class Collatz(Procedure)", "class Collatz", "has no class Collatz that is a Task"),
        ("class Collatz", "class Colatz", "has no class Collatz that is a Task"),
        ('"collatz"', '"parity"', "is called 'parity', which is the name of a built-in task"),
        ("def step", "def view(self, before):\n        return ''\n\n    def step", "is ambiguous"),
        ("from alga.tasks import", "from alga.tasks import import", "is not a valid task (SyntaxError"),
        (
            'name = "collatz"',
            'name, symbols = "collatz", "0123456789" + "".join(map(chr, range(500, 800)))',
            "has 310 symbols; at most 250 are allowed",
        ),
        (
            "class Collatz(Procedure):",
            "class Collatz(Task):\n    def first_columns(self, setting): return '13579'",
            "is written for ALGA 0.1; docs/own-task.md says what a task is now",
        ),
    ],
)
def test_task_that_breaks_the_contract_is_refused(mine: Path, alga: Alga, old: str, new: str, message: str) -> None:
    mine.write_text("from alga.tasks import Task\n" + mine.read_text().replace(old, new))
    refused = alga("train", "--task", "mine.py:Collatz", "--out", "run")
    assert refused.code == 2
    assert message in refused.err
    assert refused.err.count("\n") == 1
    assert not Path("run").exists()


def test_own_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for read in (tasks.find, own.version):
        with pytest.raises(AlgaError, match=r"^nowhere\.py: no such file or directory$"):
            read("nowhere.py:Mine")
    with pytest.raises(AlgaError, match=r"^expected a task as FILE\.py:CLASS, got 'nowhere'$"):
        own.read("nowhere", Task)
    Path("mine.py").write_text("class Mine: pass\n")
    with pytest.raises(AlgaError, match=r"^mine\.py has no class Mine that is a Task$"):
        tasks.find("mine.py:Mine")
    assert own.version("mine.py:Mine") == {"source": hashlib.sha256(b"class Mine: pass\n").hexdigest()}
    assert own.version("addition") == {}
