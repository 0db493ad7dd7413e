"""A recipe's network before its first step."""

from __future__ import annotations

import torch
from torch import nn

from alga.config import ModelConfig
from alga.model import Transformer
from alga.recipes import Recipe


@torch.no_grad()
def start(config: ModelConfig, recipe: Recipe) -> Transformer:
    """Return a network with random weights, drawn from torch's own generator."""
    model = Transformer(config)
    if recipe.start == "normal":
        _start_normal(model)
    for embedding in (model.token_embedding, model.position_embedding):
        embedding.weight *= recipe.embedding_scale
    return model


def _start_normal(model: Transformer) -> None:
    """Let matrices begin normal with a deviation of 1/sqrt(inputs), and biases with 0.3: wider than torch does."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=module.in_features**-0.5)
            if module.bias is not None:
                nn.init.normal_(module.bias, std=0.3)
