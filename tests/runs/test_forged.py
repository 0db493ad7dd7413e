"""A run folder with wrong weights, and a certificate, table and checksums that match them."""

from __future__ import annotations

from pathlib import Path

import pytest

from alga.solve.solver import Solver
from tests.conftest import Alga


def test_forged_certificate_loads(forged: Path) -> None:
    """The folder is consistent: only running the network can tell."""
    assert Solver.load(forged).certified
    assert Solver.load(forged).solve("15838", "9458").answer == "25296"  # the table's answer, which is right


@pytest.mark.parametrize(
    "command",
    [
        ("add", "15838", "9458", "--engine", "sequential"),
        ("add", "15838", "9458", "--trace"),
        ("solve", "15838", "9458", "--engine", "sequential"),
        ("evaluate", "--count", "20", "--engine", "sequential"),
        ("export", "table.json"),
        ("export", "page.html"),
    ],
)
def test_wrong_step_is_not_shown_under_a_forged_certificate(
    command: tuple[str, ...], forged: Path, alga: Alga, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    verb, *rest = command
    where = (str(forged),) if verb in ("solve", "evaluate") else ()
    named = () if where else ("--model", str(forged))
    refused = alga(verb, *where, *rest, *named)
    assert (refused.code, refused.out) == (2, "")
    assert "but its certified table says" in refused.err
    assert f"alga certify {forged}" in refused.err
    assert [line[:6] for line in refused.err.splitlines() if not line.startswith("exporting: ")] == ["alga: "]
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_onnx_is_not_exported_under_a_forged_certificate(forged: Path, alga: Alga, tmp_path: Path) -> None:
    refused = alga("export", tmp_path / "adder.onnx", "--model", forged)
    assert refused.code == 2
    assert "but its certified table says" in refused.err


def test_certify_detects_a_forged_certificate(forged: Path, alga: Alga) -> None:
    judged = alga("certify", forged)
    assert judged.code == 1
    assert "not certified" in judged.out
