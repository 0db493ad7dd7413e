"""Training the numbers that weights are made of: the gradient, the form after a step, and resuming."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch

from alga import runs, tasks
from alga.base.errors import AlgaError
from alga.network.config import ModelConfig
from alga.network.model import Transformer
from alga.network.sharing import sharing
from alga.network.tokens import Tokens
from alga.runs.config import Recipe
from alga.training.initial_weights import initial_network
from alga.training.learner import GradientLearner
from alga.training.sampling import Sampler
from alga.training.trainer import Training
from tests.training.small_runs import bits, few_numbers


def recipe(**changes: Any) -> Recipe:
    return few_numbers(**{"embedding_scale": 1.0, "batch_size": 16, "check_every": 10, "steps": 40, **changes})


def network_of(recipe: Recipe) -> Transformer:
    torch.manual_seed(1)
    config = recipe.network()
    model = initial_network(config, recipe)
    assert isinstance(model, Transformer)
    return model


def learner_of(recipe: Recipe) -> GradientLearner:
    domain = tasks.find(recipe.task).domain
    sampler = Sampler(domain, Tokens.of(domain), recipe, 0, torch.device("cpu"))
    return GradientLearner(network_of(recipe), recipe, sampler, torch.Generator())


def test_gradient_is_that_of_the_trained_numbers() -> None:
    learner = learner_of(recipe())
    shared = learner.shared
    assert shared is not None
    assert isinstance(learner.model, Transformer)
    form = sharing(learner.model.config)
    ids = torch.tensor([[3, 13, 5, 6, 0, 12, 7, 1], [3, 4, 13, 6, 7, 12, 3, 8]])

    def loss(numbers: np.ndarray[Any, Any]) -> torch.Tensor:
        weights = {name: torch.tensor(array) for name, array in form.weights(numbers).items()}
        learner.model.load_state_dict(weights)
        mean: torch.Tensor = learner.model(ids).double().logsumexp(dim=2).mean()
        return mean

    start = shared.trained_N.detach().double().numpy()
    loss(start).backward()  # type: ignore[no-untyped-call]
    shared.gather()
    assert shared.trained_N.grad is not None
    steps = np.eye(len(start)) * 1e-2
    with torch.no_grad():
        measured = [(loss(start + step) - loss(start - step)).item() / 2e-2 for step in steps]
    assert shared.trained_N.grad.numpy() == pytest.approx(measured, rel=2e-2, abs=2e-2)


def test_training_keeps_the_form_and_the_run_opens_again(tmp_path: Path) -> None:
    training = Training.start(tmp_path / "run", recipe(), seed=5)
    before = bits(training)
    list(training.run())
    assert bits(training) != before
    run = runs.load(tmp_path / "run")
    assert isinstance(run.config.model, ModelConfig)
    assert run.config.model.parameters == training.model.parameter_count == 25
    assert run.weights.data == bits(training)  # opening it has checked the form


@pytest.mark.parametrize("more", [{}, {"averaging": 0.9}], ids=["plain", "averaged"])
def test_run_stopped_anywhere_resumes_to_the_same_bits(tmp_path: Path, more: dict[str, Any]) -> None:
    whole = Training.start(tmp_path / "whole", recipe(**more), seed=5)
    list(whole.run())
    training = Training.start(tmp_path / "parts", recipe(**more), seed=5)
    for stop in [3, 20, 31]:
        list(training.run(should_stop=lambda stop=stop, training=training: training.step >= stop))  # type: ignore[misc]
        training = Training.resume(tmp_path / "parts")
    list(training.run())
    assert bits(training) == bits(whole)


def test_checkpoint_with_other_trained_numbers_is_refused(tmp_path: Path) -> None:
    training = Training.start(tmp_path / "run", recipe(), seed=5)
    list(training.run(should_stop=lambda: training.step >= 5))
    assert isinstance(training._learner, GradientLearner)
    shared = training._learner.shared
    assert shared is not None
    for wrong in (torch.zeros(24), torch.zeros(25, dtype=torch.float64)):
        with pytest.raises(ValueError, match="expected 25 trained numbers in float32"):
            shared.restore(wrong)
    path = tmp_path / "run" / "checkpoint.safetensors"
    assert "shared.trained" in safetensors.torch.load(path.read_bytes())


def test_training_begins_from_the_numbers_of_another_run(tmp_path: Path) -> None:
    first = Training.start(tmp_path / "first", recipe(), seed=5)
    list(first.run())
    second = Training.start(tmp_path / "second", recipe(), seed=6, init=runs.load(tmp_path / "first"))
    before = {name: tensor.numpy() for name, tensor in first.model.state_dict().items()}
    for name, tensor in second.model.state_dict().items():
        assert tensor.numpy() == pytest.approx(before[name], rel=1e-5, abs=1e-5)


def test_muon_is_refused() -> None:
    with pytest.raises(AlgaError, match="matrix_rate must be 0"):
        learner_of(recipe(matrix_rate=2.5))
