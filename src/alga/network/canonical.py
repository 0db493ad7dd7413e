"""A weight file's arrays -> the paper's full form, so that code that computes with weights knows one architecture."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from alga.network.config import ModelConfig

NORM_NAMES: Final = ("attention_norm", "feed_forward_norm")

Array = NDArray[np.float32]


def unfolded(stored: Mapping[str, Array], config: ModelConfig) -> dict[str, Array]:
    """Return the weights of a weight file in the paper's full form: shared parts repeated, omitted parts filled in.

    Missing norms cannot be expressed this way; `config.norms` says which exist.
    """
    weights = dict(stored)
    ones, zeros = np.ones(config.width, np.float32), np.zeros(config.width, np.float32)
    if config.tied:
        weights["head.weight"] = weights["token_embedding.weight"]
    if config.positions:
        rows = weights["position_embedding.weight"]
        read = [zeros if row == "." else rows[int(row)] for row in config.positions]
        weights["position_embedding.weight"] = np.stack([*read, zeros])  # the last is never read
    for name in ("final_norm", *(f"layers.{i}.{norm}" for i in range(config.layers) for norm in NORM_NAMES)):
        weights.setdefault(f"{name}.weight", ones)
        weights.setdefault(f"{name}.bias", zeros)
    for i in range(config.layers):
        name = f"layers.{i}.attention"
        matrix = weights[f"{name}.project_in.weight"]
        bias = weights.get(f"{name}.project_in.bias", np.zeros(len(matrix), np.float32))
        weights[f"{name}.project_in.weight"] = _in_full(matrix, config)
        weights[f"{name}.project_in.bias"] = _in_full(bias, config)
        weights.setdefault(f"{name}.project_out.weight", np.diag(ones))
        for linear in (f"{name}.project_out", f"layers.{i}.feed_forward.2"):
            weights.setdefault(f"{linear}.bias", zeros)
    return weights


def _in_full(rows: Array, config: ModelConfig) -> Array:
    """Return the rows of queries, keys and values, each as many as the width.

    Narrow queries and keys are padded with zeros, and queries scaled to make up for the larger square root.
    """
    width, heads = config.width, config.heads
    each = width // heads
    narrow = config.query_width or each
    queries = heads * narrow
    q, v = rows[:queries], rows[-width:]
    k = q if config.shared_keys else rows[queries:-width]
    scale = np.float32(math.sqrt(each / narrow))
    return np.concatenate([_widened(q * scale, heads, each), _widened(k, heads, each), v])


def _widened(rows: Array, heads: int, width: int) -> Array:
    parts = rows.reshape(heads, -1, *rows.shape[1:])
    padded = np.zeros((heads, width, *rows.shape[1:]), np.float32)
    padded[:, : parts.shape[1]] = parts
    return padded.reshape(heads * width, *rows.shape[1:])
