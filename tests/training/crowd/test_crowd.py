"""Many networks at once: gradients are torch's, lanes do not depend on each other, and what is right is certified."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from alga.base.errors import AlgaError
from alga.network.model import Transformer
from alga.network.tokens import PAD_ID, Tokens
from alga.runs.config import Recipe
from alga.training import recipes
from alga.training.crowd import LANES, Crowd
from alga.training.sampling import Sampler
from alga.training.shared_numbers import SharedNumbers
from tests.training.small_runs import few_numbers


def recipe(**changes: Any) -> Recipe:
    return few_numbers(**{"hidden": 2, "embedding_scale": 0.7, "batch_size": 64, **changes})


@pytest.fixture(scope="module")
def crowd() -> Crowd:
    return Crowd(recipe(), 0)


def torch_network(crowd: Crowd, lane: int) -> Transformer:
    network = crowd.as_run(lane).weights.model
    assert isinstance(network, Transformer)
    return network


def test_gradient_is_that_of_torch(crowd: Crowd) -> None:
    rows = crowd._rows
    domain = crowd._task.domain
    sampler = Sampler(domain, Tokens.of(domain), recipe(), 0, torch.device("cpu"))
    chosen = range(0, len(domain), 70)
    batch = np.array([r for r in range(len(rows.targets)) if rows.prompts[r] in chosen], np.int32)
    gradient_TN, loss_N = crowd.gradient(batch)
    for lane in (0, LANES - 1):
        network = torch_network(crowd, lane)
        shared = SharedNumbers(network)
        places = torch.tensor([*chosen])
        logits = network(sampler._ids_NL[places])
        targets = sampler._targets_NO[places]
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=PAD_ID)
        loss.backward()  # type: ignore[no-untyped-call]
        shared.gather()
        assert loss_N[lane] == pytest.approx(loss.item(), rel=1e-5)
        assert shared.trained_N.grad is not None
        assert gradient_TN[:, lane] == pytest.approx(shared.trained_N.grad.numpy(), rel=1e-3, abs=1e-4)


def test_wrong_prompts_are_those_of_the_decoder(crowd: Crowd) -> None:
    wrong = crowd.wrong()
    for lane in (3, 17):
        certificate = crowd.as_run(lane).judged().certificate
        assert certificate is not None
        assert len(certificate.failures) == wrong[lane]


def test_a_seed_gives_the_same_network_whatever_is_trained_beside_it() -> None:
    first, second = Crowd(recipe(), 0), Crowd(recipe(), 5)
    first.train(20)
    second.train(20)
    assert (first.trained_TN[:, 5:] == second.trained_TN[:, : LANES - 5]).all()
    assert (first.trained_TN[:, 0] != second.trained_TN[:, 0]).any()


def test_training_lowers_the_loss_and_keeps_the_best_numbers() -> None:
    crowd = Crowd(recipe(learning_rate=0.02, warmup_steps=1), 0)
    before = crowd.train(20)
    crowd.wrong()
    kept = crowd.best_TN.copy()
    after = crowd.train(200)
    assert np.median(after) < np.median(before)
    crowd.trained_TN = np.zeros_like(crowd.trained_TN)  # all wrong
    assert (crowd.wrong() == len(crowd._task.domain)).all()
    assert (crowd.best_TN == kept).all()


def test_other_shapes_are_refused() -> None:
    for other in (recipes.smallest(), recipes.fast(), dataclasses.replace(recipe(), options={})):
        with pytest.raises(AlgaError, match=r"must share trained numbers|no norms"):
            Crowd(other, 0)
