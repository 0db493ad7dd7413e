"""Without the extra `train`: what runs without torch, and the one-line errors of what does not."""

from __future__ import annotations

import subprocess
import sys

import pytest

WITHOUT = """
import sys
for package in ("torch", "matplotlib"):
    sys.modules[package] = None  # as if it were not installed
sys.argv = ["alga", *sys.argv[1:]]
from alga.__main__ import main
main()
"""


def without_torch(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", WITHOUT, *arguments], capture_output=True, text=True, check=False)


def test_small_network_is_proven_without_torch() -> None:
    done = without_torch("certify", "parity", "--proof", "--json")
    assert done.returncode == 0, done.stderr
    assert '"strength": "proven"' in done.stdout
    assert '"torch"' not in done.stdout


def test_training_from_python_needs_the_extra() -> None:
    code = "import sys; sys.modules['torch'] = None\nimport alga\nalga.train('parity')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == ("alga.AlgaError: training needs torch: pip install 'alga-adder[train]'")


def test_runs_are_compared_without_torch() -> None:
    assert without_torch("diff", "addition", "smallest").returncode == 1


def test_network_adds_without_torch() -> None:
    done = without_torch("add", "65785", "8765", "--trace")
    assert "Final answer: 74550" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("arguments", "lacking"),
    [(("train", "--task", "parity"), "torch"), (("certify", "parity", "--figure", "x.png"), "matplotlib")],
)
def test_missing_extra_is_a_one_line_error(arguments: tuple[str, ...], lacking: str) -> None:
    done = without_torch(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("alga: ")
    assert line.endswith(f"needs {lacking}: pip install 'alga-adder[train]'")
