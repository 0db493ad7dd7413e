"""torch.save files are parsed, not unpickled: valid ones read as torch reads them, others are refused cheaply."""

from __future__ import annotations

import gzip
import io
import json
import struct
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st

from alga import runs
from alga.base.errors import AlgaError
from alga.runs import adoption, torch_files
from alga.solve.solver import Solver
from tests.conftest import Alga
from tests.runs.foreign_files import as_r, as_torch, item, wrapped
from tests.runs.hostile_data import ALLOCATES, archive, only_refused, tensor, two_directories

MOST = 2**22
MODERN = {"_use_new_zipfile_serialization": True}
LEGACY = {"_use_new_zipfile_serialization": False}


@pytest.mark.parametrize("options", [MODERN, LEGACY])
@pytest.mark.parametrize(
    "state",
    [
        {"a": torch.arange(6.0).reshape(2, 3)},
        {"transposed": torch.arange(6.0).reshape(2, 3).T, "a part": torch.arange(9.0)[2:7:2]},
        {"none": torch.zeros(0, 3), "one": torch.tensor(2.5)},
        {"parameter": torch.nn.Parameter(torch.ones(2))},
        dict.fromkeys(["tied", "to this"], torch.arange(4.0)),
        {},
    ],
)
def test_tensors_match_torch_load(state: dict[str, torch.Tensor], options: dict[str, bool]) -> None:
    data = as_torch(state, **options)
    found = torch_files.tensors(data, MOST)
    exact = torch.load(io.BytesIO(data), weights_only=True)
    assert found.keys() == exact.keys()
    assert all(np.array_equal(found[name], tensor.detach().numpy()) for name, tensor in exact.items())


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_pickle_protocol_is_read(protocol: int) -> None:
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.LayerNorm(2))
    buffer = io.BytesIO()
    torch.save(module.state_dict(), buffer, pickle_protocol=protocol)  # with version metadata
    found = torch_files.tensors(buffer.getvalue(), MOST)
    assert all(np.array_equal(found[name], tensor.detach().numpy()) for name, tensor in module.state_dict().items())


def test_transposed_r_tensor_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(as_r({"wpe_out.weight": torch.arange(6.0).reshape(2, 3).T}))
    found = adoption.read(tmp_path / "file").weights
    assert np.array_equal(found["position_embedding.weight"], np.arange(6.0).reshape(2, 3).T)


# --- refused ----------------------------------------------------------------------------------------------------------


def nested() -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return as_torch({"wte_out.weight": torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])})


REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "a bytearray": (lambda: archive(ALLOCATES), r"nothing but weights.*\('__builtin__ bytearray'\)"),
    "two directories": (lambda: two_directories(2**18), "nothing but weights"),
    "a nested tensor": (nested, "expected plain tensors, got another kind"),
    "another type": (lambda: as_torch({"wte_out.weight": torch.ones(2).long()}), "holds torch.LongStorage, expected"),
    "a file of many files": (lambda: archive(b"") + torch_files.DIRECTORY_ENTRY * 10_001, "more than 10,000 files"),
    "a large pickle": (lambda: archive(b"\x80\x02" + b"N0" * 2**20), "unpacks to more than"),
    "a long pickle": (lambda: archive(b"\x80\x02" + b"N0" * 150_000 + b"."), "nothing but weights"),
    "a pickle of many parts": (lambda: archive(b"\x80\x02" + b"N" * 300_000 + b"."), "more than 200,000 parts"),
    "another order of bytes": (lambda: archive(tensor(1), **{"data/0": bytes(4), "byteorder": b"big"}), "other order"),
    "no storage": (lambda: archive(tensor(1)), "expected an archive as PyTorch writes it"),
    "fewer bytes than claimed": (lambda: archive(tensor(9, (9,)), **{"data/0": bytes(4)}), "bytes that it claims"),
    "more bytes than claimed": (lambda: archive(tensor(1), **{"data/0": bytes(8)}), "bytes that it claims"),
    "beyond its bytes": (lambda: archive(tensor(2, (2,), (2,)), **{"data/0": bytes(8)}), "reaches beyond its bytes"),
    "an offset beyond": (lambda: archive(tensor(2, offset=2), **{"data/0": bytes(8)}), "reaches beyond its bytes"),
    "an offset before": (lambda: archive(tensor(2, offset=-1), **{"data/0": bytes(8)}), "nothing but weights"),
    "a shape below zero": (lambda: archive(tensor(2, (-1,)), **{"data/0": bytes(8)}), "nothing but weights"),
    "more than there is": (lambda: archive(tensor(1, (2**47,), (0,)), **{"data/0": bytes(4)}), "together have more"),
    "too many dimensions": (lambda: archive(tensor(1, (1,) * 9, (1,) * 9), **{"data/0": bytes(4)}), "dimensions"),
    "no list": (lambda: archive(b"\x80\x02N."), "expected a state_dict"),
    "names that are none": (lambda: archive(tensor(1).replace(b"X\x0e\x00\x00\x00wte_out.weight", b"K\x01")),
                            "whose names are text"),
    "items in what is no list": (lambda: archive(b"\x80\x02N(K\x01K\x01u."), "nothing but weights"),
    "an item with a list for its name": (lambda: archive(b"\x80\x02}]K\x01s."), "nothing but weights"),
    "an empty stack": (lambda: archive(b"\x80\x02s."), "nothing but weights"),
    "a memo that is not there": (lambda: archive(b"\x80\x02h\x07."), "nothing but weights"),
    "half a pickle": (lambda: archive(b"\x80\x02}"), "nothing but weights"),
    "an old file's beginning": (lambda: as_torch({"a": torch.ones(2)}, **LEGACY)[:40], "nothing but weights"),
    "an old file without its numbers": (lambda: as_torch({"a": torch.ones(99)}, **LEGACY)[:-40], "it claims"),
    "numbers for an R list": (
        lambda: gzip.compress(wrapped(item(13, struct.pack(">i", 2**20) + bytes(2**22)), "list")), "100,000 values",
    ),
    "nothing, often, in R": (
        lambda: gzip.compress(wrapped(item(19, struct.pack(">i", 2**18) + struct.pack(">i", 254) * 2**18), "list")),
        "100,000 values",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_invalid_state_dict_is_refused_cheaply(kind: str, tmp_path: Path) -> None:
    make, message = REFUSED[kind]
    (tmp_path / "file").write_bytes(make())
    tracemalloc.start()
    with pytest.raises(AlgaError, match=message):
        adoption.read(tmp_path / "file")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * adoption.MAX_IMPORT_BYTES


def test_shared_storage_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand names for one storage do not use a thousand times its memory."""
    state = dict.fromkeys((f"t{i}" for i in range(100)), torch.zeros(1000))
    assert len(torch_files.tensors(as_torch(state), 100 * 4000 + 10_000)) == 100
    with pytest.raises(AlgaError, match="the tensors together have more than"):
        torch_files.tensors(as_torch(state), 99 * 4000)


@given(st.binary(max_size=200))
def test_any_pickle_is_read_or_refused(data: bytes) -> None:
    for file in (archive(b"\x80\x02" + data), b"\x80\x02" + data):
        with only_refused():
            torch_files.tensors(file, MOST)


# --- ALGA's own files -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["parity", "smallest", "addition"])
def test_own_weights_round_trip(name: str, alga: Alga, tmp_path: Path) -> None:
    shipped = runs.SHIPPED / name / "model.safetensors"
    assert alga("import", shipped, "--out", tmp_path / "run").code == 0
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == shipped.read_bytes()
    assert not Solver.load(tmp_path / "run").certified
    assert alga("certify", tmp_path / "run", "--save").code == 0
    assert Solver.load(tmp_path / "run").certified


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("parity", ["--like", "parity"]),
        ("parity", ["--task", "parity", "--recipe", "release"]),
        ("smallest", ["--recipe", "smallest"]),
        ("smallest", ["--like", "smallest"]),
    ],
)
def test_own_state_dict_round_trips_in_the_named_shape(
    name: str, options: list[str], alga: Alga, tmp_path: Path
) -> None:
    torch.save(Solver.load(name).run.model.state_dict(), tmp_path / "state.pt")
    bare = alga("import", tmp_path / "state.pt", "--out", tmp_path / "run")
    assert (bare.code, bare.err.count("\n")) == (2, 1)
    assert "does not say the shape of its network: name it by --like or --recipe, or use its run folder" in bare.err
    assert alga("import", tmp_path / "state.pt", *options, "--out", tmp_path / "run").code == 0
    weights = (runs.SHIPPED / name / "model.safetensors").read_bytes()
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == weights


def resaved(change: Callable[[dict[str, str]], object]) -> bytes:
    data = (runs.SHIPPED / "parity" / "model.safetensors").read_bytes()
    identity = json.loads(json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["alga"])
    change(identity)
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    return safetensors.torch.save(safetensors.torch.load(data), {"alga": text})


MISREAD: dict[str, tuple[Callable[[], bytes], list[str], str]] = {
    "another task": (lambda: resaved(lambda _: None), ["--task", "addition"], "for the task 'parity', not 'addition'"),
    "another network's": (lambda: resaved(lambda _: None), ["--like", "comparison"], "for the task 'parity', not"),
    "another shape": (lambda: resaved(lambda _: None), ["--task", "parity", "--recipe", "fast"], "another shape than"),
    "two shapes": (lambda: resaved(lambda _: None), ["--like", "parity", "--recipe", "small"], "got both"),
    "other words": (lambda: resaved(lambda i: i.update(vocabulary=["x"])), [], "another version of the task parity"),
    "a changed task": (lambda: resaved(lambda i: i.update(source="0" * 64)), [], "another version of the task parity"),
    "an unknown task": (lambda: resaved(lambda i: i.update(task="square")), [], "unknown task 'square'"),
    "a task in a file": (lambda: resaved(lambda i: i.update(task="evil.py:Evil")), [], "unknown task 'evil.py:Evil'"),
    "other heads": (lambda: resaved(lambda i: i["model"].update(heads=3)), [], "cannot be shared among 3 heads"),
    "other layers": (lambda: resaved(lambda i: i["model"].update(layers=2)), [], "it has 1 layers, expected 2"),
    "no words": (lambda: safetensors.torch.save({"head.weight": torch.ones(2)}, {"alga": "x"}), [], "not say what"),
    "two kinds of names": (lambda: as_torch({"head.weight": torch.ones(2), "ln_f.weight": torch.ones(2)}), [],
                           "holds 'ln_f.weight' beside this package's own parameters"),
    "other tokens": (lambda: as_torch(Solver.load("parity").run.model.state_dict()),
                     ["--like", "parity", "--task", "addition"], "other tokens than those of addition"),
}  # fmt: skip


@pytest.mark.parametrize("kind", MISREAD)
def test_nothing_is_misread_silently(kind: str, alga: Alga, tmp_path: Path) -> None:
    make, options, message = MISREAD[kind]
    (tmp_path / "file").write_bytes(make())
    result = alga("import", tmp_path / "file", *options, "--out", tmp_path / "run")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert message in result.err
    assert not (tmp_path / "run").exists()
