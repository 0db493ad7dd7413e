"""The numpy forward pass agrees with torch on every shipped shape."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from alga.network.decoder import Decoder
from alga.network.forward import forward
from alga.network.generation import unfolded
from alga.network.hook_points import hooked
from alga.runs import Weights
from alga.solve.solver import Solver


@pytest.mark.parametrize("name", ["addition", "smallest", "parity", "arithmetic", "addition-lookahead"])
def test_probabilities_and_attentions_match_torch(name: str) -> None:
    run = Solver.load(name).run
    domain = list(run.config.task.domain.items())[::17]
    length = max(len(instance.output) for _, instance in domain)
    steps = [(prompt, f"{instance.output}S") for prompt, instance in domain if len(instance.output) == length]
    assert len(steps) > 2 or name == "parity"
    plain = Decoder(run.weights, run.config.tokens).details(steps)
    assert run.weights.opened is None
    opened = Decoder(Weights.of(run.config, run.model), run.config.tokens).details(steps)
    assert [(step.tokens, step.generated) for step in plain] == [(step.tokens, step.generated) for step in opened]
    ids = torch.tensor([[run.config.tokens.ids[token] for token in step.tokens] for step in plain])
    attention: list[torch.Tensor] = []
    watching = [(lambda name: name.endswith("hook_pattern"), lambda pattern, _: attention.append(pattern))]
    with torch.inference_mode(), hooked(run.model, watching):  # in double: torch's float32 errs by 9e-6 on `smallest`
        logits = run.model.double()(ids, every_position=True)
    probabilities = logits[:, run.config.tokens.input_length :].softmax(dim=-1).numpy()
    for i, (ours, theirs) in enumerate(zip(plain, opened, strict=True)):
        assert ours.probabilities == pytest.approx(probabilities[i], abs=1e-6)
        assert ours.attention == pytest.approx(torch.stack(attention, dim=1)[i].numpy(), abs=1e-6)
        assert theirs.probabilities == pytest.approx(probabilities[i], abs=3e-5)
        assert theirs.attention == pytest.approx(torch.stack(attention, dim=1)[i].numpy(), abs=3e-5)


def test_overflowed_weight_gives_nan_without_a_warning() -> None:
    run = Solver.load("parity").run
    weights = unfolded(run.weights.arrays, run.config.model)
    weights["head.weight"] = np.full_like(weights["head.weight"], np.inf)
    ids = np.array([[*run.config.tokens.packed([next(iter(run.config.task.domain))])]])
    assert np.isnan(forward(weights, run.config.model, ids)[0]).all()
