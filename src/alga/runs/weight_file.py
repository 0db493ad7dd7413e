"""Weights <-> the bytes of a safetensors file, which is not trusted: it states its purpose, and must match it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from safetensors import SafetensorError

from alga.base.errors import AlgaError, Naming
from alga.network import weight_header
from alga.network.kinds import AnyShape
from alga.runs.config import IDENTITY, Config

Array = NDArray[np.float32]


def pack(weights: Mapping[str, Array], config: Config) -> bytes:
    """Return weights as the bytes of a safetensors file, which also states their task and architecture."""
    arrays = {name: np.ascontiguousarray(array) for name, array in weights.items()}
    return safetensors.numpy.save(arrays, {IDENTITY: config.identity})


def unpack(data: bytes, config: Config, path: Path) -> dict[str, Array]:
    """Return the weights in the bytes of a weight file; refuse damaged ones and those of another shape."""
    with Naming(path):
        weight_header.read(data, path).check_float32()
    try:
        weights = safetensors.numpy.load(data)
    except (SafetensorError, ValueError, KeyError) as problem:
        raise AlgaError(f"{path} is damaged: {problem}") from None
    return checked(weights, config.model, path)


def checked(weights: Mapping[str, Array], shape: AnyShape, path: Path) -> dict[str, Array]:
    """Return the weights in the network's order; refuse those of another shape and numbers that are not finite."""
    shape.check({name: array.shape for name, array in weights.items()}, path)
    for name, array in weights.items():
        if not np.isfinite(array).all():
            raise AlgaError(f"{path}: {name} holds a number that is not finite")
        array.setflags(write=False)  # a certificate is for the bytes that they were read from
    return {name: weights[name] for name in shape.tensors()}
