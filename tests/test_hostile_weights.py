"""Hostile weights from elsewhere: R files, archives and tensors that are not what they say."""

from __future__ import annotations

import io
import json
import os
import time
from pathlib import Path

import pytest
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from alga import foreign, runs
from alga.errors import AlgaError
from tests.test_foreign import as_archive, as_r, as_torch, raw, theirs, vector, wrapped
from tests.test_hostile import PARITY, file_of, only_refused

NARROW = {theirs(name): tensor for name, tensor in safetensors.torch.load_file(PARITY / "model.safetensors").items()}
R_FILE = as_r(NARROW)


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.binary(min_size=1, max_size=8))
def test_an_r_file_with_other_bytes_anywhere_is_read_or_refused(place: int, data: bytes) -> None:
    import gzip

    content = gzip.decompress(R_FILE)
    at = place % len(content)
    with file_of(gzip.compress(content[:at] + data + content[at + len(data) :], 1)) as path, only_refused():
        foreign.read(path)


def packed(archive: bytes) -> bytes:
    return raw(wrapped(raw(archive), "tensor"))


def r_list(tensors: dict[str, bytes]) -> bytes:
    import gzip

    return gzip.compress(wrapped(vector(19, list(tensors.values()), list(tensors)), "list"))


def deflated(numbers: bytes, description: bytes) -> bytes:
    import zipfile

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data/0", numbers)
        archive.writestr("archive/data.pkl", description)
    return buffer.getvalue()


def test_many_small_bombs_are_refused_together(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each tensor unpacks to less than the limit; all of them would be many times as much."""
    import zipfile

    monkeypatch.setattr(foreign, "LARGEST", 2**20)
    with zipfile.ZipFile(io.BytesIO(as_archive(torch.zeros(200, 1000)))) as whole:
        one = deflated(whole.read("archive/data/0"), whole.read("archive/data.pkl"))
    (tmp_path / "file").write_bytes(r_list({f"wte_out.{i}": packed(one) for i in range(50)}))
    assert (tmp_path / "file").stat().st_size < 2**20
    with pytest.raises(AlgaError, match="the tensors together unpack to more than"):
        foreign.read(tmp_path / "file")


def test_a_tensor_of_a_hundred_thousand_dimensions_is_refused_at_once(tmp_path: Path) -> None:
    pickled = (
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(ctorch\nFloatStorage\nK\x01K\x00(" + b"K\x01" * 200_000 + b"t."
    )
    began = time.monotonic()
    for description in (pickled, pickled[:60_000] + b"."):
        (tmp_path / "file").write_bytes(r_list({"wte_out.weight": packed(deflated(bytes(4), description))}))
        with pytest.raises(AlgaError):
            foreign.read(tmp_path / "file")
    assert time.monotonic() - began < 3


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (torch.ones(1).expand(2**45), "the tensors together have more than"),
        (torch.ones(1).as_strided((2**20, 2**20), (0, 0)), "the tensors together have more than"),
        (torch.ones(2, 2).to_sparse(), "expected plain tensors"),
        (torch.ones(2, device="meta"), "expected plain tensors"),
    ],
)
def test_a_tensor_that_claims_more_than_there_is_is_refused(tensor: torch.Tensor, message: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(as_torch({"wte_out.weight": tensor}))
    with pytest.raises(AlgaError, match=message):
        foreign.read(tmp_path / "file")


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_weights_come_from_a_file_only(kind: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    with pytest.raises(AlgaError, match="expected an ordinary file, got a pipe or a device"):
        foreign.read(tmp_path / kind)


def test_weights_that_are_not_finite_are_no_network(parity: Path) -> None:
    (parity / "certificate.json").unlink()
    data = (parity / "model.safetensors").read_bytes()
    metadata = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]
    for value in (torch.nan, torch.inf, -torch.inf):
        weights = safetensors.torch.load(data)
        weights["head.weight"][0, 0] = value
        (parity / "model.safetensors").write_bytes(safetensors.torch.save(weights, metadata))
        with pytest.raises(AlgaError, match="holds a number that is not finite"):
            runs.load(parity)
