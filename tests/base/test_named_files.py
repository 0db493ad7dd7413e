"""Files named by the user: replaced atomically, keeping permissions; special files are never replaced."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from alga import runs
from alga.base import files
from alga.base.errors import AlgaError
from alga.research import sweeps
from alga.training.trainer import Training
from tests.base.special_files import exchange
from tests.conftest import Alga, tiny


@pytest.fixture
def shared_memory() -> Iterator[Path]:
    """A folder in /dev with regular files."""
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("no /dev/shm here")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


def test_files_in_shared_memory_are_replaced_not_appended_to(shared_memory: Path, alga: Alga) -> None:
    out = shared_memory / "sum"
    out.write_text("an older file\n")
    assert alga("add", "1", "2", "--out", out).code == 0
    assert out.read_text() == "3\n"
    training = Training.start(shared_memory / "run", tiny(steps=20, margin=99.0), seed=5, threads=1)
    list(training.run())
    assert not runs.load(shared_memory / "run").certified


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_open_descriptor_is_written_to(name: str, tmp_path: Path) -> None:
    """`alga … --out /dev/stdout >> file` appends to the file."""
    (tmp_path / "file").write_text("first\n")
    script = f"from pathlib import Path; from alga.base import files; files.write(Path({name!r}), b'second\\n')"
    with (tmp_path / "file").open("ab") as file:
        subprocess.run([sys.executable, "-c", script], stdout=file, check=True)
    assert (tmp_path / "file").read_text() == "first\nsecond\n"


def test_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "file"
    files.write(path, b"old")
    path.chmod(0o600)
    files.write(path, b"new")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o600)


@pytest.mark.parametrize("kind", ["pipe", "socket", "folder", "device"])
def test_sweep_results_must_be_a_file(kind: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    exchange(tmp_path / "in" / "out.jsonl", kind)
    with pytest.raises((AlgaError, OSError)):
        sweeps.run("squares:square", [{"x": 1}], tmp_path / "in" / "out.jsonl")


@pytest.mark.parametrize("text", ["a letter", "one line\nand half of one"])
def test_file_without_sweep_results_is_not_overwritten(text: str, tmp_path: Path) -> None:
    (tmp_path / "letter").write_text(text)
    with pytest.raises(AlgaError, match="letter"):
        sweeps.run("squares:square", [{"x": 1}], tmp_path / "letter")
    assert (tmp_path / "letter").read_text() == text
