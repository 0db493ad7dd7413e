"""Shell completion: networks, tasks, recipes and engines, without torch and numpy."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from alga import runs, tasks
from alga.solve.engines.names import ENGINES
from alga.training import recipes
from tests.conftest import Alga

SCRIPT = """
import sys; sys.argv = ["alga"]
from alga.cli.app import main
try: main()
except SystemExit as ended: assert not ended.code, ended.code
slow = [name for name in ("torch", "numpy", "numba", "matplotlib") if name in sys.modules]
assert not slow, slow
"""


def completed(alga: Alga, monkeypatch: pytest.MonkeyPatch, line: str) -> list[str]:
    """Return what bash offers for the last word of a line."""
    monkeypatch.setenv("_ALGA_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    result = alga()
    assert (result.code, result.err) == (0, "")
    return result.out.split()


@pytest.mark.parametrize(
    "line",
    [
        "alga certify ", "alga verify ", "alga evaluate ", "alga solve ", "alga export ", "alga serve ",
        "alga lab bench ", "alga add 1 2 --model ", "alga train --like ", "alga import x --like ",
    ],
)  # fmt: skip
def test_networks_are_completed(line: str, alga: Alga, monkeypatch: pytest.MonkeyPatch) -> None:
    assert completed(alga, monkeypatch, line) == list(runs.shipped())
    assert completed(alga, monkeypatch, f"{line}par") == ["parity"]


@pytest.mark.parametrize("verb", ["add 1 2", "cmp 1 2", "solve parity 1", "evaluate"])
def test_engines_are_completed(verb: str, alga: Alga, monkeypatch: pytest.MonkeyPatch) -> None:
    assert completed(alga, monkeypatch, f"alga {verb} --engine ") == list(ENGINES)
    assert completed(alga, monkeypatch, f"alga {verb} --engine l") == ["lookahead"]


@pytest.mark.parametrize("verb", ["train", "import x"])
def test_recipes_are_completed(verb: str, alga: Alga, monkeypatch: pytest.MonkeyPatch) -> None:
    assert completed(alga, monkeypatch, f"alga {verb} --recipe ") == list(recipes.names())


@pytest.mark.parametrize("verb", ["train", "import x"])
def test_tasks_are_completed(verb: str, alga: Alga, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(completed(alga, monkeypatch, f"alga {verb} --task ")) >= {*tasks.names(), "xor-base-2"}
    in_bases = completed(alga, monkeypatch, f"alga {verb} --task addition-base-")
    assert in_bases == [f"addition-base-{base}" for base in range(2, 37) if base != 10]
    assert completed(alga, monkeypatch, f"alga {verb} --task xor-base-") == [f"xor-base-{2**k}" for k in range(1, 6)]


def test_studies_methods_and_verbs_are_completed(alga: Alga, monkeypatch: pytest.MonkeyPatch) -> None:
    assert completed(alga, monkeypatch, "alga lab study sh") == ["share"]
    assert completed(alga, monkeypatch, "alga lab compare ab") == ["abacus"]
    assert completed(alga, monkeypatch, "alga lab ") == [
        "sweep",
        "plot",
        "bench",
        "compare",
        "paper",
        "study",
        "report",
        "verify",
    ]
    assert completed(alga, monkeypatch, "alga s") == ["sub", "solve", "serve"]  # not the old sweep


@pytest.mark.parametrize(
    "line", ["alga certify ", "alga train --task ", "alga train --recipe ", "alga add --engine ", "alga lab study "]
)
def test_completion_needs_neither_torch_nor_numpy(line: str) -> None:
    shell = {"_ALGA_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False, env={**os.environ, **shell}
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_completion_script_is_shown_without_torch() -> None:
    script = SCRIPT.replace('["alga"]', '["alga", "--show-completion", "bash"]')
    env = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}  # then the shell is an argument
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert "_ALGA_COMPLETE=complete_bash" in done.stdout
