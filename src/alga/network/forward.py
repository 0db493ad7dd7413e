"""The network's forward pass in plain numpy, with every attention weight: for showing a step, not for speed.

Answers come from `compiled.py`; this computes the same from the same full-form weights (`unfolded`), up to
rounding, and keeps the attention. In float64: on `smallest` torch's float32 errs by up to 9e-6, and a second float32
computation would differ from it by more than either errs.

Shapes: B batch, L positions, O output positions, D width, H heads, N layers, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from alga.network.compiled import call, compiled
from alga.network.config import ModelConfig

Array = NDArray[np.float64]
Shown = NDArray[np.float32]
Ids = NDArray[np.int64]


def forward(stored: Mapping[str, Shown], config: ModelConfig, ids_BL: Ids) -> tuple[Shown, Shown]:
    r"""Return the next token's probabilities at `\n` and after it (BOV), and all attention weights (BNHLL)."""
    L = ids_BL.shape[1]
    weights = {name: array.astype(np.float64) for name, array in stored.items()}
    hidden_LL = np.triu(np.ones((L, L), dtype=bool), 1)
    hidden_LL[:, : config.input_length + 1] = False
    attention: list[Array] = []
    with np.errstate(all="ignore"):  # damaged weights may overflow
        x_BLD = weights["token_embedding.weight"][ids_BL] + weights["position_embedding.weight"][:L]
        for i in range(config.layers):
            layer = f"layers.{i}"
            y_BLD = _norm(x_BLD, f"{layer}.attention_norm", weights, config.norms == "all")
            mixed_BLD, weights_BHLL = _attend(
                _linear(y_BLD, f"{layer}.attention.project_in", weights), hidden_LL, config
            )
            attention.append(weights_BHLL)
            x_BLD = x_BLD + _linear(mixed_BLD, f"{layer}.attention.project_out", weights)
            y_BLD = _norm(x_BLD, f"{layer}.feed_forward_norm", weights, config.norms != "none")
            inner_BLF = _gelu(_linear(y_BLD, f"{layer}.feed_forward.0", weights))
            x_BLD = x_BLD + _linear(inner_BLF, f"{layer}.feed_forward.2", weights)
        x_BOD = _norm(x_BLD[:, config.input_length :], "final_norm", weights, config.norms == "all")
        probabilities_BOV = _softmax(x_BOD @ weights["head.weight"].T)
        return probabilities_BOV.astype(np.float32), np.stack(attention, axis=1, dtype=np.float32)


def _attend(mapped_BLD: Array, hidden_LL: NDArray[np.bool_], config: ModelConfig) -> tuple[Array, Array]:
    """Return each position's mix of values, and its attention weights; `mapped_BLD` holds queries, keys and values."""
    B, L, _ = mapped_BLD.shape
    q, k, v = mapped_BLD.reshape(B, L, 3, config.heads, -1).transpose(2, 0, 3, 1, 4)
    scores_BHLL = (q / math.sqrt(q.shape[-1])) @ k.swapaxes(2, 3)
    weights_BHLL = _softmax(np.where(hidden_LL, -np.inf, scores_BHLL))
    return (weights_BHLL @ v).swapaxes(1, 2).reshape(B, L, -1), weights_BHLL


def _linear(x_BLD: Array, name: str, weights: Mapping[str, Array]) -> Array:
    return x_BLD @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def _norm(x_BLD: Array, name: str, weights: Mapping[str, Array], there: bool) -> Array:
    """Return the LayerNorm, or `x_BLD` itself if the network has none there."""
    if not there:
        return x_BLD
    centred_BLD = x_BLD - x_BLD.mean(axis=-1, keepdims=True)
    variance_BL1 = (centred_BLD**2).mean(axis=-1, keepdims=True)
    normed_BLD: Array = centred_BLD / np.sqrt(variance_BL1 + 1e-5)
    return normed_BLD * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def erf(x: Array) -> Array:
    """Return `math.erf` of each number: numpy has none, and one call from Python per number would take seconds.

    Unlike the fit in `compiled.py` it is exact to about a unit in the last place of a double, which proofs need.

    >>> erf(np.array([[0.0, 0.5]])).tolist() == [[0.0, math.erf(0.5)]]
    True
    """
    found = np.empty(x.size)
    call(_fill_erf, np.ascontiguousarray(x, np.float64).ravel(), found)
    return found.reshape(x.shape)


@compiled
def _fill_erf(x: Array, found: Array) -> None:
    for i in range(len(x)):
        found[i] = math.erf(x[i])


def _gelu(x_BLF: Array) -> Array:
    return x_BLF * (1 + erf(x_BLF * math.sqrt(0.5))) / 2


def _softmax(scores: Array) -> Array:
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares: Array = raised / raised.sum(axis=-1, keepdims=True)
    return shares
