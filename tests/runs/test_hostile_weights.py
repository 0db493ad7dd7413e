"""Hostile weights to import: R files, archives and tensors with false claims."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from alga import runs
from alga.base.errors import AlgaError
from alga.runs import adoption
from tests.base.special_files import exchange
from tests.conftest import Alga, no_hang
from tests.runs.foreign_files import as_archive, as_r, as_torch
from tests.runs.hostile_data import NARROW, PARITY, deflated, file_of, only_refused, packed, r_list

R_FILE = as_r(NARROW)


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.binary(min_size=1, max_size=8))
def test_r_file_with_changed_bytes_is_read_or_refused(place: int, data: bytes) -> None:
    import gzip

    content = gzip.decompress(R_FILE)
    at = place % len(content)
    with file_of(gzip.compress(content[:at] + data + content[at + len(data) :], 1)) as path, only_refused():
        adoption.read(path)


def test_packed_archives_are_refused(tmp_path: Path) -> None:
    """torch never compresses them, and uncompressed data cannot expand."""
    import zipfile

    with zipfile.ZipFile(io.BytesIO(as_archive(torch.zeros(200, 1000)))) as whole:
        one = deflated(whole.read("archive/data/0"), whole.read("archive/data.pkl"))
    (tmp_path / "file").write_bytes(r_list({"wte_out.weight": packed(one)}))
    with pytest.raises(AlgaError, match="expected an archive as PyTorch writes it"):
        adoption.read(tmp_path / "file")


@pytest.mark.parametrize("write", [as_torch, as_r])
def test_sum_of_many_large_claims_is_refused(write: Callable[[dict[str, torch.Tensor]], bytes], tmp_path: Path) -> None:
    """Each tensor is below the limit; together they are far above it."""
    wide = {f"wte_out.{i}": torch.zeros(1).expand(64, 2**15 - 1) for i in range(50)}
    (tmp_path / "file").write_bytes(write(wide))
    assert (tmp_path / "file").stat().st_size < 2**16
    with pytest.raises(AlgaError, match="the tensors together have more than"):
        adoption.read(tmp_path / "file")


def test_tensor_with_100000_dimensions_is_refused_at_once(tmp_path: Path) -> None:
    pickled = (
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(ctorch\nFloatStorage\nK\x01K\x00(" + b"K\x01" * 200_000 + b"t."
    )
    for description in (pickled, pickled[:60_000] + b"."):
        (tmp_path / "file").write_bytes(r_list({"wte_out.weight": packed(deflated(bytes(4), description))}))
        with no_hang(), pytest.raises(AlgaError):
            adoption.read(tmp_path / "file")


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (torch.ones(1).expand(2**45), "the tensors together have more than"),
        (torch.ones(1).as_strided((2**20, 2**20), (0, 0)), "the tensors together have more than"),
        (torch.ones(2, 2).to_sparse(), "expected plain tensors"),
        (torch.ones(2, device="meta"), "expected plain tensors"),
    ],
)
def test_tensor_larger_than_its_data_is_refused(tensor: torch.Tensor, message: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(as_torch({"wte_out.weight": tensor}))
    with pytest.raises(AlgaError, match=message):
        adoption.read(tmp_path / "file")


@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "folder"])
def test_weights_must_be_a_regular_file(kind: str, alga: Alga, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    exchange(tmp_path / "in" / "weights", kind)
    result = alga("import", tmp_path / "in" / "weights", "--out", tmp_path / "run")
    expected = "is a directory" if kind == "folder" else "expected an ordinary file, got a pipe, a socket or a device"
    assert (result.code, result.err.count("\n")) == (2, 1), result.err
    assert expected in result.err
    assert not (tmp_path / "run").exists()


def test_named_link_to_weights_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(PARITY / "model.safetensors")
    assert adoption.read(tmp_path / "link").ours


def test_non_finite_weights_are_refused(parity: Path) -> None:
    (parity / "certificate.json").unlink()
    data = (parity / "model.safetensors").read_bytes()
    metadata = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]
    for value in (torch.nan, torch.inf, -torch.inf):
        weights = safetensors.torch.load(data)
        weights["head.weight"][0, 0] = value
        (parity / "model.safetensors").write_bytes(safetensors.torch.save(weights, metadata))
        with pytest.raises(AlgaError, match="holds a number that is not finite"):
            runs.load(parity)
