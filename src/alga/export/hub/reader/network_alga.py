"""The Transformer of an ALGA network that reads whole texts, in plain torch.

    text    6 5 7 8 5 + 8 7 6 5 = 0 5 5 4 7 S
    place   5 4 3 2 1 0 4 3 2 1 0 1 2 3 4 5 6

The digits of one column share a place. Attention is causal; a score is query · key plus a learned number for the
distance between two places, which falls by a learned slope beyond `reach`. Each head has a sink, a constant in the
denominator.

Shapes: B batch, L positions seen, Q positions computed, D width, H heads, V vocabulary; M is L and the sink.
"""

from __future__ import annotations

import math
from typing import Protocol

import torch
from torch import Tensor, nn

PADDING = -1  # the place of a token that nothing attends to


class Cache(Protocol):
    """Keys and values of the positions read so far, such as a cache of transformers."""

    def update(self, keys: Tensor, values: Tensor, layer: int, /) -> tuple[Tensor, Tensor]:
        """Append a layer's keys and values; return all of them."""


class Seen:
    """What a forward pass collects on request: the residual stream before each layer and at the end, and attention."""

    def __init__(self) -> None:
        self.states: list[Tensor] = []
        self.attention: list[Tensor] = []


def parts_and_places(ids_BL: Tensor, plus: int, equals: int, real_BL: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return the part of each token (0 before the first `=`, 1 from there on) and its place.

    A token that is not `real` is padding: it belongs to no number.
    """
    B, L = ids_BL.shape
    at_BL = torch.arange(L, device=ids_BL.device).expand(B, L)
    real_BL = torch.ones_like(ids_BL, dtype=torch.bool) if real_BL is None else real_BL.bool()
    equals_BL = (ids_BL == equals) & real_BL
    parts_BL = (equals_BL.cumsum(dim=1) > 0).long()
    first_B1 = torch.where(equals_BL, at_BL, L).min(dim=1, keepdim=True).values
    sign_BL = (equals_BL | ((ids_BL == plus) & real_BL)) & (at_BL <= first_B1)
    next_BL = torch.where(sign_BL, at_BL, L).flip(1).cummin(dim=1).values.flip(1)  # the sign after each token
    places_BL = torch.where(parts_BL == 1, at_BL - first_B1, next_BL - at_BL)
    return parts_BL, places_BL.masked_fill(~real_BL, PADDING)


class CurveEmbedding(nn.Module):
    """Embeds digits on a parabola by three numbers; other tokens have a row each, or plus and equals are zeros."""

    def __init__(self, vocabulary: int, width: int, signs: bool) -> None:
        super().__init__()
        self.digits = vocabulary - 3
        self.curve = nn.Parameter(torch.zeros(3))
        self.others = nn.Parameter(torch.zeros(3 if signs else 1, width))

    @property
    def weight(self) -> Tensor:
        """The embedding of each token."""
        top, bend, step = self.curve
        shares = torch.arange(self.digits, dtype=self.curve.dtype, device=self.curve.device) / (self.digits - 1)
        turned = 2 * shares - 1
        digits_KD = torch.stack([top - bend * (turned * turned), step * shares], dim=1)
        nothing = self.others.new_zeros(3 - len(self.others), self.others.shape[1])
        return torch.cat([digits_KD, nothing, self.others])

    def forward(self, ids: Tensor) -> Tensor:
        """Return the embedding of tokens."""
        return nn.functional.embedding(ids, self.weight)


class Attention(nn.Module):
    """Causal attention over all positions, by content and by distance."""

    def __init__(
        self, width: int, heads: int, reach: int, keys: bool, window: bool, biased: bool = True, out: bool = True
    ) -> None:
        super().__init__()
        self.heads, self.reach, self.keys, self.window = heads, reach, keys, window
        self.distances = nn.Parameter(torch.zeros(heads, 2 * reach + 1))
        self.slopes = nn.Parameter(torch.ones(heads, 2))
        self.sinks = nn.Parameter(torch.zeros(heads))
        self.project_in = nn.Linear(width, width * (3 if keys else 1), biased)
        self.project_out = nn.Linear(width, width, biased) if out else nn.Identity()

    def forward(
        self, x_BQD: Tensor, distance_BQL: Tensor, hidden_BQL: Tensor, layer: int, cache: Cache | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the result and the weights, the sink's last (BHQM)."""
        B, Q, D = x_BQD.shape
        mapped = [part.view(B, Q, self.heads, -1).transpose(1, 2) for part in self.project_in(x_BQD).split(D, dim=-1)]
        k, v = mapped[-2 if self.keys else -1], mapped[-1]
        if cache is not None:
            k, v = cache.update(k, v, layer)
        scores_BHQL = self.score(distance_BQL)
        if self.keys:
            scores_BHQL = scores_BHQL + (mapped[0] / math.sqrt(D // self.heads)) @ k.transpose(2, 3)
        if self.window:
            hidden_BQL = hidden_BQL | (distance_BQL < 0) | (distance_BQL > 1)
        scores_BHQL = scores_BHQL.masked_fill(hidden_BQL[:, None], -math.inf)
        sinks_BHQ1 = self.sinks.view(1, -1, 1, 1).expand(B, -1, Q, 1)
        weights_BHQM = torch.cat([scores_BHQL, sinks_BHQ1], dim=-1).softmax(dim=-1)
        mixed = weights_BHQM[..., :-1] @ v
        return self.project_out(mixed.transpose(1, 2).reshape(B, Q, D)), weights_BHQM

    def score(self, distance_BQL: Tensor) -> Tensor:
        """Return the part of each score that depends on the distance alone (BHQL)."""
        near = self.distances[:, distance_BQL.clamp(-self.reach, self.reach) + self.reach]
        below, above = (-self.reach - distance_BQL).clamp_min(0), (distance_BQL - self.reach).clamp_min(0)
        far = self.slopes[:, 0].view(-1, 1, 1, 1) * below + self.slopes[:, 1].view(-1, 1, 1, 1) * above
        return (near - far).transpose(0, 1)


class Layer(nn.Module):
    """Attention and a feed-forward network, each after its LayerNorm if there is one, with a residual connection."""

    def __init__(self, width: int, hidden: int, attention: Attention, norms: bool = True, biased: bool = True) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width) if norms else nn.Identity()
        self.attention = attention
        self.feed_forward_norm = nn.LayerNorm(width) if norms else nn.Identity()
        self.feed_forward = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width, biased))

    def forward(
        self, x_BQD: Tensor, distance_BQL: Tensor, hidden_BQL: Tensor, layer: int, cache: Cache | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the layer's result and its attention weights."""
        normed_BQD = self.attention_norm(x_BQD)
        attended_BQD, weights_BHQM = self.attention(normed_BQD, distance_BQL, hidden_BQL, layer, cache)
        x_BQD = x_BQD + attended_BQD
        return x_BQD + self.feed_forward(self.feed_forward_norm(x_BQD)), weights_BHQM


class ReaderNetwork(nn.Module):
    """The network; its settings are those of `config.json`, its tensors are named as in `model.safetensors`."""

    def __init__(
        self,
        *,
        vocabulary: int,
        width: int,
        heads: int,
        layers: int,
        hidden: int,
        reach: int,
        keys: bool = True,
        window: bool = False,
        tied: bool = False,
        norms: str = "all",
        biases: str = "all",
        parts: bool = True,
        out: bool = True,
        curve: str = "",
        signs: bool = True,
    ) -> None:
        super().__init__()
        normed, biased = norms == "all", biases == "all"
        self.token_embedding = CurveEmbedding(vocabulary, width, signs) if curve else nn.Embedding(vocabulary, width)
        self.part_embedding = nn.Embedding(2, width) if parts else None
        attentions = [Attention(width, heads, reach, keys, window, biased, out) for _ in range(layers)]
        self.layers = nn.ModuleList(Layer(width, hidden, each, normed, biased) for each in attentions)
        self.final_norm = nn.LayerNorm(width) if normed else nn.Identity()
        self.head = None if tied else nn.Linear(width, vocabulary, bias=False)

    def forward(
        self,
        ids_BQ: Tensor,
        parts_BL: Tensor,
        places_BL: Tensor,
        cache: Cache | None = None,
        seen: Seen | None = None,
    ) -> Tensor:
        """Return the next token's logits at every given position.

        Parts and places are those of the whole text; with a `cache`, the given tokens are its last ones.
        """
        Q, L = ids_BQ.shape[1], places_BL.shape[1]
        x_BQD: Tensor = self.token_embedding(ids_BQ)
        if self.part_embedding is not None:
            x_BQD = x_BQD + self.part_embedding(parts_BL[:, -Q:])
        distance_BQL = places_BL[:, None, :] - places_BL[:, -Q:, None]
        at_L = torch.arange(L, device=ids_BQ.device)
        hidden_BQL = (at_L > at_L[-Q:, None]) | (places_BL < 0)[:, None, :]
        for i, layer in enumerate(self.layers):
            if seen is not None:
                seen.states.append(x_BQD)
            x_BQD, weights_BHQM = layer(x_BQD, distance_BQL, hidden_BQL, i, cache)
            if seen is not None:
                seen.attention.append(weights_BHQM)
        x_BQD = self.final_norm(x_BQD)
        if seen is not None:
            seen.states.append(x_BQD)
        if self.head is None:
            return nn.functional.linear(x_BQD, self.token_embedding.weight)
        logits_BQV: Tensor = self.head(x_BQD)
        return logits_BQV
