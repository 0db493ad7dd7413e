"""The verifier's tighter bounds: an adversary stays inside them, and they prove what lengths of errors do not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from alga import runs
from alga.network.tokens import STOP_ID
from alga.runs.verification import verify
from alga.trust.proof.margins import laid_out
from alga.trust.verify import verdict
from alga.trust.verify.balls import BallNetwork, ExactValues, tensors
from alga.trust.verify.error_bounds import ErrorBounds
from alga.trust.verify.gradients import GradientBounds
from tests.sloppy import Array
from tests.trust.adversary import Adversary
from tests.trust.sampled_errors import weights_of

FLOOR = 1 / 12  # of the bound, that the adversary takes at least


@pytest.mark.parametrize(
    "name",
    [
        "smallest-26",
        "smallest",
        "comparison",
        "parity",
        "xor-base-8",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("division-by-a-digit", "arithmetic")),
    ],
)
def test_adversary_stays_inside_the_bound_and_comes_near_it(name: str) -> None:
    run = runs.load(name)
    domain = list(run.config.task.domain)
    prompts = [domain[i] for i in np.random.default_rng(4).permutation(len(domain))[:4]]
    ids, right = laid_out(run.config.task.domain, prompts, run.config.tokens)  # type: ignore[arg-type]
    with verdict._exactly():
        network = BallNetwork(run.config.model, tensors((runs.SHIPPED / name / "model.safetensors").read_bytes()))  # type: ignore[arg-type]
        values = ExactValues(network, ids)
    with np.errstate(all="ignore"):
        lost = GradientBounds(network, values, "float32").margins(right)
    adversary, rows = Adversary(run.config.model, weights_of(run)), np.arange(len(ids))  # type: ignore[arg-type]
    for at in range(right.shape[1]):
        logits = np.where(np.arange(lost.shape[-1]) == right[:, at, None], -np.inf, values.kept["logits"][:, at])
        other = logits.argmax(axis=-1)
        exact, low = adversary.lowered(ids, right, np.full(len(ids), at), other)
        shares = ((exact - low) / lost[rows, at, other])[(right[:, :at] != STOP_ID).all(axis=1)]
        assert ((shares > FLOOR) & (shares < 1)).all()


def unbounded(self: ErrorBounds, right_BQ: Array) -> Array:
    return np.full((*right_BQ.shape, self.shape.vocabulary), np.inf)


def test_prompts_that_lengths_leave_open_are_verified(parity: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs.keep(parity, runs.load(parity, read_certificate=False).judged().proven())
    before = verify(parity).proven
    monkeypatch.setattr(ErrorBounds, "margins", unbounded)
    found = verify(parity)
    assert found.agrees
    assert before["float32"] < found.proven["float32"] < found.real
    monkeypatch.setattr("alga.trust.verify.gradients.MOST_LAYERS", 0)
    assert verify(parity).objections == [
        f"it is not proven here in {name} arithmetic (margin -inf)" for name in ("float64", "float32")
    ]
