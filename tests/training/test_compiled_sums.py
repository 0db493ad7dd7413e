"""Batches of sums and the loss of small readers in compiled code, against texts and torch."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from alga import tasks
from alga.network.reader import Reader
from alga.network.texts import Texts
from alga.tasks.whole import Whole
from alga.training import recipes, sums
from alga.training.compiled_sums import fits
from alga.training.initial_weights import initial_network
from alga.training.sums import SumSampler

RECIPE = recipes.smallest_whole()


def sampler(task: Whole | None = None, digits: int = 4, price: float = 0.005) -> SumSampler:
    recipe = replace(RECIPE, digits=digits, price=price)
    return SumSampler(Texts.of(task or Whole()), recipe, torch.device("cpu"))


def network(**options: object) -> Reader:
    torch.manual_seed(3)
    recipe = replace(RECIPE, options={**RECIPE.options, **options})
    model = initial_network(recipe.network(), recipe)
    assert isinstance(model, Reader)
    return model


@pytest.mark.parametrize("task", [Whole(), Whole(16), Whole(2), Whole(operands=3)], ids=lambda task: task.name)
@pytest.mark.parametrize("digits", [1, 3, 5])
def test_drawn_batches_are_those_of_texts(task: Whole, digits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = sampler(task, digits).draw(64, torch.Generator().manual_seed(digits))
    monkeypatch.setattr(sums, "EXACT", 0)  # so that texts are written out
    by_text = sampler(task, digits).draw(64, torch.Generator().manual_seed(digits))
    for name, expected in vars(by_text).items():
        assert torch.equal(getattr(compiled, name), expected), name


@pytest.mark.parametrize("price", [0.0, 0.005, 0.5])
@pytest.mark.parametrize("change", [{}, {"signs": False}, {"reach": 3}], ids=str)
def test_loss_and_gradient_are_those_of_torch(change: dict[str, object], price: float) -> None:
    model, drawn = network(**change), sampler(price=price)
    assert fits(model.config)
    batch = drawn.draw(20, torch.Generator().manual_seed(1))
    found = []
    for loss in (drawn.loss(model, batch), drawn.loss_by_torch(model, batch)):
        model.zero_grad()
        loss.backward()
        found.append((loss.item(), {name: each.grad.clone() for name, each in model.named_parameters()}))
    (here, gradients), (there, expected) = found
    assert here == pytest.approx(there, rel=1e-5)
    for name, gradient in expected.items():
        assert torch.allclose(gradients[name], gradient, rtol=1e-3, atol=1e-4 * float(gradient.abs().max())), name


def test_attention_that_is_nearly_all_inside_costs_nothing_more() -> None:
    model, drawn = network(), sampler(price=0.5)
    with torch.no_grad():
        model.layers[0].attention.distances[0, 0] = -60
        model.layers[0].attention.slopes.fill_(60)
    batch = drawn.draw(20, torch.Generator().manual_seed(1))
    assert drawn.loss(model, batch).item() == pytest.approx(drawn.loss_by_torch(model, batch).item(), rel=1e-5)
    drawn.loss(model, batch).backward()
    assert float(model.layers[0].attention.distances.grad[0, 0].abs()) < 1e-9


def test_ordinary_readers_are_trained_by_torch() -> None:
    assert not fits(recipes.whole().network())
    assert tasks.find(RECIPE.task).engine == "whole"
