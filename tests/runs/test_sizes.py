"""Claimed sizes are compared with the file before they cost memory or time."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch

from alga import runs
from alga.base.errors import AlgaError
from alga.network.config import ModelConfig
from alga.network.model import Transformer
from alga.research import sweeps
from alga.runs import config, weights
from alga.training.trainer import Training
from tests.conftest import tiny

SHAPES: dict[str, dict[str, Any]] = {
    "the paper's": {},
    "tied": {"tied": True},
    "without norms": {"norms": "none"},
    "with one norm": {"norms": "feed-forward"},
    "with few biases": {"biases": "hidden"},
    "narrow queries": {"query_width": 3},
    "keys that are queries": {"query_width": 5, "shared_keys": True},
    "without a map out": {"out": False},
    "shared positions": {"positions": "..0111.3"},
    "all of these": {"tied": True, "norms": "none", "biases": "hidden", "query_width": 1, "shared_keys": True,
                     "out": False, "positions": "0......0", "layers": 5, "heads": 4},
}  # fmt: skip


@pytest.mark.parametrize("kind", SHAPES)
def test_settings_determine_the_tensors(kind: str) -> None:
    shape = ModelConfig(vocabulary=14, input_length=5, output_length=3, **SHAPES[kind])
    network = Transformer(shape)
    assert shape.tensors() == {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    assert shape.parameters == network.parameter_count


def test_settings_of_every_shipped_network_give_its_tensors() -> None:
    for name in runs.shipped():
        shape = config.load(runs.SHIPPED / name).model
        data = (runs.SHIPPED / name / "model.safetensors").read_bytes()
        assert weights.read_header(data, Path(name)).shapes == shape.tensors()


def test_huge_shape_is_refused_without_counting_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    parts = ModelConfig._parts
    monkeypatch.setattr(ModelConfig, "_parts", lambda shape: calls.append(1) or parts(shape))
    with pytest.raises(AlgaError, match="a network may have 268,435,456 parameters, this shape has"):
        ModelConfig(vocabulary=9, input_length=5, output_length=3, width=4096, layers=64)
    assert len(calls) <= 2
    with pytest.raises(AlgaError, match="layers must be a whole number from 1 to 64, got 16000"):
        ModelConfig(vocabulary=9, input_length=5, output_length=3, layers=16_000)


def reshaped(run: Path, **changes: Any) -> config.Config:
    """Make config.json state another shape; return its content."""
    content = json.loads((run / "config.json").read_text())
    content["model"] |= changes
    content["training"] = {}
    (run / "config.json").write_text(json.dumps(content))
    for name in ("certificate.json", "SHA256SUMS"):
        (run / name).unlink()
    return config.load(run)


def with_header(entries: dict[str, Any], metadata: dict[str, str]) -> bytes:
    text = json.dumps({"__metadata__": metadata} | entries).encode()
    return len(text).to_bytes(8, "little") + text


def test_layers_without_data_are_not_built(parity: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A header of a few kilobytes lists all tensors of a deep network without any data."""
    claimed = reshaped(parity, width=64, heads=1, hidden=64, layers=60)
    empty = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    names = Transformer(claimed.model).state_dict()
    (parity / "model.safetensors").write_bytes(with_header(dict.fromkeys(names, empty), {"alga": claimed.identity}))

    def built(*_: object) -> None:
        raise AssertionError("weights were read for tensors that are not there")

    monkeypatch.setattr("safetensors.numpy.load", built)
    with pytest.raises(AlgaError, match=r"does not match its configuration: .* has the shape \[0\], expected"):
        runs.load(parity)


def test_weight_file_larger_than_its_network_is_not_read(parity: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.truncate(parity / "model.safetensors", 2**25)  # sparse: takes no disk space
    with pytest.raises(AlgaError, match=r"model\.safetensors has more than the .* bytes that are read"):
        runs.load(parity)


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    training = Training.start(tmp_path / "run", tiny(), seed=5, threads=1)
    list(training.run(should_stop=lambda: training.step >= 5))
    return tmp_path / "run"


def test_checkpoint_larger_than_its_network_is_not_read(stopped: Path) -> None:
    path, numbers = stopped / "checkpoint.safetensors", 2**24
    size = 4 * numbers
    entry = {"dtype": "F32", "shape": [numbers], "data_offsets": [0, size]}
    head = with_header({"model.head.weight": entry}, {"state": "[{}, 1]", "sha256": "0"})
    path.write_bytes(head)
    os.truncate(path, len(head) + size)
    with pytest.raises(AlgaError, match=r"checkpoint\.safetensors has more than the .* bytes that are read"):
        Training.resume(stopped)


def test_checkpoint_far_from_the_next_check_is_read(tmp_path: Path) -> None:
    """It stores each step's loss until the next check."""
    training = Training.start(tmp_path / "run", tiny(check_every=10**6, steps=10**6), seed=5, threads=1)
    list(training.run(should_stop=lambda: training.step >= 3))
    training._losses = [0.1234567890123456789] * 3 * 10**5
    training._writer.lock()
    training._end()
    training._writer.unlock()
    assert len(Training.resume(tmp_path / "run")._losses) == 3 * 10**5


HEADERS = {
    "many lists": b'{"a":' + b"[" * 100_001,
    "long": b'{"a": "' + b"x" * weights.MAX_HEADER_BYTES + b'"}',
    "not text": b'{"__metadata__": {"alga": 3}, "a": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}}',
    "a hole": b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}}',
    "an overlap": b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, '
    b'"b": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}',
    "a fraction": b'{"a": {"dtype": "F32", "shape": [1.0], "data_offsets": [0, 4]}}',
    "below zero": b'{"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, -4]}}',
    "a list": b"[]",
}


@pytest.mark.parametrize("kind", HEADERS)
def test_header_that_contradicts_its_file_is_refused(kind: str) -> None:
    data = len(HEADERS[kind]).to_bytes(8, "little") + HEADERS[kind] + bytes(8)
    with pytest.raises(AlgaError, match="file is damaged"):
        weights.read_header(data, Path("file"))


def test_safetensors_header_is_read() -> None:
    data = safetensors.torch.save({"a": torch.ones(2, 3), "b": torch.zeros(0)}, {"alga": "x"})
    assert weights.read_header(data, Path("x")) == weights.Header(
        {"alga": "x"}, {"a": (2, 3), "b": (0,)}, {"a": "F32", "b": "F32"}
    )


def test_sweep_results_have_a_size_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out.jsonl"
    out.touch()
    os.truncate(out, 2**41)
    with pytest.raises(AlgaError, match=r"out\.jsonl has more than the 1,073,741,824 bytes that are read"):
        sweeps.run("squares:square", [{"x": 1}], out)
    os.truncate(out, 2**25)
    with pytest.raises(AlgaError, match="has a line of more than the 16,777,216 bytes that are read"):
        sweeps.run("squares:square", [{"x": 1}], out)
