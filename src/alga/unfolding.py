"""The same network in the paper's full form: what is shared is repeated, what is left out is put in.

So whatever computes with weights needs to know one architecture only. Missing norms are the one thing that this cannot
say; `config.norms` tells which there are.
"""

from __future__ import annotations

import math
from typing import Final

import torch
from torch import Tensor

from alga.model import Transformer

NORMS: Final = ("attention_norm", "feed_forward_norm")


@torch.no_grad()
def unfolded(model: Transformer) -> dict[str, Tensor]:
    """Return the weights by the names that they have in a network without options."""
    config, weights = model.config, dict(model.state_dict())
    ones, zeros = model.mask.new_ones(config.width), model.mask.new_zeros(config.width)
    weights["head.weight"] = model.vocabulary_weight.detach()
    if config.positions:
        read = model.positions(0, len(config.positions))
        weights["position_embedding.weight"] = torch.cat([read, zeros.unsqueeze(0)])  # the last is never read
    for name in ("final_norm", *(f"layers.{i}.{norm}" for i in range(config.layers) for norm in NORMS)):
        weights.setdefault(f"{name}.weight", ones)
        weights.setdefault(f"{name}.bias", zeros)
    for i in range(config.layers):
        name = f"layers.{i}.attention"
        matrix = weights[f"{name}.project_in.weight"]
        bias = weights.get(f"{name}.project_in.bias", matrix.new_zeros(len(matrix)))
        weights[f"{name}.project_in.weight"] = _in_full(matrix, model)
        weights[f"{name}.project_in.bias"] = _in_full(bias, model)
        weights.setdefault(f"{name}.project_out.weight", torch.diag(ones))
        for linear in (f"{name}.project_out", f"layers.{i}.feed_forward.2"):
            weights.setdefault(f"{linear}.bias", zeros)
    return weights


def _in_full(rows: Tensor, model: Transformer) -> Tensor:
    """Return the rows of queries, keys and values, each as many as the width.

    Narrow queries and keys get zeros; that scores are then divided by another root is made up for.
    """
    width, heads = model.config.width, model.config.heads
    each = width // heads
    narrow = model.config.query_width or each
    queries = heads * narrow
    q, v = rows[:queries], rows[-width:]
    k = q if model.config.shared_keys else rows[queries:-width]
    return torch.cat([_widened(q * math.sqrt(each / narrow), heads, each), _widened(k, heads, each), v])


def _widened(rows: Tensor, heads: int, width: int) -> Tensor:
    parts = rows.reshape(heads, -1, *rows.shape[1:])
    return torch.cat([parts, parts.new_zeros(heads, width - parts.shape[1], *rows.shape[1:])], dim=1).flatten(0, 1)
