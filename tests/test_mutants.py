"""The mutation harness: mutants are what they say, and trials tell killed from surviving ones."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.mutants.__main__ import Trial, chosen, files, is_known, summed
from tests.mutants.equivalent import EQUIVALENT
from tests.mutants.mutations import Mutant, mutants_of, mutated

CODE = '''
"""Doc."""
from x import y

LIMIT: int = 3

class Kind:
    right = True

    @property
    def size(self) -> int:
        """Doc."""
        total = self.a - 1 if self.b and not self.c else max(self.d, key="k")
        if total:
            raise ValueError(f"no {total}")
        return [item for item in self.e if item]
'''


def test_changes_are_named_by_function() -> None:
    assert [(mutant.function, mutant.change) for mutant in mutants_of(CODE)] == [
        ("<module>", "LIMIT: int = 3 -> LIMIT: int = 4"),
        ("Kind", "right = True -> right = False"),
        ("Kind.size", "total = self.a - 1 if self.b and (not self.c) else max(self.d, key='k') -> total = None"),
        ("Kind.size", "self.b and (not self.c) -> self.b or not self.c"),
        ("Kind.size", "self.b and (not self.c) -> self.b and self.c"),
        ("Kind.size", "self.a - 1 -> self.a + 1"),
        ("Kind.size", "self.a - 1 -> self.a - 2"),
        ("Kind.size", "max(self.d, key='k') -> min(self.d, key='k')"),
        ("Kind.size", "max(self.d, key='k') -> max(self.d)"),
        ("Kind.size", "key='k' -> key='XXk'"),
        ("Kind.size", "if total: -> if not total:"),
        ("Kind.size", "raise ValueError(f'no {total}') -> pass"),
        ("Kind.size", "ValueError(f'no {total}') -> ValueError('XX')"),
        ("Kind.size", "return [item for item in self.e if item] -> return None"),
        ("Kind.size", "for item in self.e if item -> for item in self.e if not item"),
    ]


@pytest.mark.parametrize("file", files())
def test_every_mutant_compiles_and_differs(file: str) -> None:
    source = (ROOT / "src" / "alga" / file).read_text()
    found = mutants_of(source, file)
    assert len(set(found)) == len(found)  # the name identifies it
    for index in range(0, len(found), 25):
        tree = mutated(source, index)
        compile(tree, file, "exec")
        assert ast.unparse(tree) != ast.unparse(ast.parse(source)), found[index].name


def test_larger_sample_contains_the_smaller() -> None:
    few, more = chosen("tasks/parity.py", 5, 0), chosen("tasks/parity.py", 9, 0)
    assert (len(few), more[:5]) == (5, few)
    assert chosen("tasks/parity.py", 5, 1) != few


def test_explanations_have_a_kind() -> None:
    assert all(kind and mutant.file in files() for mutant, kind in EQUIVALENT.items())


def test_survivor_is_retried_after_a_test_changes() -> None:
    assert not is_known(None, "now")
    assert is_known({"outcome": "killed", "tests": "before"}, "now")
    assert is_known({"outcome": "survived", "tests": "now"}, "now")
    assert not is_known({"outcome": "survived", "tests": "before"}, "now")


def test_summary_counts_each_outcome() -> None:
    drawn = chosen("tasks/parity.py", 4, 0)
    outcomes = [{"outcome": outcome} for outcome in ("killed", "timeout", "survived")]
    found = summed(
        {"tasks/parity.py": drawn}, {trial.key: each for trial, each in zip(drawn, outcomes, strict=False)}, 4, 0
    )
    count = found["total"]
    assert isinstance(count, dict)
    assert [count[kind] for kind in ("killed", "timeout", "survived", "not tried", "score")] == [1, 1, 1, 1, 66.7]
    assert [each["function"] for each in found["survivors"]] == [drawn[2].mutant.function]  # type: ignore[attr-defined]


def test_committed_summary_covers_every_file() -> None:
    found = json.loads((ROOT / "results" / "mutants.json").read_text())
    assert found["total"]["drawn"] == sum(count["drawn"] for count in found["files"].values()) > 0
    noticed = found["total"]["killed"] + found["total"]["timeout"]
    assert found["total"]["score"] == pytest.approx(100 * noticed / (noticed + found["total"]["survived"]), abs=0.1)
    assert len(found["survivors"]) == found["total"]["survived"]


@pytest.mark.slow
def test_trial_distinguishes_killed_from_surviving_mutants(tmp_path: Path) -> None:
    """Runs in a process that has not imported the package, unlike a fork of this one."""
    test = "src/alga/tasks/parity.py::alga.tasks.parity.Parity.step"
    names = [mutant.change for mutant in mutants_of((ROOT / "src/alga/tasks/parity.py").read_text())]
    noticed = names.index("before == '1' -> before != '1'")
    unnoticed = names.index("name = 'parity' -> name = 'XXparity'")
    code = (
        "from pathlib import Path; from tests.mutants.trial import outcome_of\n"
        f"for index in (None, {noticed}, {unnoticed}):\n"
        f"    print(outcome_of('tasks/parity.py', index, [{test!r}], 1.0, Path({str(tmp_path / 'log')!r})))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["survived", "killed", "survived"], (tmp_path / "log").read_text()


def test_mutant_name_is_one_line() -> None:
    assert Mutant("a.py", "f", "x -> y").name == "a.py: f: x -> y"
    assert Mutant("a.py", "f", "x -> y", 2).name == "a.py: f: x -> y (#2)"
    assert Trial(Mutant("a.py", "f", "x -> y"), 3, "key").index == 3
