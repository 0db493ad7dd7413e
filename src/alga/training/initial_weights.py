"""The network of a recipe before its first training step."""

from __future__ import annotations

import torch
from torch import nn

from alga.network.config import ModelConfig
from alga.network.model import Transformer
from alga.runs.recipe import Recipe


@torch.no_grad()
def initial_network(config: ModelConfig, recipe: Recipe) -> Transformer:
    """Return a network with random weights, drawn from torch's global generator."""
    model = Transformer(config)
    if recipe.start == "normal":
        _draw_normal(model)
    for embedding in (model.token_embedding, model.position_embedding):
        embedding.weight *= recipe.embedding_scale
    return model


def _draw_normal(model: Transformer) -> None:
    """Draw matrices with deviation 1/sqrt(inputs) and biases with 0.3: wider than torch's defaults."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=module.in_features**-0.5)
            if module.bias is not None:
                nn.init.normal_(module.bias, std=0.3)
