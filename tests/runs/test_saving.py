"""A run changes atomically: readers see the old or the new one, also after full disks and kills."""

from __future__ import annotations

import dataclasses
import errno
import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from alga import runs
from alga.base import files
from alga.base.errors import AlgaError
from alga.runs import Run, checksums
from alga.trust.certificate import Certificate
from tests.conftest import Alga
from tests.killing import Kill, kill_before


@pytest.fixture
def other(parity: Path) -> Run:
    """The same network with a new, weaker certificate."""
    run = runs.load(parity)
    assert run.certificate is not None
    return dataclasses.replace(run, certificate=dataclasses.replace(run.certificate, strength="checked", proof=None))


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def strength(folder: Path) -> str:
    certificate = runs.load(folder).certificate
    assert isinstance(certificate, Certificate)
    return certificate.strength


@pytest.mark.parametrize("call", ["os.fsync", "os.open", "os.replace"])
def test_full_disk_at_any_write_keeps_the_old_run(
    call: str, parity: Path, other: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fails in turn at each call that needs disk space."""
    before, asked, left = content(parity), getattr(os, call.partition(".")[2]), 0

    def full(*given: Any, **more: Any) -> Any:
        nonlocal left
        makes = call != "os.open" or bool(given[1] & os.O_CREAT)
        left -= int(makes)
        if makes and left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return asked(*given, **more)

    for moment in range(100):
        left = moment
        monkeypatch.setattr(call, full)
        try:
            runs.keep(parity, other)
        except OSError as problem:
            assert problem.errno == errno.ENOSPC  # noqa: PT017
            monkeypatch.undo()
        else:
            break
        now = content(parity)
        if call != "os.replace" or now[checksums.CHECKSUMS] == before[checksums.CHECKSUMS]:
            assert now == before
        assert strength(parity) == ("proven" if now[checksums.CHECKSUMS] == before[checksums.CHECKSUMS] else "checked")
    monkeypatch.undo()
    assert moment >= 3
    assert strength(parity) == "checked"


def after(changes: int) -> Callable[[str], bool]:
    """Return a predicate that is true after this many changes."""
    made = itertools.count()
    return lambda _: next(made) >= changes


def test_kill_at_any_write_leaves_the_old_or_the_new_run(
    parity: Path, other: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    for moment in range(100):
        folder = Path(shutil.copytree(parity, tmp_path / f"{moment}"))
        kill_before(monkeypatch, after(moment))
        try:
            runs.keep(folder, other)
        except Kill:
            monkeypatch.undo()
        else:
            break
        seen.append(strength(folder))
        checksums.hold(folder).release()  # as the next writer would
        assert strength(folder) == seen[-1]
        checksums.steady(folder, checksums.Snapshot.check)
        assert content(folder).keys() - {files.LOCK} == content(parity).keys()
    monkeypatch.undo()
    assert seen == sorted(seen, reverse=True)  # proven before the switch, checked after it
    assert set(seen) == {"proven", "checked"}
    assert len(seen) >= 8
    assert content(folder).keys() == content(parity).keys()


def test_next_writer_completes_a_half_replaced_run(
    parity: Path, other: Run, monkeypatch: pytest.MonkeyPatch, alga: Alga
) -> None:
    done = kill_before(monkeypatch, lambda change: change == "place certificate.json")
    with pytest.raises(Kill):
        runs.keep(parity, other)
    monkeypatch.undo()
    assert "place SHA256SUMS" in done
    assert "proven" in (parity / "certificate.json").read_text()
    assert strength(parity) == "checked"
    assert alga("certify", parity, "--save").code == 0
    assert strength(parity) == "checked"
    assert '"checked"' in (parity / "certificate.json").read_text()


def test_weights_and_certificate_change_together(
    parity: Path, other: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A network trained further: new weights, new certificate."""
    import torch

    from alga.runs import Weights

    changed = runs.load(parity, read_certificate=False)
    with torch.no_grad():
        changed.model.head.weight.mul_(1.5)
    new = dataclasses.replace(changed, weights=Weights.of(changed.config, changed.model)).judged()
    assert new.certified
    old, seen = runs.load(parity).sha256, []
    for moment in range(100):
        kill_before(monkeypatch, after(moment))
        try:
            runs.save(parity, new)
        except Kill:
            monkeypatch.undo()
        else:
            break
        found = runs.load(parity)
        assert found.certified
        seen.append(found.sha256)
        checksums.hold(parity).release()
    monkeypatch.undo()
    assert seen[0] == old
    assert runs.load(parity).sha256 == new.sha256 != old


def test_saving_uncertified_weights_removes_the_old_certificate(parity: Path) -> None:
    run = runs.load(parity)
    runs.save(parity, dataclasses.replace(run, certificate=None, table=None))
    assert not runs.load(parity).certified
    assert not {"certificate.json", "table.json"} & content(parity).keys()


def test_link_staged_by_a_stranger_is_not_moved_into_place(parity: Path, alga: Alga) -> None:
    """An attacker may give it the name that a kill leaves."""
    sha256 = (parity / checksums.CHECKSUMS).read_text().split()[0]
    waiting = parity / f".README.md.{sha256}{checksums.WAITING}"
    waiting.symlink_to(parity / "config.json")
    before = content(parity)
    with pytest.raises(AlgaError, match="is a link"):
        runs.load(parity)
    result = alga("certify", parity, "--save")
    assert (result.code, "is a link" in result.err) == (2, True)
    assert content(parity) == before


WRITER = """
import dataclasses, sys, time
from collections.abc import Callable
from pathlib import Path
from alga import runs
folder = Path(sys.argv[1])
proven = runs.load(folder)
weaker = dataclasses.replace(proven.certificate, strength="checked", proof=None)
checked = dataclasses.replace(proven, certificate=weaker)
print("ready", flush=True)
while True:
    for run in (checked, proven):
        runs.keep(folder, run)
        time.sleep(0.001)
"""


@pytest.mark.parametrize("loads", [400, pytest.param(5000, marks=pytest.mark.slow)])
def test_concurrent_readers_see_the_old_or_the_new_run(parity: Path, loads: int) -> None:
    writer = subprocess.Popen([sys.executable, "-c", WRITER, parity], stdout=subprocess.PIPE, text=True)
    try:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        seen = {"proven": 0, "checked": 0}
        for _ in range(loads):
            seen[strength(parity)] += 1
        assert writer.poll() is None
    finally:
        writer.kill()
        writer.communicate()
    assert min(seen.values()) > loads // 20  # it did change while they were reading


def test_folder_that_keeps_changing_is_refused(parity: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checksums.Snapshot, "holds", lambda _: False)
    with pytest.raises(AlgaError, match="keeps changing"):
        runs.load(parity)
