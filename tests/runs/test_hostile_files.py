"""Hostile run folders: any bytes are read or refused in one line, quickly and in bounded memory."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alga import runs
from alga.base.errors import AlgaError
from alga.cli.app import in_one_line
from alga.runs import adoption, config, r_files, weights
from alga.training.trainer import Training
from alga.trust.certificate import Certificate
from alga.trust.table import Table
from tests.conftest import Alga, no_hang, tiny
from tests.runs.hostile_data import DEEP, JSON, PARITY, altered, only_refused


@settings(max_examples=60)
@given(st.data())
@pytest.mark.parametrize("name", ["config.json", "certificate.json", "table.json"])
def test_altered_file_of_a_run_is_refused(name: str, data: st.DataObject) -> None:
    text = (PARITY / name).read_text()
    changed = data.draw(altered(text))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(PARITY, Path(folder) / "run"))
        (copy / name).write_text(changed)
        if json.loads(changed) == json.loads(text):
            return
        with pytest.raises(AlgaError) as refused:
            runs.load(copy)
        assert "\n" not in in_one_line(str(refused.value))


READERS: dict[str, Callable[[bytes], object]] = {
    "certificate": lambda data: Certificate.from_json(data.decode(errors="replace")),
    "table": lambda data: Table.from_json(data.decode(errors="replace")),
    "R data": r_files.parse,
    "R data after its header": lambda data: r_files.parse(b"X\n" + bytes([0, 0, 0, 2]) + bytes(8) + data),
}


@pytest.mark.parametrize("reader", READERS)
@given(data=st.binary(max_size=300) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_read_or_refused(reader: str, data: bytes) -> None:
    with only_refused():
        READERS[reader](data)


@pytest.mark.parametrize("name", ["config.json", "certificate.json", "table.json", "model.safetensors", "SHA256SUMS"])
@pytest.mark.parametrize("kind", ["pipe", "folder", "loop", "device"])
def test_special_file_in_a_run_is_refused_at_once(parity: Path, name: str, kind: str) -> None:
    (parity / name).unlink()
    match kind:
        case "pipe":
            os.mkfifo(parity / name)
        case "folder":
            (parity / name).mkdir()
        case "loop":
            (parity / name).symlink_to(parity / name)
        case "device":
            (parity / name).symlink_to("/dev/zero")
    with no_hang(), pytest.raises(AlgaError):
        runs.load(parity)


@pytest.mark.parametrize("name", ["config.json", "certificate.json", "table.json"])
def test_too_large_file_of_a_run_is_refused_unread(parity: Path, name: str) -> None:
    os.truncate(parity / name, 2**40)
    with pytest.raises(AlgaError, match=r"has more than the .* bytes that are read"):
        runs.load(parity)


def test_run_folder_runs_no_code(parity: Path, alga: Alga, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task name in config.json could name a Python file, which would then run."""
    (parity / "evil.py").write_text(f"open({str(parity / 'trap')!r}, 'w')\n")
    content = json.loads((parity / "config.json").read_text())
    for name in (f"{parity}/evil.py:Evil", "evil.py:Evil"):
        monkeypatch.chdir(parity)
        content["task"] = name
        (parity / "config.json").write_text(json.dumps(content))
        with pytest.raises(AlgaError, match="unknown task"):
            runs.load(parity)
        content["task"] = "parity"
        content["training"]["recipe"]["task"] = name
        (parity / "config.json").write_text(json.dumps(content))
        with contextlib.suppress(AlgaError):
            runs.load(parity)
        like = alga("train", "--like", parity, "--out", parity / f"like-{len(name)}", "--steps", 1)
        assert (like.code, "trap" in like.err) == (1, False), like.err  # trains parity for one step
    stopped = Training.start(parity / "stopped", tiny(), seed=5, threads=1)
    list(stopped.run(should_stop=lambda: stopped.step >= 10))
    content = json.loads((parity / "stopped" / "config.json").read_text())
    content["training"]["recipe"]["task"] = f"{parity}/evil.py:Evil"
    (parity / "stopped" / "config.json").write_text(json.dumps(content))
    resumed = alga("train", "--resume", parity / "stopped")
    assert (resumed.code, "belongs to other settings" in resumed.err) == (2, True), resumed.err
    assert not (parity / "trap").exists()


@given(st.binary(max_size=60), st.integers(0, 400), st.integers(0, 2**64 - 1))
def test_any_weight_file_is_opened_or_refused(data: bytes, place: int, size: int) -> None:
    whole = (PARITY / "model.safetensors").read_bytes()
    spoiled = whole[:place] + data + whole[place + len(data) :]
    loaded = config.load(PARITY)
    for content in (data, size.to_bytes(8, "little") + data, size.to_bytes(8, "little") + whole[8:], spoiled):
        with only_refused():
            weights.check(content, loaded, Path("x"))
            weights.unpack(content, loaded, Path("x"))


def header(entries: dict[str, object], more: bytes = b"") -> bytes:
    text = json.dumps({"__metadata__": {"alga": config.load(PARITY).identity}} | entries).encode()
    return len(text).to_bytes(8, "little") + text + more


HEADERS = {
    "a huge shape": header(
        {"head.weight": {"dtype": "F32", "shape": [2**40, 2**20], "data_offsets": [0, 8]}}, bytes(8)
    ),
    "a shape that overflows": header({"a": {"dtype": "F32", "shape": [2**63, 2**63], "data_offsets": [0, 0]}}),
    "a shape below zero": header({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}, bytes(4)),
    "offsets beyond the end": header({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}, bytes(4)),
    "offsets backwards": header({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}}, bytes(4)),
    "an unknown type": header({"a": {"dtype": "F7", "shape": [1], "data_offsets": [0, 4]}}, bytes(4)),
    "no weights": header({}),
    "numbers for entries": header({"a": 3}),
    "deep": len(DEEP).to_bytes(8, "little") + DEEP.encode(),
    "a header of 2^60 bytes": (2**60).to_bytes(8, "little") + b"{}",
}


@pytest.mark.parametrize("kind", HEADERS)
def test_hostile_header_is_refused(kind: str, parity: Path) -> None:
    (parity / "model.safetensors").write_bytes(HEADERS[kind])
    with pytest.raises(AlgaError, match=r"model\.safetensors is damaged"):
        runs.load(parity)
    with only_refused():
        adoption.read(parity / "model.safetensors")
