"""Weights <-> the bytes of a safetensors file, read with suspicion: the file says what it is for, and must fit it."""

from __future__ import annotations

from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from alga.config import IDENTITY, Config, ModelConfig
from alga.errors import AlgaError
from alga.model import Transformer


def pack(model: Transformer, config: Config) -> bytes:
    """Return a network's weights as they are now, as a safetensors file that also says what they are for."""
    tensors = {name: tensor.cpu().contiguous() for name, tensor in model.state_dict().items()}
    return safetensors.torch.save(tensors, {IDENTITY: config.identity})


def copy(model: Transformer) -> dict[str, Tensor]:
    """Return a network's weights as they are now, to be compared with later."""
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def same(model: Transformer, weights: dict[str, Tensor]) -> bool:
    """Tell whether a network still has these weights."""
    now = model.state_dict()
    return now.keys() == weights.keys() and all(
        tensor.dtype == weights[name].dtype and torch.equal(tensor, weights[name]) for name, tensor in now.items()
    )


def unpack(data: bytes, config: Config, path: Path) -> Transformer:
    """Return the network in the bytes of a weight file; refuse what is damaged or does not fit its configuration."""
    try:
        weights = safetensors.torch.load(data)
    except (SafetensorError, ValueError, KeyError) as problem:
        raise AlgaError(f"{path} is damaged: {problem}") from None
    return network(weights, config.model, path)


def network(weights: dict[str, Tensor], config: ModelConfig, path: Path) -> Transformer:
    """Build the network of a configuration around weights that fit it; refuse others."""
    layers = len({name.split(".")[1] for name in weights if name.startswith("layers.")})
    if layers != config.layers:
        raise AlgaError(f"{path} does not match its configuration: it has {layers} layers, expected {config.layers}")
    with torch.device("meta"):  # shapes without memory, whatever the configuration claims
        expected = {name: tensor.shape for name, tensor in Transformer(config).state_dict().items()}
    if weights.keys() != expected.keys():
        name = min(weights.keys() ^ expected.keys())
        raise AlgaError(
            f"{path} does not match its configuration: {name} is {'missing' if name in expected else 'extra'}"
        )
    for name, tensor in weights.items():
        if tensor.shape != expected[name]:
            shapes = f"{list(tensor.shape)}, expected {list(expected[name])}"
            raise AlgaError(f"{path} does not match its configuration: {name} has the shape {shapes}")
        if tensor.dtype != torch.float32:
            raise AlgaError(f"{path}: {name} holds {tensor.dtype}, expected torch.float32")
        if not bool(tensor.isfinite().all()):
            raise AlgaError(f"{path}: {name} holds a number that is not finite")
    with torch.inference_mode(False), torch.device("cpu"):  # whatever the caller has set
        network = Transformer(config).to(torch.float32)
        network.load_state_dict(weights)
    return network.eval()
