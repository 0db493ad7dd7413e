"""What a browser needs to run a network itself: shape, tokens, weights, and every prompt with its right output."""

from __future__ import annotations

import base64
from typing import Any, Final

import numpy as np

from alga.base.errors import AlgaError
from alga.network.config import ModelConfig
from alga.serve.limits import RefusedError
from alga.solve.solver import Solver

MOST_WEIGHTS: Final = 1_000_000  # a response of some 5 MB


def network(solver: Solver) -> dict[str, Any]:
    """Return a network as plain values; its weights are float32, little-endian, in base64.

    `prompts[i]` has the right output `outputs[i]`, and is cell `places[i]` of the grid of contexts by columns.
    """
    run, domain = solver.run, solver.trained.domain
    tokens, shape = run.config.step_tokens, run.config.model
    assert isinstance(shape, ModelConfig)
    if shape.parameters > MOST_WEIGHTS:
        size = f"it has {shape.parameters:,} weights, up to {MOST_WEIGHTS:,} are sent"
        raise RefusedError(413, f"{run.name} is too large for a browser: {size}")
    arrays = run.weights.arrays
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise AlgaError(f"{run.name} has weights that are not finite")
    contexts, columns = domain.axes
    row, place = ({value: i for i, value in enumerate(values)} for values in (contexts, columns))
    return {
        "model": run.name,
        "task": domain.name,
        "parameters": shape.parameters,
        "certified": solver.certified,
        "vocabulary": list(tokens.vocabulary),
        "shape": {name: value for name, value in vars(shape).items() if name != "dropout"},
        "tensors": {name: list(array.shape) for name, array in arrays.items()},
        "weights": base64.b64encode(b"".join(array.astype("<f4").tobytes() for array in arrays.values())).decode(),
        "contexts": contexts,
        "columns": columns,
        "prompts": list(domain),
        "outputs": [instance.output for instance in domain.values()],
        "places": [row[each.context] * len(columns) + place[each.column] for each in domain.values()],
    }
