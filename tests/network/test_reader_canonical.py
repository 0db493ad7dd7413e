"""Small readers: tied or omitted parts, in torch, compiled code, both proofs and the Hugging Face module alike."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
import torch

from alga.base.errors import AlgaError
from alga.export.hub.reader.network_alga import ReaderNetwork as HubNetwork
from alga.network.alterations import alteration
from alga.network.kinds import shape_of
from alga.network.reader import Reader
from alga.network.reader_canonical import full_form, token_rows
from alga.network.reader_config import ReaderConfig
from alga.network.reader_decoder import ReaderDecoder
from alga.network.texts import Texts
from alga.tasks.whole import Whole
from alga.trust.proof.readers import ReaderBounds
from alga.trust.verify.readers import ReaderNetwork
from tests.readers import Source, reader

TASK = Whole()
TEXTS = Texts.of(TASK)
FULL = ReaderConfig(vocabulary=13, width=2, heads=1, hidden=6, reach=1, keys=False)
TINY = replace(
    FULL, tied=True, norms="none", biases="hidden", parts=False, out=False, curve="parabola", signs=False
)  # fmt: skip
OPTIONS: list[dict[str, Any]] = [
    {"tied": True}, {"norms": "none"}, {"biases": "hidden"}, {"parts": False}, {"out": False}, {"curve": "parabola"},
    {"curve": "parabola", "signs": False},
]  # fmt: skip
SHAPES = [replace(FULL, **change) for change in OPTIONS] + [TINY, replace(TINY, signs=True)]


def arrays(model: Reader) -> dict[str, Any]:
    return {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}


@pytest.mark.parametrize("shape", SHAPES)
def test_stored_tensors_are_those_of_the_shape(shape: ReaderConfig) -> None:
    model = reader(shape)
    assert {name: tuple(array.shape) for name, array in arrays(model).items()} == shape.tensors()
    assert model.parameter_count == shape.parameters
    assert alteration(model, shape) == ""


def test_smallest_shape_counts_each_trained_number_once() -> None:
    """Curve 3, stop 2, distances 3, slopes 2, sink 1, values 4, and 5 for each hidden unit; plus and equals have 4."""
    assert replace(TINY, hidden=4).parameters == 15 + 5 * 4
    assert replace(TINY, hidden=4, signs=True).parameters == 19 + 5 * 4


@pytest.mark.parametrize("shape", SHAPES)
def test_compiled_code_matches_torch(shape: ReaderConfig) -> None:
    decoder = ReaderDecoder(Source(reader(shape)), TEXTS)
    prompts = Random(1).sample(list(TASK.domain), 300)
    compiled, by_torch = decoder(prompts), decoder.by_torch(prompts)
    assert [step.margin for step in compiled] == pytest.approx([step.margin for step in by_torch], abs=1e-4)
    assert all(a.text == b.text for a, b in zip(compiled, by_torch, strict=True) if a.margin > 1e-3)


@pytest.mark.parametrize("shape", SHAPES)
def test_proofs_read_the_same_network(shape: ReaderConfig) -> None:
    """Both proofs hold the bits that torch computes with, and bounds are below what torch measures."""
    model, prompts = reader(shape, slope=30.0), Random(2).sample(list(TASK.domain), 40)
    with torch.no_grad():
        model.layers[0].attention.distances[:, 0] = -60
    stored = arrays(model)
    tokens = model.token_embedding.weight.detach().numpy()
    second = ReaderNetwork(shape, TEXTS, {name: array.astype(np.float64) for name, array in stored.items()})
    assert (token_rows(stored, shape) == tokens).all()
    assert (np.array([token for token, _ in second.kinds[:13]]) == tokens).all()
    bounds, share = ReaderBounds(TEXTS, shape, stored).margins(prompts)
    found = np.array([margin(model, prompt) for prompt in prompts])
    assert share.max() < 1e-9
    assert (bounds[0] <= found + 1e-4).all()
    assert bounds[0] == pytest.approx(found, abs=1e-2)


def margin(model: Reader, prompt: str) -> float:
    """Return by how much the right token leads all others in a situation, by torch."""
    kinds, distances = (torch.from_numpy(part) for part in TEXTS.situations([prompt]))
    with torch.no_grad():
        logits = model(kinds % 13, kinds // 13, 1 + distances)[0, -1]
    right = TEXTS.ids[TASK.domain[prompt].output]
    return float(logits[right] - logits[torch.arange(13) != right].max())


def test_full_form_has_every_tensor_of_a_reader_without_options() -> None:
    full = full_form(arrays(reader(TINY)), TINY)
    assert replace(FULL, keys=True).tensors().items() <= {name: array.shape for name, array in full.items()}.items()


def test_moved_curve_moves_every_digit() -> None:
    model = reader(TINY)
    before = model.token_embedding.weight.detach().clone()
    with torch.no_grad():
        model.token_embedding.curve[0] += 0.5
    moved = (model.token_embedding.weight.detach() != before).any(dim=1)
    assert moved.tolist() == [True] * 10 + [False] * 3


def test_replaced_constant_of_a_curve_is_an_alteration() -> None:
    model = reader(TINY)
    model.token_embedding.squares[3] += 1
    assert alteration(model, TINY) == "a buffer of the network"


@pytest.mark.parametrize("shape", SHAPES)
def test_hugging_face_module_computes_the_same(shape: ReaderConfig) -> None:
    model, other = reader(shape), HubNetwork(**vars(shape))
    other.load_state_dict(model.state_dict())
    text = "65785+8765=055"
    kinds, places = torch.from_numpy(TEXTS.kinds(text))[None], torch.from_numpy(TEXTS.places(text))[None]
    with torch.no_grad():
        here, there = (net(kinds % 13, kinds // 13, places) for net in (model, other))
    assert torch.allclose(here, there, atol=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"norms": "some"}, "model setting norms must be one of"),
        ({"biases": "none"}, "model setting biases must be one of"),
        ({"curve": "circle"}, "model setting curve must be one of"),
        ({"tied": 1}, "model setting tied must be true or false, got 1"),
        ({"curve": "parabola", "width": 4}, "digits on a parabola need width 2, got 4"),
        ({"signs": False}, "signs may be false only if digits lie on a curve"),
    ],
)
def test_impossible_option_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(AlgaError, match=message):
        replace(FULL, **change)


def test_settings_hold_only_options_that_differ() -> None:
    assert "tied" not in FULL.settings()
    assert TINY.settings()["curve"] == "parabola"
    assert shape_of(TINY.settings()) == TINY
