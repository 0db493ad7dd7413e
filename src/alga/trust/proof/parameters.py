"""A network's parameters as the proofs read them: linear maps, gains and positions, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from alga.network.config import ModelConfig
from alga.trust.proof.bounds import Array

Weights = Mapping[str, Array]


@dataclass(frozen=True)
class Affine:
    """A linear map's matrix, a row for each output, and its bias."""

    matrix: Array
    bias: Array


def affine(weights: Weights, name: str) -> Affine:
    """Return a linear map; without a bias in the file, it is zero."""
    matrix = weights[f"{name}.weight"]
    return Affine(matrix, weights.get(f"{name}.bias", np.zeros(len(matrix))))


def gain(weights: Weights, name: str, width: int) -> Affine:
    """Return a norm's scale and shift."""
    return Affine(weights.get(f"{name}.weight", np.ones(width)), weights.get(f"{name}.bias", np.zeros(width)))


def attention(shape: ModelConfig, weights: Weights, name: str) -> tuple[tuple[Affine, Affine, Affine], Affine]:
    """Return the maps to queries, keys and values, and the map out."""
    whole = affine(weights, f"{name}.project_in")
    queries = shape.heads * (shape.query_width or shape.width // shape.heads)
    parts = (slice(queries), slice(queries, -shape.width), slice(-shape.width, None))
    q, k, v = (Affine(whole.matrix[part], whole.bias[part]) for part in parts)
    k = q if shape.shared_keys else k
    out = affine(weights, f"{name}.project_out") if shape.out else Affine(np.eye(shape.width), np.zeros(shape.width))
    return (q, k, v), out


def positions(shape: ModelConfig, weights: Weights) -> Array:
    """Return the embedding of each position."""
    table = weights["position_embedding.weight"]
    if not shape.positions:
        return table
    return np.array([np.zeros(shape.width) if row == "." else table[int(row)] for row in shape.positions])


def head(shape: ModelConfig, weights: Weights) -> Array:
    """Return the map to the logits."""
    return weights["token_embedding.weight" if shape.tied else "head.weight"]
