"""What the server sends a browser that runs a network itself."""

from __future__ import annotations

import base64

import httpx
import numpy as np
import pytest

from alga.serve import live
from alga.serve.limits import RefusedError
from alga.solve.solver import Solver


@pytest.mark.parametrize("name", ["smallest", "parity", "addition"])
def test_weights_prompts_and_places_are_the_networks(name: str, client: httpx.Client) -> None:
    found = client.get("/v1/network", params={"model": name}).json()
    solver = Solver.load(name)
    numbers = np.frombuffer(base64.b64decode(found["weights"]), "<f4")
    arrays = solver.run.weights.arrays
    assert found["tensors"] == {tensor: list(array.shape) for tensor, array in arrays.items()}
    assert (numbers == np.concatenate([array.ravel() for array in arrays.values()])).all()
    assert len(numbers) == found["parameters"] == solver.run.config.model.parameters
    domain = solver.trained.domain
    assert dict(zip(found["prompts"], found["outputs"], strict=True)) == {p: each.output for p, each in domain.items()}
    size = len(found["columns"])
    for prompt, place in zip(found["prompts"], found["places"], strict=True):
        assert found["contexts"][place // size] == domain[prompt].context
        assert found["columns"][place % size] == domain[prompt].column
    assert found["vocabulary"] == list(solver.run.config.step_tokens.vocabulary)


def test_network_that_reads_whole_texts_is_refused(client: httpx.Client) -> None:
    refused = client.get("/v1/network", params={"model": "whole"})
    assert refused.status_code == 422
    assert "reads whole texts" in refused.json()["error"]


def test_too_large_a_network_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MOST_WEIGHTS", 58)
    with pytest.raises(RefusedError, match="smallest is too large for a browser: it has 59 weights") as refused:
        live.network(Solver.load("smallest"))
    assert refused.value.status == 413
