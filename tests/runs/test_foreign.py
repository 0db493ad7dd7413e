"""Imported weights: accepted if they fit, else refused in one line."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
import safetensors.torch
import torch

from alga import tasks
from alga.runs import adoption
from alga.solve.solver import Solver
from tests.conftest import Result
from tests.runs.foreign_files import as_r, as_torch, raw, theirs, wrapped


@pytest.fixture(scope="module")
def state() -> dict[str, torch.Tensor]:
    """The shipped weights under the author's names."""
    return {theirs(name): tensor.clone() for name, tensor in Solver.load().run.model.state_dict().items()}


# --- accepted ---------------------------------------------------------------------------------------------------------

WRITERS: dict[str, Callable[[dict[str, torch.Tensor]], bytes]] = {
    "state_dict": as_torch,
    "old state_dict": lambda state: as_torch(state, _use_new_zipfile_serialization=False),
    "safetensors": safetensors.torch.save,
    "R": as_r,
}


@pytest.mark.parametrize("kind", WRITERS)
def test_file_with_the_authors_names_becomes_a_run(
    kind: str, state: dict[str, torch.Tensor], alga: Callable[..., Result], tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(WRITERS[kind](state))
    imported = alga("import", tmp_path / "file", "--out", tmp_path / "run", "--task", "addition")
    assert imported.code == 0
    assert f"alga certify {tmp_path / 'run'}" in imported.out
    run = Solver.load(tmp_path / "run")
    assert not run.certified
    shipped = Solver.load().run.model.state_dict()
    assert all(torch.equal(tensor, shipped[name]) for name, tensor in run.run.model.state_dict().items())


@pytest.mark.parametrize("name", ["alga_r_Model.pt", "alga_r_model.safetensors"])
def test_authors_files_import_and_certify(
    name: str, reference: Path, alga: Callable[..., Result], tmp_path: Path
) -> None:
    """The proof that the architecture is the paper's."""
    assert alga("import", reference / name, "--out", tmp_path / "author").code == 0
    judged = alga("certify", tmp_path / "author", "--json")
    certificate = json.loads(judged.out)
    assert judged.code == 0
    assert (certificate["certified"], certificate["prompts"]) == (True, 2100)
    assert certificate["parameters"] == 102_464
    assert round(certificate["least_margin"], 2) == 10.18
    assert certificate["least_margin_prompt"] == "18C99"


def test_authors_weights_fail_on_one_digit_columns(
    reference: Path, alga: Callable[..., Result], tmp_path: Path
) -> None:
    """The paper's text writes `14C6`, its code `14C06`: the weights know only what they were trained on."""
    alga("import", reference / "alga_r_Model.pt", "--out", tmp_path / "author", "--task", "addition")
    domain = tasks.find("addition").domain
    lone = [prompt for prompt, instance in domain.items() if len(instance.column) == 1]
    decoded = Solver.load(tmp_path / "author").decoder(lone)
    wrong = [prompt for prompt, step in zip(lone, decoded, strict=True) if step.output != domain[prompt].output]
    assert (len(lone), len(wrong)) == (200, 178)


# --- refused ----------------------------------------------------------------------------------------------------------


class Hostile:
    """A pickle that would make a folder when loaded."""

    def __init__(self, trap: Path) -> None:
        self.trap = trap

    def __reduce__(self) -> object:
        return os.mkdir, (str(self.trap),)


def bomb() -> bytes:
    return gzip.compress(b"X\n" + bytes(adoption.MAX_IMPORT_BYTES + 10))


def deep() -> bytes:
    header = b"X\n" + struct.pack(">iii", 2, 0, 0)
    return gzip.compress(header + struct.pack(">ii", 19, 1) * 100_000)


def without(state: dict[str, torch.Tensor], name: str) -> dict[str, torch.Tensor]:
    return {key: tensor for key, tensor in state.items() if key != name}


BAD: dict[str, tuple[Callable[[dict[str, torch.Tensor], Path], bytes], str]] = {
    "nothing": (lambda s, t: b"", "neither a PyTorch state_dict, safetensors nor an R file"),
    "text": (lambda s, t: b"hello", "neither a PyTorch state_dict, safetensors nor an R file"),
    "a hostile pickle": (lambda s, t: pickle.dumps({"wte_out.weight": Hostile(t)}), "nothing but weights"),
    "a hostile torch file": (lambda s, t: as_torch({"wte_out.weight": Hostile(t)}), "nothing but weights"),
    "a whole pickled model": (lambda s, t: as_torch(torch.nn.Linear(2, 2)), "nothing but weights"),
    "a truncated torch file": (lambda s, t: as_torch(s)[:-1000], "nothing but weights"),
    "no state_dict": (lambda s, t: as_torch([1, 2]), "expected a state_dict"),
    "no tensors": (lambda s, t: as_torch({"wte_out.weight": 3}), "expected a state_dict"),
    "other names": (lambda s, t: as_torch({"weight": torch.ones(2)}), "holds 'weight', which is no parameter"),
    "a lost tensor": (lambda s, t: as_torch(without(s, "scale3.bias")), "final_norm.bias is missing"),
    "another shape": (lambda s, t: as_torch({**s, "scale3.bias": torch.ones(3)}), "has the shape [3], expected [64]"),
    "another type": (lambda s, t: as_torch({**s, "scale3.bias": torch.ones(64).double()}), "expected torch.float32"),
    "not finite": (lambda s, t: as_torch({**s, "scale3.bias": torch.full((64,), torch.nan)}), "not finite"),
    "a truncated R file": (lambda s, t: as_r(s)[:-1000], "got a damaged one"),
    "a flipped R file": (lambda s, t: flipped(as_r(s)), "damaged"),
    "gzip of nothing": (lambda s, t: gzip.compress(b""), "ends too early"),
    "gzip of text": (lambda s, t: gzip.compress(b"hello, world"), "serialised by R"),
    "a decompression bomb": (lambda s, t: bomb(), "unpacks to more than"),
    "a deep R list": (lambda s, t: deep(), "nested deeper than 20"),
    "an R function": (lambda s, t: gzip.compress(wrapped(struct.pack(">i", 3), "list")), "type 3 is not read"),
    "R lists of another kind": (lambda s, t: gzip.compress(wrapped(raw(b""), "tensor")), "torch for R writes"),
    "a truncated safetensors": (lambda s, t: safetensors.torch.save(s)[:-10], "or is damaged"),
}  # fmt: skip


def flipped(data: bytes) -> bytes:
    changed = bytearray(data)
    changed[len(data) // 2] ^= 0x10
    return bytes(changed)


@pytest.mark.parametrize("kind", BAD)
def test_other_files_are_refused_without_running_or_writing(
    kind: str, state: dict[str, torch.Tensor], alga: Callable[..., Result], tmp_path: Path
) -> None:
    make, message = BAD[kind]
    (tmp_path / "file").write_bytes(make(state, tmp_path / "trap"))
    result = alga("import", tmp_path / "file", "--out", tmp_path / "run")
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert result.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_missing_file_folder_and_existing_output_are_refused(
    alga: Callable[..., Result], state: dict[str, torch.Tensor], tmp_path: Path
) -> None:
    assert "no such file" in alga("import", tmp_path / "nowhere", "--out", tmp_path / "run").err
    assert "is a directory" in alga("import", tmp_path, "--out", tmp_path / "run").err
    (tmp_path / "file").write_bytes(as_torch(state))
    result = alga("import", tmp_path / "file", "--out", tmp_path)
    assert (result.code, "already holds other files" in result.err) == (2, True)
