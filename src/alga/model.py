r"""The Transformer, and nothing else.

One decoder-only network reads the padded prompt, the start token and what it has written so far. The prompt and the
start token see each other; what follows sees them and what came before it (the paper's mask, here for `55` -> `10S`):

                 5 5 P P P \n 1 0        every position is an embedded token plus a learned position,
    prompt, \n   x x x x x x             then layers of attention and feed-forward (pre-norm),
    1            x x x x x x x           then one linear map to the vocabulary,
    0            x x x x x x x x         read from `\n` on: the next token's logits

Shapes: B batch, L positions, Q positions computed, D width, H heads, E width of a head, V vocabulary.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from alga.config import ModelConfig
from alga.tokens import PAD_ID

Cache = list[tuple[Tensor, Tensor]]  # keys and values of the positions read so far, per layer


class Attention(nn.Module):
    """Multi-head attention, written out: the weights that pictures show are the weights that computed."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads, self.dropout = config.heads, config.dropout
        self.project_in = nn.Linear(config.width, 3 * config.width)
        self.project_out = nn.Linear(config.width, config.width)
        nn.init.xavier_uniform_(self.project_in.weight)
        nn.init.zeros_(self.project_in.bias)
        nn.init.zeros_(self.project_out.bias)

    def forward(
        self, x_BLD: Tensor, mask_QL: Tensor | None, skip: int, past: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
        """Attend from the positions after the first `skip`; return the result, the weights, keys and values."""
        B, L, D = x_BLD.shape
        q, k, v = self.project_in(x_BLD).view(B, L, 3, self.heads, D // self.heads).permute(2, 0, 3, 1, 4)
        if past is not None:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        scores_BHQL = (q[:, :, skip:] / math.sqrt(D // self.heads)) @ k.transpose(2, 3)
        if mask_QL is not None:
            scores_BHQL = scores_BHQL + mask_QL[skip:]
        weights_BHQL = scores_BHQL.softmax(dim=-1)
        mixed = F.dropout(weights_BHQL, self.dropout, self.training) @ v
        return self.project_out(mixed.transpose(1, 2).reshape(B, L - skip, D)), weights_BHQL, (k, v)


class Layer(nn.Module):
    """Attention and a feed-forward network, each behind a LayerNorm and added to what came in."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(config.width)
        self.attention = Attention(config)
        self.feed_forward_norm = nn.LayerNorm(config.width)
        self.feed_forward = nn.Sequential(
            nn.Linear(config.width, config.hidden),
            nn.GELU(),
            nn.Linear(config.hidden, config.width),
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
        positions = config.input_length + 1 + config.output_length
        self.token_embedding = nn.Embedding(config.vocabulary, config.width, padding_idx=PAD_ID)
        self.position_embedding = nn.Embedding(positions, config.width)
        self.embedding_dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.final_norm = nn.LayerNorm(config.width)
        self.head = nn.Linear(config.width, config.vocabulary, bias=False)
        prefix = config.input_length + 1
        hidden_LL = torch.ones(positions, positions, dtype=torch.bool).triu(1)
        hidden_LL[:, :prefix] = False
        self.mask: Tensor
        self.register_buffer("mask", torch.zeros(positions, positions).masked_fill(hidden_LL, -math.inf), False)

    @property
    def parameter_count(self) -> int:
        """The number of trained numbers, each counted once."""
        return sum(parameter.numel() for parameter in self.parameters())

    def forward(self, ids_BL: Tensor, cache: Cache | None = None, attention: list[Tensor] | None = None) -> Tensor:
        r"""Return the next token's logits at `\n` and at every position after it.

        With a `cache`, `ids_BL` continue what the cache has read, and it grows; an empty one is filled. A list given
        as `attention` receives each layer's weights over all positions (BHLL); the result is the same.
        """
        past = cache[0][0].shape[2] if cache else 0
        end = past + ids_BL.shape[1]
        x_BLD = self.token_embedding(ids_BL) + self.position_embedding.weight[past:end]
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
        logits: Tensor = self.head(self.final_norm(x_BLD))
        return logits
