"""The reader of whole texts: compiled code against torch, far tokens, options, hooks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch

from alga import tasks
from alga.base.errors import AlgaError
from alga.network.alterations import alteration
from alga.network.compiled_reader import EVERYTHING, CompiledReader
from alga.network.kinds import shape_of
from alga.network.reader import Reader
from alga.network.reader_decoder import ReaderDecoder
from alga.network.texts import Texts
from alga.tasks.whole import Whole
from tests.readers import SMALL, Source, reader

TASK = Whole()
TEXTS = Texts.of(TASK)


def question(rng: Random, digits: int) -> str:
    numbers = ["".join(rng.choices("0123456789", k=length)) for length in (digits, rng.randint(1, digits))]
    return TASK.question(*numbers)


@pytest.mark.parametrize("change", [{}, {"keys": False}, {"window": True}, {"reach": 1}, {"reach": 4, "heads": 4}])
def test_compiled_situations_match_torch(change: dict[str, Any]) -> None:
    decoder = ReaderDecoder(Source(reader(replace(SMALL, **change))), TEXTS)
    prompts = Random(1).sample(list(TASK.domain), 400)
    compiled, by_torch = decoder(prompts), decoder.by_torch(prompts)
    assert [step.margin for step in compiled] == pytest.approx([step.margin for step in by_torch], abs=2e-5)
    sure = [(a.text, b.text) for a, b in zip(compiled, by_torch, strict=True) if a.margin > 1e-4]
    assert len(sure) > 380
    assert all(a == b for a, b in sure)


@pytest.mark.parametrize("change", [{}, {"keys": False}, {"window": True}, {"reach": 1}])
def test_far_tokens_that_are_left_out_change_nothing(change: dict[str, Any]) -> None:
    """Generation that leaves out tokens of weight zero, against full attention over the whole text."""
    model, rng = reader(replace(SMALL, **change)), Random(2)
    decoder, full = ReaderDecoder(Source(model), TEXTS), ReaderDecoder(Source(model, opened=True), TEXTS)
    model.register_forward_hook(lambda *_: None)  # so that torch runs, attending to everything
    for digits in (1, 2, 7, 60, 300):
        asked = question(rng, digits)
        here, there = decoder.continued(asked, 40), full.continued(asked, 40)
        same = (
            len(here.text)
            if here.text == there.text
            else next(i for i, (a, b) in enumerate(zip(here.text, there.text, strict=False)) if a != b)
        )
        assert here.margins[:same] == pytest.approx(there.margins[:same], abs=5e-5)
        assert same == len(here.text) or here.margins[same] < 1e-4


def test_places_with_any_weight_follow_from_the_slopes() -> None:
    steep, gentle = (CompiledReader(Source(reader(slope=slope)).arrays, SMALL) for slope in (10.0, 1.0))
    assert max(steep.reaches) < 20
    assert 100 < min(gentle.reaches) < 140
    for slope in (0.0, -1.0, float("nan")):
        assert CompiledReader(Source(reader(slope=slope)).arrays, SMALL).reaches == (2 + EVERYTHING, 2 + EVERYTHING)
    window = replace(SMALL, window=True)
    assert CompiledReader(Source(reader(window)).arrays, window).reaches == (0, 1)


def test_generation_ends_at_the_limit_or_the_stop_token() -> None:
    decoder = ReaderDecoder(Source(reader()), TEXTS)
    written = decoder.continued("12+34=", 9)
    assert len(written.text) == len(written.margins) <= 9
    assert "S" not in written.text[:-1]
    assert decoder.network_calls == len(written.text)


def test_generation_in_parts_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder, asked = ReaderDecoder(Source(reader()), TEXTS), question(Random(5), 30)
    whole, told = decoder.continued(asked, 25), list[int]()
    monkeypatch.setattr("alga.network.reader_decoder.PLACES_AT_ONCE", 4)
    parts = decoder.continued(asked, 25, told.append)
    assert (parts.text, parts.margins.tolist()) == (whole.text, whole.margins.tolist())
    assert told[:2] == [4, 8]


def test_hook_makes_torch_run() -> None:
    model = reader()
    decoder = ReaderDecoder(Source(model, opened=True), TEXTS)
    before = decoder(["78+65=3"])[0]
    handle = model.head.register_forward_hook(lambda _module, _inputs, output: -output)
    assert alteration(model, SMALL) == "forward hooks of head"
    after = decoder(["78+65=3"])[0]
    assert after.text != before.text
    assert decoder.continued("7+8=", 3).text[0] == decoder(["7+8="])[0].text
    handle.remove()
    assert decoder(["78+65=3"])[0] == before


def test_changed_flag_is_an_alteration() -> None:
    model = reader()
    assert alteration(model, SMALL) == ""
    model.layers[0].attention.window = True
    assert alteration(model, SMALL) == "window of layers.0.attention"


def test_changed_weight_is_noticed() -> None:
    model = reader()
    decoder = ReaderDecoder(Source(model, opened=True), TEXTS)
    before = decoder(["78+65=3"])[0].margin
    with torch.no_grad():
        model.head.weight *= 2
    assert decoder(["78+65=3"])[0].margin == pytest.approx(2 * before, rel=1e-4)


def test_several_layers_run_in_torch() -> None:
    shape = replace(SMALL, layers=2)
    decoder = ReaderDecoder(Source(reader(shape)), TEXTS)
    step = decoder(["78+65=3"])[0]
    assert step == decoder.by_torch(["78+65=3"])[0]
    assert len(decoder.continued("12+9=", 3).text) in (1, 2, 3)
    with pytest.raises(AlgaError, match="2 layers"):
        CompiledReader(Source(reader(shape)).arrays, shape)


def test_look_is_the_attention_of_torch() -> None:
    model, text = reader(), "65785+8765=05547S"
    compiled, opened = ReaderDecoder(Source(model), TEXTS), ReaderDecoder(Source(model, opened=True), TEXTS)
    model.register_forward_hook(lambda *_: None)
    for at in (10, 12, 15):
        one, other = compiled.look(text, at), opened.look(text, at)
        assert one.weights == pytest.approx(other.weights, abs=1e-5)
        assert one.sinks == pytest.approx(other.sinks, abs=1e-5)
        assert one.weights.sum(axis=-1) + one.sinks == pytest.approx(np.ones(2))
        assert [sum(shares.values()) for shares in one.shares()] == pytest.approx([1.0, 1.0])
    assert (one.at(0), one.at(1)) == ("6 7", "")


def test_unbounded_logits_have_no_margin() -> None:
    model = reader()
    with torch.no_grad():
        model.head.weight[3, 3] = float("inf")
    assert np.isnan(ReaderDecoder(Source(model), TEXTS)(["78+65=3"])[0].margin)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"width": 15}, "cannot be shared among 2 heads"),
        ({"reach": 0}, "reach must be a whole number"),
        ({"keys": 1}, "keys must be true or false"),
        ({"layers": 65}, "layers must be a whole number from 1 to 64"),
        ({"hidden": 65_536, "width": 65_536}, "a network may have"),
    ],
)
def test_impossible_shape_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(AlgaError, match=message):
        replace(SMALL, **change)


def test_settings_round_trip() -> None:
    assert shape_of(SMALL.settings()) == SMALL
    assert sum(parameter.numel() for parameter in Reader(SMALL).parameters()) == SMALL.parameters
    assert {name: tuple(t.shape) for name, t in Reader(SMALL).state_dict().items()} == SMALL.tensors()
    with pytest.raises(AlgaError, match="unknown kind of network 'writer'"):
        shape_of({**SMALL.settings(), "kind": "writer"})
    with pytest.raises(AlgaError, match=r"head\.weight is missing"):
        SMALL.check({name: shape for name, shape in SMALL.tensors().items() if name != "head.weight"}, Path("x"))


def test_texts_refuse_strangers() -> None:
    with pytest.raises(AlgaError, match="'x', which is not in the vocabulary"):
        TEXTS.kinds("1+x=")
    assert tasks.find("addition-whole").name == TASK.name
