"""The network of a recipe before its first training step."""

from __future__ import annotations

import torch
from torch import nn

from alga.network.kinds import AnyShape, new_module
from alga.network.model import Transformer
from alga.network.reader import Reader
from alga.runs import Weights
from alga.runs.config import Recipe


@torch.no_grad()
def initial_network(config: AnyShape, recipe: Recipe, weights: Weights | None = None) -> Transformer | Reader:
    """Return a network with random weights, drawn from torch's global generator, or with the given ones."""
    model = new_module(config)
    if recipe.start == "normal":
        _draw_normal(model)
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            module.weight *= recipe.embedding_scale
    if weights is not None:
        model.load_state_dict({name: torch.tensor(array) for name, array in weights.arrays.items()})
    return model


def _draw_normal(model: nn.Module) -> None:
    """Draw matrices with deviation 1/sqrt(inputs) and biases with 0.3: wider than torch's defaults."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=module.in_features**-0.5)
            if module.bias is not None:
                nn.init.normal_(module.bias, std=0.3)
