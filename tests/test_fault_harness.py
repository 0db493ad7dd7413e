"""Slow: a short run of the fault harness."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.reliability import page

pytestmark = [pytest.mark.slow, pytest.mark.alone]


def test_short_harness_loses_nothing_and_resumes(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.faults", "--cut", "--folder", tmp_path / "work"]
    command += ["--results", tmp_path / "faults.json", "--page", tmp_path / "page.md"]
    command += ["--load", tmp_path / "none.json", "--fuzz", tmp_path / "none.json"]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-3000:]
    results = json.loads((tmp_path / "faults.json").read_text())
    assert sum(row["lost"] for row in results["faults"]) == 0
    assert (tmp_path / "page.md").read_text() == page(results)
    assert "From a cut run" in page(results)
    rounds = (tmp_path / "work" / "rounds.jsonl").read_text()
    again = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, cwd=ROOT)
    assert again.returncode == 0
    assert (tmp_path / "work" / "rounds.jsonl").read_text() == rounds  # nothing was repeated


def test_harness_reports_a_loss(tmp_path: Path) -> None:
    """A harness that cannot fail shows nothing: here checksums are not checked."""
    script = (
        "import sys; from alga.runs import checksums; checksums.Snapshot.check = lambda _: None; "
        f"sys.argv = ['x', '--cut', '--only', 'addition-base-16', '--folder', {str(tmp_path)!r}]; "
        "from tests.faults.__main__ import main; main()"
    )
    environment = {"ALGA_FAULTS_IN_NAMESPACE": "0", "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=ROOT, env=environment
    )
    assert done.returncode == 1
    assert "goes unnoticed" in done.stderr
