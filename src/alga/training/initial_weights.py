"""The network of a recipe before its first training step, and how fast each of its parameters learns."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from alga.network.kinds import AnyShape, new_module
from alga.network.model import Transformer
from alga.network.reader import Reader
from alga.runs.config import Recipe


@torch.no_grad()
def initial_network(config: AnyShape, recipe: Recipe) -> Transformer | Reader:
    """Return a network with random weights, drawn from torch's global generator."""
    model = new_module(config)
    if recipe.start == "normal":
        _draw_normal(model)
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            module.weight *= recipe.embedding_scale
    return model


def _draw_normal(model: nn.Module) -> None:
    """Draw matrices with deviation 1/sqrt(inputs) and biases with 0.3: wider than torch's defaults."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=module.in_features**-0.5)
            if module.bias is not None:
                nn.init.normal_(module.bias, std=0.3)


def parameter_groups(model: Transformer | Reader, recipe: Recipe) -> list[dict[str, Any]]:
    """Return a network's parameters; those that score distances have a rate of their own and do not decay."""
    if not isinstance(model, Reader):
        return [{"params": [*model.parameters()], "times": 1.0}]
    apart = model.by_distance
    others = [each for each in model.parameters() if not any(each is one for one in apart)]
    return [
        {"params": others, "times": 1.0},
        {"params": apart, "times": recipe.distance_rate, "weight_decay": 0.0},
    ]
