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
from alga.network.hook_points import HookPoint
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
        self.queries, self.keys, self.values = HookPoint(), HookPoint(), HookPoint()
        self.scores, self.pattern, self.mixed = HookPoint(), HookPoint(), HookPoint()

    def forward(
        self, x_BLD: Tensor, mask_QL: Tensor | None, skip: int, past: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Attend from the positions after the first `skip`; return the result, and keys and values."""
        B, L, D = x_BLD.shape
        queries = self.heads * self.query_width
        mapped = self.project_in(x_BLD)
        q_BLHE = self.queries(mapped[..., :queries].view(B, L, self.heads, -1))
        k_BLHE = self.keys(q_BLHE if self.shared_keys else mapped[..., queries:-D].view(B, L, self.heads, -1))
        v_BLHE = self.values(mapped[..., -D:].view(B, L, self.heads, -1))
        q, k, v = q_BLHE.transpose(1, 2), k_BLHE.transpose(1, 2), v_BLHE.transpose(1, 2)
        if past is not None:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        scores_BHQL = (q[:, :, skip:] / math.sqrt(self.query_width)) @ k.transpose(2, 3)
        if mask_QL is not None:
            scores_BHQL = scores_BHQL + mask_QL[skip:]
        weights_BHQL = self.pattern(self.scores(scores_BHQL).softmax(dim=-1))
        mixed_BHQE = F.dropout(weights_BHQL, self.dropout, self.training) @ v
        mixed_BQHE = self.mixed(mixed_BHQE.transpose(1, 2))
        return self.project_out(mixed_BQHE.reshape(B, L - skip, D)), (k, v)


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
        self.before, self.between, self.after = HookPoint(), HookPoint(), HookPoint()

    def forward(
        self, x_BLD: Tensor, mask_QL: Tensor | None, skip: int, past: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return the positions after the first `skip`, and keys and values."""
        x_BLD = self.before(x_BLD)
        attended_BQD, kept = self.attention(self.attention_norm(x_BLD), mask_QL, skip, past)
        x_BQD = self.between(x_BLD[:, skip:] + attended_BQD)
        return self.after(x_BQD + self.feed_forward(self.feed_forward_norm(x_BQD))), kept


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
        self.position_embedded, self.logits = HookPoint(), HookPoint()
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
        return self.config.parameters

    def forward(self, ids_BL: Tensor, cache: Cache | None = None, every_position: bool = False) -> Tensor:
        r"""Return the next token's logits at `\n` and at every position after it, or at every position.

        With a `cache`, `ids_BL` continue what the cache has read, and it grows; an empty one is filled.
        """
        past = cache[0][0].shape[2] if cache else 0
        end = past + ids_BL.shape[1]
        tokens_BLD = self.token_embedding(ids_BL)
        x_BLD = tokens_BLD + self.position_embedded(self.positions(past, end).expand_as(tokens_BLD))
        x_BLD = self.embedding_dropout(x_BLD)
        mask_QL = self.mask[past:end, :end] if end > self.config.input_length + 1 else None
        unread = 0 if every_position else max(0, self.config.input_length - past)  # of the prompt, in the last layer
        kept: Cache = []
        for i, layer in enumerate(self.layers):
            skip = unread if i == len(self.layers) - 1 else 0
            x_BLD, keys_and_values = layer(x_BLD, mask_QL, skip, cache[i] if cache else None)
            kept.append(keys_and_values)
        if cache is not None:
            cache[:] = kept
        logits_BQV: Tensor = self.logits(F.linear(self.final_norm(x_BLD), self.vocabulary_weight))
        return logits_BQV

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
