"""Muon for the layers' matrices, AdamW for the rest, and the average that is checked and saved."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from alga.runs import Weights
from alga.training import recipes
from alga.training.initial_weights import initial_network
from alga.training.learner import HEAD_START, GradientLearner
from alga.training.optimisers import Muon, optimisers, orthogonal
from alga.training.trainer import Training
from tests.conftest import tiny

MUON = {"matrix_rate": 2.5, "averaging": 0.9}


@pytest.mark.parametrize("shape", [(3, 8, 8), (2, 8, 32), (1, 1, 4)])
def test_orthogonal_keeps_directions_and_makes_singular_values_alike(shape: tuple[int, ...]) -> None:
    given = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    left, values, right = torch.linalg.svd(orthogonal(given), full_matrices=False)
    assert float(values.min()) > 0.3
    assert float(values.max()) < 1.3
    nearest = torch.linalg.svd(given, full_matrices=False)
    cosine = (left @ right * (nearest.U @ nearest.Vh)).sum(dim=(1, 2)) / shape[1]
    assert float(cosine.min()) > 0.99


def test_no_gradient_is_no_step() -> None:
    assert float(orthogonal(torch.zeros(2, 4, 4)).abs().max()) == 0.0


def test_muon_moves_the_matrices_of_the_layers_and_adamw_the_rest() -> None:
    model = initial_network(tiny().network(), tiny())
    adamw, muon = optimisers(model, tiny(**MUON))
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    by_muon = {names[id(parameter)] for group in muon.param_groups for parameter in group["params"]}
    by_adamw = {names[id(parameter)] for group in adamw.param_groups for parameter in group["params"]}
    assert by_muon == {name for name in names.values() if name.startswith("layers.") and "norm" not in name
                       and name.endswith("weight")}  # fmt: skip
    assert by_muon | by_adamw == set(names.values())
    assert not by_muon & by_adamw
    assert len(optimisers(model, tiny())) == 1


@pytest.mark.parametrize(("blocks", "shape"), [(1, (16, 4)), (3, (12, 4)), (1, (4, 16)), (1, (4, 4))])
def test_step_of_muon_is_the_orthogonal_step_of_each_block(blocks: int, shape: tuple[int, int]) -> None:
    generator = torch.Generator().manual_seed(2)
    matrix = torch.nn.Parameter(torch.zeros(shape))
    muon = Muon([(matrix, blocks)], lr=0.5, momentum=0.75)
    mean = torch.zeros(shape)
    for _ in range(2):
        before, matrix.grad = matrix.detach().clone(), torch.randn(shape, generator=generator)
        muon.step()
        mean = 0.75 * mean + 0.25 * matrix.grad
        for block, moved in zip(
            (0.25 * matrix.grad + 0.75 * mean).chunk(blocks), (matrix - before).chunk(blocks), strict=True
        ):
            wide = block.mT if len(block) > block.shape[1] else block
            step = -0.5 * 0.2 * max(block.shape) ** 0.5 * orthogonal(wide[None])[0]
            torch.testing.assert_close(moved.detach(), step if wide is block else step.mT, rtol=1e-4, atol=1e-5)


def test_average_follows_the_weights() -> None:
    training = Training.start(None, tiny(**MUON, steps=30, margin=99.0), seed=5)
    learner = training._learner
    assert isinstance(learner, GradientLearner)
    take_step = learner.take_step
    mean = {name: tensor.clone() for name, tensor in learner.model.state_dict().items()}

    def followed(loss: torch.Tensor, step: int) -> None:
        take_step(loss, step)
        decay = min(0.9, step / (step + HEAD_START))
        for name, tensor in learner.model.state_dict().items():
            mean[name] = decay * mean[name] + (1 - decay) * tensor

    learner.take_step = followed  # type: ignore[method-assign]
    list(training.run())
    assert training.model is learner.averaged is not learner.model
    for name, tensor in training.model.state_dict().items():
        torch.testing.assert_close(tensor, mean[name])


def test_averaged_weights_are_certified_and_saved(tmp_path: Path) -> None:
    training = Training.start(tmp_path / "run", tiny(**MUON, check_below=1.0), seed=5, threads=1)
    list(training.run())
    assert training.certificate is not None
    saved = (tmp_path / "run" / "model.safetensors").read_bytes()
    learner = training._learner
    assert isinstance(learner, GradientLearner)
    assert saved == Weights.of(training.config, learner.averaged).data
    assert saved != Weights.of(training.config, learner.model).data


def test_earlier_recipes_have_one_optimiser_and_no_average() -> None:
    for name in recipes.names():
        recipe = recipes.find(name)
        later = (recipe.matrix_rate, recipe.averaging, recipe.check_below)
        assert (later == (0.0, 0.0, 0.0)) is (name != "fast")
        assert ("averaging" in recipe.settings()) is (name == "fast")
