"""The weights of a torch module as they are now: anyone may have changed them since they were read."""

from __future__ import annotations

import safetensors.torch
import torch
from torch import Tensor

from alga.base.errors import AlgaError
from alga.network.model import Transformer
from alga.runs.config import IDENTITY, Config
from alga.runs.weight_file import Array


def pack(model: Transformer, config: Config) -> bytes:
    """Return a module's weights as the bytes of a safetensors file that also says what they are for."""
    tensors = {name: tensor.cpu().contiguous() for name, tensor in model.state_dict().items()}
    return safetensors.torch.save(tensors, {IDENTITY: config.identity})


def copy(model: Transformer) -> dict[str, Tensor]:
    """Return a copy of a module's weights, to compare with later."""
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def same(model: Transformer, weights: dict[str, Tensor]) -> bool:
    """Tell whether a module still has these weights."""
    now = model.state_dict()
    return now.keys() == weights.keys() and all(
        tensor.dtype == weights[name].dtype and torch.equal(tensor, weights[name]) for name, tensor in now.items()
    )


def arrays(model: Transformer) -> dict[str, Array]:
    """Return copies of a module's weights as arrays; refuse those that are not in float32."""
    weights = model.state_dict()
    for name, tensor in weights.items():
        if tensor.dtype != torch.float32:
            raise AlgaError(f"expected a network in float32, got {tensor.dtype} in {name}")
    return {name: tensor.cpu().numpy().copy() for name, tensor in weights.items()}
