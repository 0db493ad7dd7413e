r"""The Transformer of an ALGA network that answers prompts, in plain torch.

It reads the padded prompt, `\n` and its output so far. The prompt and `\n` attend to each other; output tokens attend
to them and to earlier ones. Padding is part of the prompt and is attended to like any other token.

Shapes: B batch, L positions seen, Q positions computed, D width, H heads, V vocabulary.
"""

from __future__ import annotations

import math
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Cache(Protocol):
    """Keys and values of the positions read so far, such as a cache of transformers."""

    def update(self, keys: Tensor, values: Tensor, layer: int, /) -> tuple[Tensor, Tensor]:
        """Append a layer's keys and values; return all of them."""


class Seen:
    """What a forward pass collects on request: the residual stream before each layer and at the end, and attention."""

    def __init__(self) -> None:
        self.states: list[Tensor] = []
        self.attention: list[Tensor] = []


class Attention(nn.Module):
    """Multi-head attention; queries may be narrower than values, keys may be queries, the output map may be absent."""

    def __init__(
        self, width: int, heads: int, *, query_width: int, shared_keys: bool, out: bool, bias: bool, dropout: float
    ) -> None:
        super().__init__()
        self.heads, self.query_width, self.shared_keys = heads, query_width or width // heads, shared_keys
        queries = heads * self.query_width
        self.project_in = nn.Linear(width, queries * (1 if shared_keys else 2) + width, bias)
        self.dropout = nn.Dropout(dropout)
        self.project_out = nn.Linear(width, width, bias) if out else nn.Identity()

    def forward(self, x_BQD: Tensor, mask_QL: Tensor, layer: int, cache: Cache | None = None) -> tuple[Tensor, Tensor]:
        """Return the result and the weights (BHQL)."""
        B, Q, D = x_BQD.shape
        queries = self.heads * self.query_width
        mapped = self.project_in(x_BQD)
        q = mapped[..., :queries].view(B, Q, self.heads, -1).transpose(1, 2)
        k = q if self.shared_keys else mapped[..., queries:-D].view(B, Q, self.heads, -1).transpose(1, 2)
        v = mapped[..., -D:].view(B, Q, self.heads, -1).transpose(1, 2)
        if cache is not None:
            k, v = cache.update(k, v, layer)
        scores_BHQL = (q / math.sqrt(self.query_width)) @ k.transpose(2, 3) + mask_QL
        weights_BHQL = scores_BHQL.softmax(dim=-1)
        mixed = self.dropout(weights_BHQL) @ v
        return self.project_out(mixed.transpose(1, 2).reshape(B, Q, D)), weights_BHQL


class Layer(nn.Module):
    """Attention and a feed-forward network, each after its norm and with a residual connection."""

    def __init__(self, width: int, hidden: int, norms: str, biases: str, attention: Attention, dropout: float) -> None:
        super().__init__()
        plain = nn.LayerNorm(width, elementwise_affine=False) if norms == "feed-forward" else nn.Identity()
        self.attention_norm = nn.LayerNorm(width) if norms == "all" else nn.Identity()
        self.attention = attention
        self.feed_forward_norm = nn.LayerNorm(width) if norms == "all" else plain
        self.feed_forward = nn.Sequential(
            nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width, biases == "all"), nn.Dropout(dropout)
        )

    def forward(self, x_BQD: Tensor, mask_QL: Tensor, layer: int, cache: Cache | None = None) -> tuple[Tensor, Tensor]:
        """Return the layer's result and its attention weights."""
        attended_BQD, weights_BHQL = self.attention(self.attention_norm(x_BQD), mask_QL, layer, cache)
        x_BQD = x_BQD + attended_BQD
        return x_BQD + self.feed_forward(self.feed_forward_norm(x_BQD)), weights_BHQL


class StepNetwork(nn.Module):
    """The network; its settings are those of `config.json`, its tensors are named as in `model.safetensors`."""

    def __init__(
        self,
        *,
        vocabulary: int,
        input_length: int,
        output_length: int,
        width: int,
        heads: int,
        layers: int,
        hidden: int,
        dropout: float = 0.0,
        tied: bool = False,
        norms: str = "all",
        biases: str = "all",
        query_width: int = 0,
        shared_keys: bool = False,
        out: bool = True,
        positions: str = "",
    ) -> None:
        super().__init__()
        self.input_length, self.tied = input_length, tied
        self.longest = input_length + output_length  # the last output token is written and not read
        self.rows = [-1 if row == "." else int(row) for row in positions] or list(range(self.longest + 1))
        self.token_embedding = nn.Embedding(vocabulary, width)
        self.position_embedding = nn.Embedding(1 + max(self.rows), width)
        self.embedding_dropout = nn.Dropout(dropout)
        bias = biases == "all"
        attentions = [
            Attention(
                width, heads, query_width=query_width, shared_keys=shared_keys, out=out, bias=bias, dropout=dropout
            )
            for _ in range(layers)
        ]
        self.layers = nn.ModuleList(Layer(width, hidden, norms, biases, each, dropout) for each in attentions)
        self.final_norm = nn.LayerNorm(width) if norms == "all" else nn.Identity()
        if not tied:
            self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids_BQ: Tensor, past: int = 0, cache: Cache | None = None, seen: Seen | None = None) -> Tensor:
        r"""Return the next token's logits at every given position; they have a meaning from `\n` on.

        With a `cache`, the given positions continue the `past` ones that it holds.
        """
        end = past + ids_BQ.shape[1]
        if end > self.longest:
            raise ValueError(f"this network reads up to {self.longest} tokens, got {end}")
        rows_Q = torch.tensor(self.rows[past:end], device=ids_BQ.device)
        placed_QD = self.position_embedding(rows_Q.clamp_min(0)) * (rows_Q >= 0).unsqueeze(-1)
        x_BQD = self.embedding_dropout(self.token_embedding(ids_BQ) + placed_QD)
        mask_QL = self.mask(past, end).to(x_BQD)
        for i, layer in enumerate(self.layers):
            if seen is not None:
                seen.states.append(x_BQD)
            x_BQD, weights_BHQL = layer(x_BQD, mask_QL, i, cache)
            if seen is not None:
                seen.attention.append(weights_BHQL)
        x_BQD = self.final_norm(x_BQD)
        if seen is not None:
            seen.states.append(x_BQD)
        return F.linear(x_BQD, self.token_embedding.weight if self.tied else self.head.weight)

    def mask(self, past: int, end: int) -> Tensor:
        """Return what is added to the scores (QL): minus infinity where a position may not attend."""
        at_Q, at_L = torch.arange(past, end).unsqueeze(-1), torch.arange(end)
        return torch.zeros(end - past, end).masked_fill((at_L > at_Q) & (at_L > self.input_length), -math.inf)
