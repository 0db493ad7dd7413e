"""The network of a recipe before its first training step."""

from __future__ import annotations

from typing import Final

import torch
from torch import nn

from alga.base.errors import AlgaError
from alga.network.config import ModelConfig
from alga.network.kinds import AnyShape, new_module
from alga.network.model import Transformer
from alga.network.reader import CurveEmbedding, Reader, ReaderAttention
from alga.network.sharing import sharing
from alga.runs import Weights
from alga.runs.config import Recipe
from alga.tasks.whole import NEXT, OWN
from alga.training.shared_numbers import draw

# A reader that starts at two columns: scores at the own place and the next, of every other place, and of the sink.
SCORES: Final = {"own": 0.0, "next": 2.3, "elsewhere": -2.0, "sink": 4.6}
SLOPE: Final = 3.0
VALUES: Final = (-8.0, -60.0)  # times a token's embedding: values are large, since the sink makes weights small
BIAS: Final = 10.0  # times the biases of hidden units: the stream is that large


@torch.no_grad()
def initial_network(config: AnyShape, recipe: Recipe, weights: Weights | None = None) -> Transformer | Reader:
    """Return a network with random weights, drawn from torch's global generator, or with the given ones."""
    model = new_module(config)
    if recipe.start != "torch":
        _draw_normal(model)
    if recipe.start == "two-columns":
        _look_at_two_columns(model)
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            module.weight *= recipe.embedding_scale
        if isinstance(module, CurveEmbedding):
            module.others.mul_(recipe.embedding_scale)
    if isinstance(config, ModelConfig) and config.shares:
        model.load_state_dict(draw(sharing(config), recipe.embedding_scale))
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


def _look_at_two_columns(model: nn.Module) -> None:
    """Let a reader's attention begin where it has to end, at the own place and the next, with a strong sink.

    Most of the weight is the sink's, so that a mix is nearly a sum of values and a missing digit counts like a zero.
    """
    if not isinstance(model, Reader) or model.config.keys or not model.config.curve:
        raise AlgaError("a start at two columns needs a reader of digits on a curve whose scores are distances alone")
    for attention in (module for module in model.modules() if isinstance(module, ReaderAttention)):
        reach = attention.reach
        attention.distances.fill_(SCORES["elsewhere"])
        attention.distances[:, reach + OWN], attention.distances[:, reach + NEXT] = SCORES["own"], SCORES["next"]
        attention.slopes.fill_(SLOPE)
        attention.sinks.fill_(SCORES["sink"])
        attention.project_in.weight += torch.diag(torch.tensor(VALUES))
    for layer in model.layers:
        layer.feed_forward[0].bias *= BIAS  # type: ignore[index, union-attr]
