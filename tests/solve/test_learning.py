"""Training from Python: a name, an instance or a class in, a certified calculator out."""

from __future__ import annotations

import dataclasses
import json
import re
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import alga as package
from alga import runs, tasks
from alga.base.errors import AlgaError
from alga.tasks import Digits, Procedure
from alga.tasks.parity import Parity
from tests.conftest import ROOT, Alga, tiny

PAGE = (ROOT / "docs" / "own-task.md").read_text()
QUICK: dict[str, Any] = {"seed": 5, "progress": False}


class Copied(Procedure):
    """Copies a number in base two: few prompts, learned in no time."""

    name = "copied"
    layout = Digits(base=2)

    def step(self, before: str | None, column: str) -> str:
        return column

    def oracle(self, *operands: str) -> str:
        return str(operands[0]).lstrip("0") or "0"


class Flipped(Copied):
    """Another task under the same name."""

    def step(self, before: str | None, column: str) -> str:
        return str(1 - int(column))

    def oracle(self, *operands: str) -> str:
        return "".join(str(1 - int(digit)) for digit in operands[0].lstrip("0") or "0").lstrip("0") or "0"


class Renamed(Copied):
    """The same task, written in another way."""

    def step(self, before: str | None, column: str) -> str:
        return {"0": "0", "1": "1"}[column]


class Shouted(Copied):
    """The same domain, but other answers."""

    def ending(self, output: str) -> str:
        return f"1{output}"

    def oracle(self, *operands: str) -> str:
        return f"1{operands[0].lstrip('0') or '0'}"


@pytest.fixture(autouse=True)
def no_own_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alga.tasks.catalogue._OWN", {})


def learned(task: Any, out: Path | None = None, **changes: Any) -> package.Calculator:
    return package.train(task, tiny(), out=out, **QUICK, **changes)


@pytest.mark.parametrize("task", ["parity", Parity, Parity()], ids=["name", "class", "instance"])
def test_built_in_task_is_learned_and_certified(task: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    calculator = learned(task)
    assert calculator.certified
    assert calculator.solve("1011").as_dict()["certified"]
    assert calculator.solve("1011").answer == "1"
    assert calculator.certify().certified
    assert repr(calculator) == "Calculator(base 2, Solver(parity-tiny: parity, checked))"
    assert list(tmp_path.iterdir()) == []  # nothing is written


def test_same_bits_as_the_command_line(tmp_path: Path, alga: Alga) -> None:
    small = ["train", "--task", "parity", "--recipe", "small", "--set", "width=8", "--set", "margin=1", "--seed", "3"]
    assert alga(*small, "--out", tmp_path / "cli").code == 0
    calculator = package.train(
        "parity", "small", 3, tmp_path / "python", width=8, margin=1.0, progress=False, device="auto"
    )
    assert calculator.network.run.sha256 == runs.load(tmp_path / "cli").sha256
    config = [json.loads((tmp_path / name / "config.json").read_text()) for name in ("cli", "python")]
    assert config[0] == config[1]
    assert {path.name for path in (tmp_path / "cli").iterdir()} == {
        path.name for path in (tmp_path / "python").iterdir()
    }


def test_uncertified_network_comes_back_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="not certified after 2 steps: 6 of 6 prompts are wrong"):
        calculator = learned("parity", steps=2)
    assert not calculator.certified
    assert not calculator.solve("1", engine="sequential").certified


def test_certified_network_gives_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert learned("parity").certified


def test_changes_and_mistakes() -> None:
    with pytest.warns(UserWarning, match="not certified after 1 steps"):
        model = learned("parity", width=16, tied=True, steps=1).network.run.config.model
    assert (model.width, model.settings()["tied"]) == (16, True)
    with pytest.raises(AlgaError, match="a recipe has no setting 'widht'; did you mean width"):
        learned("parity", widht=16)
    with pytest.raises(AlgaError, match="unknown recipe 'slow'"):
        package.train("parity", "slow")
    with pytest.raises(AlgaError, match="unknown task 'dancing'"):
        package.train("dancing")
    with pytest.raises(AlgaError, match="expected a task's name, an instance or a class of Procedure, got 3"):
        package.train(3)  # type: ignore[arg-type]
    with pytest.raises(AlgaError, match="checkpoints are kept in a run folder: name it by out"):
        learned("parity", checkpoints=5)


def test_training_begins_from_a_calculator(tmp_path: Path) -> None:
    first = learned("parity")
    second = learned("parity", tmp_path / "run", init=first, checkpoints=10)
    assert second.network.run.config.training["init"] == {"run": "parity-tiny", "sha256": first.network.run.sha256}
    began = package.load(tmp_path / "run", checkpoint=0).network.run
    assert began.sha256 == first.network.run.sha256


def test_class_of_ones_own_is_learned_and_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calculator = learned(Copied, tmp_path / "run")
    assert calculator.certified
    assert calculator.solve("1011").answer == "1011"
    monkeypatch.setattr("alga.tasks.catalogue._OWN", {})
    with pytest.raises(AlgaError) as refused:
        package.load(tmp_path / "run")
    how = f"use alga.load('{tmp_path}/run', task=Copied), or --task FILE.py:Copied on the command line"
    assert str(refused.value).endswith(f"unknown task 'copied', one of your own: {how}")
    for same in (Copied, Copied(), Renamed):
        assert package.load(tmp_path / "run", task=same).certified
    for other in (Flipped, Shouted):
        with pytest.raises(AlgaError, match="the task copied has changed since this network was trained"):
            package.load(tmp_path / "run", task=other)
    with pytest.raises(AlgaError, match="is for the task parity, not copied"):
        package.load("parity", task=Copied)
    with pytest.raises(AlgaError, match="belongs to a network: name its run folder too"):
        package.load(task=Copied)


def test_run_folder_executes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learned(Copied, tmp_path / "run")
    monkeypatch.setattr("alga.tasks.catalogue._OWN", {})
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w')\nclass Copied: pass\n")
    path = tmp_path / "run" / "config.json"
    content = json.loads(path.read_text())
    content["training"]["recipe"]["task"] = f"{tmp_path}/evil.py:Copied"
    content["class"] = "__import__('os')"
    path.write_text(json.dumps(content))
    with pytest.raises(AlgaError, match="unknown task 'copied', one of your own"):
        package.load(tmp_path / "run")
    assert not (tmp_path / "executed").exists()


def test_invalid_class_is_refused(tmp_path: Path) -> None:
    class Wrong(Copied):
        def oracle(self, *operands: str) -> str:
            return "7"

    class Builtin(Copied):
        name = "parity"

    class Unfinished(Procedure):
        name = "unfinished"

    for kind, message in {
        Wrong: "the steps of copied of 0 spell '0', its answer is '7'",
        Builtin: "the task of class Builtin is called 'parity', which is the name of a built-in task",
        Unfinished: "Unfinished is not a valid task (TypeError: Can't instantiate abstract class",
        dict: "expected a task's name, an instance or a class of Procedure, got <class 'dict'>",
    }.items():
        with pytest.raises(AlgaError) as refused:
            learned(kind, tmp_path / "run")
        assert message in str(refused.value)
    assert not (tmp_path / "run").exists()


def documented(folder: Path) -> Any:
    """Write the task of docs/own-task.md to mine.py; return its class, as an import would."""
    code = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
    (folder / "mine.py").write_text(code)
    module = ModuleType("mine")
    exec(code, vars(module))
    return module.Collatz


def test_class_and_file_of_the_same_task_open_each_others_networks(
    tmp_path: Path, alga: Alga, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    collatz = documented(tmp_path)
    with pytest.warns(UserWarning, match="not certified"):
        learned(collatz, tmp_path / "class", steps=2)
    assert alga("train", "--task", "mine.py:Collatz", "--recipe", "small", "--steps", 2, "--out", "file").code == 1
    monkeypatch.setattr("alga.tasks.catalogue._OWN", {})
    shown = alga("certify", "class", "--task", "mine.py:Collatz")
    assert (shown.code, shown.err) == (1, "")
    monkeypatch.setattr("alga.tasks.catalogue._OWN", {})
    unnamed = alga("certify", "file")
    assert unnamed.err.endswith(
        "use alga.load('file', task='mine.py:Collatz'), or --task mine.py:Collatz on the command line\n"
    )
    assert package.load("file", task=collatz).network.trained.name == "collatz"
    monkeypatch.setattr("alga.tasks.catalogue._OWN", {})
    assert package.load("file", task="mine.py:Collatz").network.trained.name == "collatz"
    Path("mine.py").write_text(Path("mine.py").read_text() + "\n# changed\n")
    monkeypatch.setattr("alga.tasks.catalogue._OWN", {})
    assert "has changed since" in alga("certify", "file", "--task", "mine.py:Collatz").err
    assert alga("certify", "class", "--task", "mine.py:Collatz").code == 1  # it still does the same


def test_copy_has_another_source_and_shares_the_domain() -> None:
    task = tasks.own.adopt(Copied)
    again = tasks.own.as_of(task, "x")
    assert (again.source, again.domain.source, task.domain.source) == ("x", "x", task.source)
    assert again.domain.instances is task.domain.instances
    assert dataclasses.replace(again.domain, source=task.source).symbols == task.domain.symbols
