"""Training on whole sums: what is drawn, the price, exact resuming."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from alga import tasks
from alga.base.errors import AlgaError
from alga.network.reader import LEAST_SLOPE, Reader
from alga.network.reader_config import ReaderConfig
from alga.network.texts import Texts
from alga.runs.config import Recipe
from alga.tasks.whole import Whole
from alga.training import Training, recipes
from alga.training.sums import IGNORED, SumSampler

TEXTS = Texts.of(Whole())


def small(**changes: Any) -> Recipe:
    """Return a recipe for a reader that trains in a second."""
    sizes = {"width": 8, "hidden": 8, "batch_size": 16, "steps": 6, "check_every": 3}
    return dataclasses.replace(recipes.whole(), **{**sizes, **changes})


def sampler(**changes: Any) -> SumSampler:
    return SumSampler(TEXTS, small(**changes), torch.device("cpu"))


def texts_of(batch: Any) -> list[str]:
    """Return the texts that a batch encodes, with the tokens that follow."""
    found = []
    for ids, places, targets in zip(batch.ids_BL, batch.places_BL, batch.targets_BL, strict=True):
        length = int((places >= 0).sum())
        text = "".join(TEXTS.vocabulary[i] for i in ids[:length].tolist())
        found.append(text + TEXTS.vocabulary[int(targets[length - 1])])
    return found


@pytest.mark.parametrize("digits", [1, 2, 5])
def test_drawn_texts_are_sums_of_numbers_without_leading_zeros(digits: int) -> None:
    batch = sampler(digits=digits).draw(400, torch.Generator().manual_seed(1))
    lengths = set()
    for text in texts_of(batch):
        question, _, answer = text.partition("=")
        a, b = question.split("+")
        assert answer == str(int(a) + int(b))[::-1] + "S"
        assert [str(int(number)) for number in (a, b)] == [a, b]
        lengths.add((len(a), len(b)))
    assert lengths == {(m, n) for m in range(1, digits + 1) for n in range(1, digits + 1)}


def test_half_of_the_sums_have_numbers_of_equal_length() -> None:
    texts = texts_of(sampler().draw(600, torch.Generator().manual_seed(2)))
    equal = [text for text in texts if len({len(part) for part in text.split("=")[0].split("+")}) == 1]
    assert 0.5 <= len(equal) / len(texts) < 0.7


def test_targets_are_the_next_tokens_of_the_answer_only() -> None:
    batch = sampler().encoded(["12+9=12S", "5+5=01S"])
    assert batch.targets_BL.tolist()[0] == [IGNORED] * 4 + [1, 2, 12]
    assert batch.targets_BL.tolist()[1] == [IGNORED] * 3 + [0, 1, 12, IGNORED]
    assert batch.places_BL.tolist()[1] == [1, 0, 1, 0, 1, 2, -1]
    assert batch.parts_BL.tolist()[1][:6] == [0, 0, 0, 1, 1, 1]


def test_padding_changes_nothing() -> None:
    torch.manual_seed(0)
    model = Reader(ReaderConfig(vocabulary=13, width=8, hidden=8)).eval()
    alone, beside = sampler().encoded(["5+5=01S"]), sampler().encoded(["5+5=01S", "123+45678=10854S"])
    with torch.inference_mode():
        one = model(alone.ids_BL, alone.parts_BL, alone.places_BL)[0]
        other = model(beside.ids_BL, beside.parts_BL, beside.places_BL)[0, : len(one)]
    assert one.numpy() == pytest.approx(other.numpy(), abs=1e-6)


def test_price_is_the_mean_logarithm_of_attention_outside() -> None:
    torch.manual_seed(0)
    model = Reader(ReaderConfig(vocabulary=13, width=8, hidden=8)).eval()
    batch = sampler().encoded(["12+9=12S"])
    free, priced = (sampler(price=price).loss(model, batch).item() for price in (0.0, 0.5))
    scores: list[torch.Tensor] = []
    model(batch.ids_BL, batch.parts_BL, batch.places_BL, scores)
    logs = []
    places = batch.places_BL[0].tolist()
    for at in (4, 5, 6):  # the tokens that write
        for head in range(2):
            raised = [math.exp(score) for score in scores[0][0, head, at, : at + 1].tolist()]
            outside = sum(w for w, place in zip(raised, places, strict=False) if place - places[at] not in (0, 1))
            if outside:
                logs.append(math.log(outside / sum(raised)))
    assert priced - free == pytest.approx(0.5 * sum(logs) / len(logs), abs=1e-5)


def test_slopes_stay_positive() -> None:
    model = Reader(ReaderConfig(vocabulary=13, width=8, hidden=8))
    with torch.no_grad():
        model.layers[0].attention.slopes[0, 0] = -3
    model.keep_slopes_positive()
    assert float(model.layers[0].attention.slopes.detach().min()) == LEAST_SLOPE


def test_distances_have_a_rate_of_their_own() -> None:
    training = Training.start(None, small(steps=1, check_every=1))
    before = {name: tensor.clone() for name, tensor in training.model.state_dict().items()}
    list(training.run())
    moved = {n: float((t - before[n]).abs().max()) for n, t in training.model.state_dict().items()}
    rate = training.recipe.rate(1)
    assert moved["layers.0.attention.distances"] == pytest.approx(10 * rate, rel=0.01)
    assert moved["head.weight"] < 1.1 * rate + 1e-4


@pytest.mark.slow
def test_resumed_training_ends_in_the_same_bits(tmp_path: Path) -> None:
    whole = Training.start(tmp_path / "whole", small(), threads=1)
    list(whole.run())
    part = Training.start(tmp_path / "part", small(), threads=1)
    list(part.run(should_stop=lambda: part.step >= 4))
    again = Training.resume(tmp_path / "part")
    assert again.step == 4
    list(again.run())
    assert again.as_run().sha256 == whole.as_run().sha256
    assert (tmp_path / "part" / "config.json").read_bytes() == (tmp_path / "whole" / "config.json").read_bytes()


@pytest.mark.parametrize(
    ("recipe", "task"), [("whole", "addition"), ("fast", "addition-whole"), ("small", "addition-whole")]
)
def test_recipe_for_the_other_kind_of_network_is_refused(recipe: str, task: str) -> None:
    with pytest.raises(AlgaError, match="does not fit the task"):
        recipes.find(recipe, task).network()


def test_option_of_the_other_kind_is_refused() -> None:
    with pytest.raises(AlgaError, match="'shared_keys', which this kind of network does not have"):
        small(options={"shared_keys": True}).network()
    assert small(options={"keys": False}).network() == ReaderConfig(vocabulary=13, width=8, hidden=8, keys=False)


def test_release_is_the_recipe_of_the_shipped_reader() -> None:
    assert recipes.find("release", "addition-whole").digits == 5
    assert tasks.find("addition-whole").engine == "whole"


def test_settings_of_other_recipes_are_written_as_before() -> None:
    assert {"digits", "price", "distance_rate"}.isdisjoint(recipes.fast().settings())
    assert Recipe(**small().settings()) == small()


@pytest.mark.slow
def test_reader_of_whole_sums_is_trained_and_certified(tmp_path: Path) -> None:
    """The recipe as it is: a network that reads whole sums, trained on five digits, certified at every length."""
    training = Training.start(tmp_path / "run", recipes.whole(), seed=0, threads=1)
    list(training.run())
    assert training.certificate is not None
    assert training.certificate.strength == "proven"
