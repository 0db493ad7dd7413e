"""ALGA works without what Windows lacks: fcntl, O_NOFOLLOW, opening relative to a folder, fchmod."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import alga
from alga import runs
from alga.base import files, folders, signals
from alga.training.trainer import Training
from tests.conftest import tiny

MISSING = ("O_NOFOLLOW", "O_DIRECTORY", "O_NONBLOCK", "O_NOCTTY", "O_PATH", "fchmod")


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that looks to ALGA as if it had none of these."""
    monkeypatch.setattr(folders, "HAS_LOCKS", False)
    monkeypatch.setattr(folders, "HAS_DIR_FD", False)
    monkeypatch.setattr(folders, "SAFE_OPEN", 0)
    monkeypatch.setattr(files, "SAFE_OPEN", 0)
    for name in MISSING:
        monkeypatch.delattr(os, name, raising=False)
    folders._log_missing_locks.cache_clear()


@pytest.mark.usefixtures("windows")
def test_training_saving_and_solving_work_without_locks(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    training = Training.start(tmp_path / "run", tiny(), seed=5, threads=1)
    list(training.run(should_stop=lambda: training.step >= 10))
    training = Training.resume(tmp_path / "run")
    list(training.run())
    assert runs.load(tmp_path / "run").certified
    assert alga.load(tmp_path / "run").solve("1101").answer == "1"
    assert [path.name for path in (tmp_path / "run").iterdir() if path.name.startswith(".")] == []
    said = [record.getMessage() for record in caplog.records]
    assert said == ["alga: no file locks on this system; do not write to a folder from two processes"]


@pytest.mark.usefixtures("windows")
def test_without_locks_other_writers_temporary_files_are_kept(tmp_path: Path) -> None:
    with files.writing(tmp_path / "sum") as file:
        file.write(b"first")
        files.write(tmp_path / "sum", b"second")
        folders.Folder(tmp_path).remove_abandoned()
    assert (tmp_path / "sum").read_bytes() == b"first"


@pytest.mark.usefixtures("windows")
def test_lock_file_is_closed_before_it_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows refuses to remove a file that is open."""
    held, closed, close = files.Lock(tmp_path), list[int](), os.close
    monkeypatch.setattr(os, "close", lambda handle: (closed.append(handle), close(handle)))
    monkeypatch.setattr(folders.Folder, "remove", lambda folder, name: closed or pytest.fail("removed while open"))
    held.release()
    assert closed


def test_package_imports_and_adds_without_posix_modules() -> None:
    script = (
        "import os, sys\nsys.modules['fcntl'] = None\nos.supports_dir_fd = set()\n"
        f"for name in {MISSING}:\n    vars(os).pop(name, None)\n"
        "import alga\nprint(alga.load().add('999', '1'))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("1000\n", "")


def test_signal_during_an_import_is_raised_again_on_windows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On Windows, os.kill with SIGTERM ends a process at once."""
    monkeypatch.setattr("os.name", "nt")
    monkeypatch.setattr("os.kill", lambda *_: pytest.fail("killed"))
    monkeypatch.setattr(signals, "RESEND_SECONDS", 0.0)
    counts = iter([0, 1])
    monkeypatch.setattr(signals, "_count_imports", lambda _: next(counts, 0))
    with pytest.raises(signals.SignalReceived), signals.raise_on_signal():  # noqa: PT012
        signal.raise_signal(signal.SIGTERM)
        time.sleep(1)
