"""How much of a proven bound the rounding errors of shuffled evaluations use."""

from __future__ import annotations

import numpy as np

from alga.network.tokens import START
from alga.runs import Run
from alga.trust.proof.bounds import FLOAT32, FLOAT64, NumberFormat
from alga.trust.proof.margins import bounded
from alga.trust.proof.rounding import Rounding
from tests.sloppy import Array, Sloppy

DTYPES: dict[NumberFormat, type] = {FLOAT32: np.float32, FLOAT64: np.float64}


def weights_of(run: Run) -> dict[str, Array]:
    return {name: tensor.double().numpy() for name, tensor in run.model.state_dict().items()}


def laid_out(run: Run, prompts: list[str]) -> tuple[Array, Array]:
    """Return prompts followed by their right outputs as ids, and the ids of the right tokens."""
    tokens, domain = run.config.tokens, run.config.task.domain
    right = np.array(tokens.outputs(domain[prompt].output for prompt in prompts))
    begun = [[*row, tokens.ids[START]] for row in tokens.prompts(prompts)]
    return np.hstack([np.array(begun), right[:, :-1]]), right


def sampled_ratio(run: Run, prompts: list[str], arithmetic: NumberFormat, times: int, seed: int = 0) -> float:
    """Return the largest ratio of a shuffled evaluation's error to its proven bound; below 1 is inside."""
    weights, (ids, right) = weights_of(run), laid_out(run, prompts)
    mid, off = bounded(run.config.model, weights, ids, right, Rounding((arithmetic,)))
    sloppy = Sloppy(run.config.model, weights, DTYPES[arithmetic], np.random.default_rng(seed))
    return float(np.max([ratio(mid, off[0], sloppy.logits(ids), right) for _ in range(times)]))  # nan stays nan


def ratio(mid: Array, off: Array, logits: Array, right: Array) -> float:
    """Return the largest ratio of an evaluation's error to its bound."""
    logits = logits.astype(np.float64)
    found = np.take_along_axis(logits, right[..., None], -1) - logits
    others = np.arange(logits.shape[-1]) != right[..., None]
    return float((np.abs(found - mid) / off)[others].max())
