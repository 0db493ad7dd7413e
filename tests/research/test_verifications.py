"""Every shipped network under the second program: the records' page, and the command."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from alga import runs
from alga.research import verifications
from tests.conftest import ROOT, Alga


def record(network: str, agrees: bool = True) -> dict[str, Any]:
    margins = {"real": 7.12345, "float64": 7.1234, "float32": None if network == "whole" else 7.0}
    outside = {"outside": 2e-13} if network == "whole" else {}
    (settings,) = verifications.plan([network])
    objections = [] if agrees else ["the certificate states more"]
    return {**settings, "agrees": agrees, "margins": margins, "objections": objections, "seconds": 90.0, **outside}


def test_page_has_a_row_for_each_network() -> None:
    page = verifications.page([record("parity"), record("whole")])
    assert "2 of 2 certificates agree" in page
    assert "| `parity` | 6 | 7.1234 | 7.1234 | 7.0000 |  | 90 s | yes |" in page
    assert "| `whole` | 24,741 | 7.1234 | 7.1234 | not bounded | 2.0e-13 | 90 s | yes |" in page


def test_committed_page_is_about_the_shipped_networks_as_they_are() -> None:
    found = json.loads((ROOT / "results" / "verify.json").read_text())["records"]
    known = sorted(verifications.plan(runs.shipped()), key=lambda settings: settings["network"])
    assert [{name: record[name] for name in known[0]} for record in found] == known
    assert all(record["agrees"] for record in found)
    assert (ROOT / "docs" / "verified.md").read_text() == verifications.page(found)


def test_page_tells_a_refused_certificate() -> None:
    page = verifications.page([record("parity", agrees=False), record("whole")])
    assert "1 of 2 certificates agree" in page
    assert "**no**: the certificate states more" in page


def test_networks_are_known_by_their_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "parity"
    folder.mkdir()
    for name in ("certificate.json", runs.WEIGHTS):
        (folder / name).write_bytes((runs.SHIPPED / "parity" / name).read_bytes())
    (before,) = verifications.plan(["parity"])
    monkeypatch.setattr(runs, "SHIPPED", tmp_path)
    assert verifications.plan(["parity"]) == [before]
    (folder / runs.WEIGHTS).write_bytes(b"other")
    (after,) = verifications.plan(["parity"])
    assert after == {**before, "weights": hashlib.sha256(b"other").hexdigest()}


def test_command_verifies_continues_and_writes_its_page(alga: Alga, tmp_path: Path) -> None:
    out = tmp_path / "verify"
    assert alga("lab", "verify", "parity", "--out", out, "--workers", "1").code == 0
    line = (out / "verify.jsonl").read_text()
    result = alga("lab", "verify", "parity", "and-base-2", "--out", out, "--workers", "1")
    assert result.out == f"{out / 'verified.md'}\n"
    assert (out / "verify.jsonl").read_text().startswith(line)  # parity was not verified again
    assert (out / "verify.jsonl").read_text().count("\n") == 2
    assert "2 of 2 certificates agree" in (out / "verified.md").read_text()


def test_unknown_network_is_refused(alga: Alga, tmp_path: Path) -> None:
    result = alga("lab", "verify", "nothing", "--out", tmp_path / "o")
    assert result.code == 2
    assert result.err.startswith("alga: unknown network 'nothing'; there are addition,")
