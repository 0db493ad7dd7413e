r"""The Transformer, and nothing else.

One decoder-only network reads the padded prompt, the start token and its output so far. The prompt and the start token
attend to each other; output tokens attend to them and to earlier ones (the paper's mask, here for `55` -> `10S`):

                 5 5 P P P \n 1 0        every position is an embedded token plus a learned position,
    prompt, \n   x x x x x x             then layers of attention and feed-forward (pre-norm),
    1            x x x x x x x           then one linear map to the vocabulary,
    0            x x x x x x x x         read from `\n` on: the next token's logits

Shapes: B batch, L positions, Q positions computed, D width, H heads, E width of a head, V vocabulary.
"""

from __future__ import annotations

import math
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from alga.network.config import ModelConfig
from alga.network.tokens import PAD_ID

NO_ROW: Final = -1  # for a position without an embedding

Cache = list[tuple[Tensor, Tensor]]  # keys and values of the positions read so far, per layer


def attention_mask(config: ModelConfig) -> Tensor:
    """Return what is added to the scores: minus infinity where a position may not attend."""
    positions = config.input_length + 1 + config.output_length
    hidden_LL = torch.ones(positions, positions, dtype=torch.bool).triu(1)
    hidden_LL[:, : config.input_length + 1] = False
    return torch.zeros(positions, positions, dtype=torch.float32).masked_fill(hidden_LL, -math.inf)


def position_rows(config: ModelConfig) -> list[int]:
    """Return the row of each position's embedding, NO_ROW for one without."""
    rows = [NO_ROW if row == "." else int(row) for row in config.positions]
    return rows or list(range(config.input_length + 1 + config.output_length))


class Attention(nn.Module):
    """Multi-head attention, written out, so that pictures show the weights that were used."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads, self.dropout = config.heads, config.dropout
        self.query_width = config.query_width or config.width // config.heads
        self.shared_keys = config.shared_keys
        queries, bias = config.heads * self.query_width, config.biases == "all"
        self.project_in = nn.Linear(config.width, queries * (1 if config.shared_keys else 2) + config.width, bias)
        self.project_out = nn.Linear(config.width, config.width, bias) if config.out else nn.Identity()
        nn.init.xavier_uniform_(self.project_in.weight)
        for name, parameter in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(
        self, x_BLD: Tensor, mask_QL: Tensor | None, skip: int, past: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
        """Attend from the positions after the first `skip`; return the result, the weights, keys and values."""
        B, L, D = x_BLD.shape
        queries = self.heads * self.query_width
        mapped = self.project_in(x_BLD)
        q = mapped[..., :queries].view(B, L, self.heads, -1).transpose(1, 2)
        k = q if self.shared_keys else mapped[..., queries:-D].view(B, L, self.heads, -1).transpose(1, 2)
        v = mapped[..., -D:].view(B, L, self.heads, -1).transpose(1, 2)
        if past is not None:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        scores_BHQL = (q[:, :, skip:] / math.sqrt(self.query_width)) @ k.transpose(2, 3)
        if mask_QL is not None:
            scores_BHQL = scores_BHQL + mask_QL[skip:]
        weights_BHQL = scores_BHQL.softmax(dim=-1)
        mixed = F.dropout(weights_BHQL, self.dropout, self.training) @ v
        return self.project_out(mixed.transpose(1, 2).reshape(B, L - skip, D)), weights_BHQL, (k, v)


class Layer(nn.Module):
    """Attention and a feed-forward network, each after a LayerNorm and with a residual connection."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        whole = config.norms == "all"
        plain = (
            nn.LayerNorm(config.width, elementwise_affine=False) if config.norms == "feed-forward" else nn.Identity()
        )
        self.attention_norm = nn.LayerNorm(config.width) if whole else nn.Identity()
        self.attention = Attention(config)
        self.feed_forward_norm = nn.LayerNorm(config.width) if whole else plain
        self.feed_forward = nn.Sequential(
            nn.Linear(config.width, config.hidden),
            nn.GELU(),
            nn.Linear(config.hidden, config.width, config.biases == "all"),
            nn.Dropout(config.dropout),
        )

    def forward(
        self, x_BLD: Tensor, mask_QL: Tensor | None, skip: int, past: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
        """Return the positions after the first `skip`, the attention weights, keys and values."""
        attended_BQD, weights_BHQL, kept = self.attention(self.attention_norm(x_BLD), mask_QL, skip, past)
        x_BQD = x_BLD[:, skip:] + attended_BQD
        return x_BQD + self.feed_forward(self.feed_forward_norm(x_BQD)), weights_BHQL, kept


class Transformer(nn.Module):
    """The paper's network; every network of this package is one of these."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        rows = position_rows(config)
        self.token_embedding = nn.Embedding(config.vocabulary, config.width, None if config.tied else PAD_ID)
        self.position_embedding = nn.Embedding(1 + max(rows), config.width)
        self.rows: Tensor
        self.register_buffer("rows", torch.tensor(rows), persistent=False)
        self.embedding_dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.final_norm = nn.LayerNorm(config.width) if config.norms == "all" else nn.Identity()
        if not config.tied:
            self.head = nn.Linear(config.width, config.vocabulary, bias=False)
        self.mask: Tensor
        self.register_buffer("mask", attention_mask(config), persistent=False)

    @property
    def parameter_count(self) -> int:
        """The number of trained parameters, each counted once."""
        return sum(parameter.numel() for parameter in self.parameters())

    def forward(self, ids_BL: Tensor, cache: Cache | None = None, attention: list[Tensor] | None = None) -> Tensor:
        r"""Return the next token's logits at `\n` and at every position after it.

        With a `cache`, `ids_BL` continue what the cache has read, and it grows; an empty one is filled. A list given
        as `attention` receives each layer's weights over all positions (BHLL); the result is the same.
        """
        past = cache[0][0].shape[2] if cache else 0
        end = past + ids_BL.shape[1]
        x_BLD = self.token_embedding(ids_BL) + self.positions(past, end)
        x_BLD = self.embedding_dropout(x_BLD)
        mask_QL = self.mask[past:end, :end] if end > self.config.input_length + 1 else None
        unread = max(0, self.config.input_length - past)  # prompt positions: nothing is read from their last layer
        kept: Cache = []
        for i, layer in enumerate(self.layers):
            skip = unread if i == len(self.layers) - 1 and attention is None else 0
            x_BLD, weights_BHQL, keys_and_values = layer(x_BLD, mask_QL, skip, cache[i] if cache else None)
            kept.append(keys_and_values)
            if attention is not None:
                attention.append(weights_BHQL)
        if cache is not None:
            cache[:] = kept
        if attention is not None:
            x_BLD = x_BLD[:, unread:]
        return F.linear(self.final_norm(x_BLD), self.vocabulary_weight)

    @property
    def vocabulary_weight(self) -> Tensor:
        """The map from the last layer to the logits."""
        return self.token_embedding.weight if self.config.tied else self.head.weight

    def positions(self, start: int, end: int) -> Tensor:
        """Return the embeddings of positions: a row each, or shared rows and none."""
        if not self.config.positions:
            return self.position_embedding.weight[start:end]
        rows_L = self.rows[start:end]
        return self.position_embedding.weight[rows_L.clamp_min(0)] * (rows_L != NO_ROW).unsqueeze(-1)
