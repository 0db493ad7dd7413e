"""Slow: full-size hostile input, with time and memory measured; and longer random tests."""

from __future__ import annotations

import gzip
import io
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from alga import runs
from alga.base.errors import AlgaError
from alga.runs import adoption
from alga.training.trainer import Training
from tests.runs.foreign_files import as_archive, as_torch
from tests.runs.hostile_data import (
    ALLOCATES,
    DEEP,
    NARROW,
    PARITY,
    altered,
    archive,
    deflated,
    file_of,
    only_refused,
    packed,
    r_list,
    two_directories,
)
from tests.training.small_runs import begin

pytestmark = pytest.mark.slow

MEMORY = 1500  # MB: torch alone takes some 300
SECONDS = 60  # anything longer is a hang


def measured(*arguments: object, stdin: bytes | None = None) -> tuple[int, str, int]:
    """Run the command; return its exit code, stderr and peak memory in MB."""
    script = (
        "import resource, subprocess, sys; done = subprocess.run([sys.executable, '-m', 'alga', *sys.argv[1:]]); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024); sys.exit(done.returncode)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        input=stdin, capture_output=True, check=False, timeout=SECONDS,
    )  # fmt: skip
    return done.returncode, done.stderr.decode(), int(done.stdout.split()[-1])


def many_bombs() -> bytes:
    """Two hundred tensors that unpack to 60 MB each, from a file of some megabytes."""
    with zipfile.ZipFile(io.BytesIO(as_archive(torch.zeros(15_000, 1000)))) as archive:
        one = deflated(archive.read("archive/data/0"), archive.read("archive/data.pkl"))
    return r_list({f"wte_out.{i}": packed(one) for i in range(200)})


def torch_bomb() -> bytes:
    """A PyTorch file whose archive does not state its unpacked size."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        with zipfile.ZipFile(io.BytesIO(as_torch(NARROW))) as whole:
            for name in whole.namelist():
                archive.writestr(name, whole.read(name))
        archive.writestr("archive/data/99", bytes(2**30))
    return buffer.getvalue()


IMPORTS: dict[str, tuple[Callable[[], bytes], str]] = {
    "gzip of 2 GB": (lambda: gzip.compress(b"X\n") + b"".join([gzip.compress(bytes(2**28), 1)] * 8), "unpacks to"),
    "many bombs": (many_bombs, "unpacked"),
    "a torch archive of 1 GB": (torch_bomb, "unpacked"),
    "a bytearray of 2 GB": (
        lambda: archive(ALLOCATES.replace(struct.pack("<i", 2**30), struct.pack("<i", 2**31 - 1))), "bytearray",
    ),
    "1.5 GB beside the directory": (lambda: two_directories(375 * 10**6), "nothing but weights"),
    "a tensor of 2^45 numbers in 4 bytes": (
        lambda: as_torch({"wte_out.weight": torch.ones(1).expand(2**45)}), "have more than",
    ),
    "a safetensors header of 60 MB": (
        lambda: (60 * 2**20).to_bytes(8, "little") + b"[" * (60 * 2**20), "safetensors",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", IMPORTS)
def test_bomb_is_refused_in_bounded_memory_and_time(kind: str, tmp_path: Path) -> None:
    make, reason = IMPORTS[kind]
    (tmp_path / "bomb").write_bytes(make())
    code, said, memory = measured("import", tmp_path / "bomb", "--out", tmp_path / "run")
    assert (code, said.count("\n")) == (2, 1), said
    assert reason in said
    assert memory < MEMORY
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["config.json", "certificate.json", "table.json"])
def test_json_that_grows_in_memory_is_refused(name: str, tmp_path: Path) -> None:
    """Four bytes of JSON can be a hundred in memory."""
    run = Path(shutil.copytree(runs.SHIPPED / "addition-base-16", tmp_path / "run"))
    size = (run / name).stat().st_size
    (run / name).write_bytes((b"[" + b"{},[]," * (max(size, 900_000) // 6))[:-1] + b"]")
    code, said, memory = measured("add", "1", "2", "--base", "16", "--model", run)
    assert (code, said.count("\n")) == (2, 1), said
    assert memory < 600


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        (["add", "--pairs", "/dev/zero"], None),
        (["add", "@/dev/zero", "1"], None),
        (["add", "@/dev/urandom", "1"], None),
        (["add", "--pairs", "-"], b"1 " + b"7" * 10**8),
        (["import", "/dev/zero", "--out", "x"], None),
        (["lab", "sweep", "/dev/zero"], None),
        (["certify", "/dev/zero"], None),
        (["add", "1", "2", "--model", "/dev/fd/0"], b""),
    ],
)
def test_endless_input_is_refused(arguments: list[str], stdin: bytes | None, tmp_path: Path) -> None:
    code, said, memory = measured(*arguments, stdin=stdin)
    assert (code, said.count("\n")) == (2, 1), said
    assert memory < MEMORY


def test_many_pairs_take_little_memory(tmp_path: Path) -> None:
    with (tmp_path / "pairs").open("w") as file:
        for i in range(200_000):
            file.write(f"{i} {i}\n")
    code, said, memory = measured("add", "--pairs", tmp_path / "pairs", "--out", tmp_path / "sums")
    assert code == 0, said
    assert all("calculating" in line for line in said.splitlines())
    sums = (tmp_path / "sums").read_text().splitlines()
    assert (len(sums), sums[-1]) == (200_000, "399998")
    assert memory < 600


SLOWLY = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(scope="module")
def unfinished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unfinished") / "run"
    training = begin(folder)
    list(training.run(should_stop=lambda: training.step >= 25))
    return folder


@SLOWLY
@given(data=st.data())
def test_altered_training_is_resumed_or_refused(unfinished: Path, data: st.DataObject) -> None:
    text = data.draw(altered((unfinished / "config.json").read_text()))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(unfinished, Path(folder) / "run"))
        (copy / "config.json").write_text(text)
        with only_refused():
            list(Training.resume(copy).run(should_stop=lambda: True))


@SLOWLY
@given(place=st.integers(0, 10**7), other=st.binary(min_size=1, max_size=4))
def test_checkpoint_with_changed_bytes_is_refused(unfinished: Path, place: int, other: bytes) -> None:
    whole = (unfinished / runs.CHECKPOINT).read_bytes()
    at = place % (len(whole) - 4)
    spoiled = whole[:at] + other + whole[at + len(other) :]
    if spoiled == whole:
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(unfinished, Path(folder) / "run"))
        (copy / runs.CHECKPOINT).write_bytes(spoiled)
        with pytest.raises(AlgaError, match=r"is damaged|belongs to other settings"):
            Training.resume(copy)


@SLOWLY
@given(place=st.integers(0, 10**7), other=st.binary(min_size=1, max_size=8))
@pytest.mark.parametrize("kind", ["state_dict", "old state_dict"])
def test_torch_file_with_changed_bytes_is_read_or_refused(kind: str, place: int, other: bytes) -> None:
    whole = as_torch(NARROW, _use_new_zipfile_serialization=kind == "state_dict")
    at = place % len(whole)
    with file_of(whole[:at] + other + whole[at + len(other) :]) as path, only_refused():
        adoption.read(path)


@SLOWLY
@given(data=st.data())
@pytest.mark.parametrize("name", ["config.json", "certificate.json", "table.json", "SHA256SUMS", "README.md"])
def test_run_with_changed_bytes_is_refused(name: str, data: st.DataObject) -> None:
    whole = (PARITY / name).read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    other = data.draw(st.binary(max_size=6))
    spoiled = whole[:at] + other + whole[at + data.draw(st.integers(0, 6)) :]
    if spoiled == whole:
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(PARITY, Path(folder) / "run"))
        (copy / name).write_bytes(spoiled)
        with pytest.raises(AlgaError):
            runs.load(copy)


def test_deep_nesting_is_one_line_everywhere(tmp_path: Path) -> None:
    (tmp_path / "deep").write_text(DEEP)
    (tmp_path / "compare.json").write_text(DEEP)
    (tmp_path / "share.json").write_text(DEEP)
    (tmp_path / "paper.json").write_text(DEEP)
    for arguments in (
        ("lab", "sweep", tmp_path / "deep", "--out", tmp_path / "x"),
        ("lab", "compare", "--report", "--results", tmp_path / "compare.json", "--page", tmp_path / "page.md"),
        ("lab", "report", "--results", tmp_path, "--page", tmp_path / "page.md"),
        ("lab", "paper", "--out", tmp_path, "--quick"),
    ):
        code, said, _ = measured(*arguments)
        assert (code, said.count("\n")) == (2, 1), said


def test_measurement_sees_used_memory(tmp_path: Path) -> None:
    """Shows that the limits above can be exceeded."""
    (tmp_path / "mine.py").write_text("held = b'x' * 1_700_000_000\n")
    code, _, memory = measured("train", "--task", f"{tmp_path / 'mine.py'}:Mine")
    assert code == 2
    assert memory > MEMORY
