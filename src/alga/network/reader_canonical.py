"""A reader's weights in full form: shared parts repeated, omitted parts filled in.

Compiled code and the proof take this form, so an option of `ReaderConfig` needs nothing new there but whether there are
norms. What is certified are these float32 matrices. Digits on a parabola are computed by products and differences of
float32 numbers, each rounded once, so that every machine gets the same bits; `CurveEmbedding` does the same in torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alga.network.reader_config import SIGNS, ReaderConfig

Array = NDArray[np.float32]
Stored = NDArray[np.floating[Any]]  # float32 numbers, in a proof held as float64


def full_form(stored: Mapping[str, Stored], config: ReaderConfig) -> dict[str, Stored]:
    """Return the weights of a weight file with every tensor of a reader that has no options.

    Without norms they are ones and zeros, and must not be applied; without an output projection it is the identity.
    Scores by distance alone have queries and keys of zeros.
    """
    D = config.width
    found = dict(stored)
    found["token_embedding.weight"] = token_rows(found, config)
    found.setdefault("part_embedding.weight", np.zeros((2, D), np.float32))
    for i in range(config.layers):
        layer = f"layers.{i}"
        found.setdefault(f"{layer}.attention.project_out.weight", np.eye(D, dtype=np.float32))
        values = found[f"{layer}.attention.project_in.weight"]
        silent = np.zeros((3 * D - len(values), D), np.float32)
        found[f"{layer}.attention.project_in.weight"] = np.concatenate([silent, values])
        bias = found.get(f"{layer}.attention.project_in.bias", np.zeros(D, np.float32))
        found[f"{layer}.attention.project_in.bias"] = np.concatenate([np.zeros(3 * D - len(bias), np.float32), bias])
        for name in ("attention.project_out", "feed_forward.2"):
            found.setdefault(f"{layer}.{name}.bias", np.zeros(D, np.float32))
    norms = [f"layers.{i}.{part}_norm" for i in range(config.layers) for part in ("attention", "feed_forward")]
    for name in (*norms, "final_norm"):
        found.setdefault(f"{name}.weight", np.ones(D, np.float32))
        found.setdefault(f"{name}.bias", np.zeros(D, np.float32))
    found.setdefault("head.weight", found["token_embedding.weight"])
    return found


def token_rows(stored: Mapping[str, Stored], config: ReaderConfig) -> Stored:
    """Return the embedding of each token.

    >>> config = ReaderConfig(vocabulary=13, width=2, heads=1, curve="parabola", signs=False)
    >>> curve, stop = np.float32([1, 0.5, 2]), np.float32([[7, 8]])
    >>> rows = token_rows({"token_embedding.curve": curve, "token_embedding.others": stop}, config)
    >>> rows[9].tolist(), rows[12].tolist()
    ([0.5, 2.0], [7.0, 8.0])
    """
    if not config.curve:
        return stored["token_embedding.weight"]
    top, bend, step = np.asarray(stored["token_embedding.curve"], np.float32)
    shares, squares = parabola(config.vocabulary - SIGNS)
    others = np.asarray(stored["token_embedding.others"], np.float32)
    nothing = np.zeros((SIGNS - len(others), config.width), np.float32)
    return np.concatenate([np.stack([top - bend * squares, step * shares], axis=1), nothing, others])


def parabola(digits: int) -> tuple[Array, Array]:
    """Return for each digit its share of the largest, and the square of its distance to the middle, at most 1.

    >>> [part.tolist() for part in parabola(5)]
    [[0.0, 0.25, 0.5, 0.75, 1.0], [1.0, 0.25, 0.0, 0.25, 1.0]]
    """
    shares = np.arange(digits, dtype=np.float32) / np.float32(digits - 1)
    return shares, (2 * shares - 1) ** 2
