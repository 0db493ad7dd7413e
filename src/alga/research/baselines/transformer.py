"""The network behind the baselines that read text: a causal Transformer, with the variants their authors use.

By default it is that of network/model.py: LayerNorm before each part, GELU, two linear maps. Position coupling adds
RMSNorm on both sides of each part and gates its hidden units; Abacus embeddings repeat the same layers, adding the
embedded text each time.

Shapes: B batch, L positions, N chosen positions of all rows, D width, H heads, E width of a head, V vocabulary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from alga.network.model import Cache

MAX_POSITIONS: Final = 4096  # of sinusoids


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The size and the variant of a network."""

    vocabulary: int
    rows: int  # learned position embeddings; 0: sinusoids
    width: int
    heads: int
    layers: int
    hidden: int
    loops: int = 1  # times the layers are applied
    gated: bool = False  # hidden units are gated: GELU of one map times another
    both_norms: bool = False  # RMSNorm before and after each part, instead of LayerNorm before
    spread: float = 0.02  # standard deviation of the embeddings at first, if positions are learned


class Block(nn.Module):
    """Attention and a feed-forward network with residual connections."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width, hidden = shape.width, shape.hidden
        self.heads, self.gated = shape.heads, shape.gated
        norm = nn.RMSNorm if shape.both_norms else nn.LayerNorm
        self.attention_norm, self.feed_forward_norm = norm(width), norm(width)
        self.attention_after, self.feed_forward_after = (
            nn.RMSNorm(width) if shape.both_norms else nn.Identity() for _ in range(2)
        )
        self.project_in = nn.Linear(width, 3 * width)
        self.project_out = nn.Linear(width, width)
        self.widen = nn.Linear(width, 2 * hidden if shape.gated else hidden)
        self.narrow = nn.Linear(hidden, width)
        nn.init.xavier_uniform_(self.project_in.weight)
        nn.init.zeros_(self.project_in.bias)
        nn.init.zeros_(self.project_out.bias)

    def forward(
        self, x_BLD: Tensor, mask: Tensor | None, past: tuple[Tensor, Tensor] | None, chosen_N: Tensor | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return the result, of the chosen positions (ND) if they are given, and keys and values."""
        B, L, D = x_BLD.shape
        mapped = self.project_in(self.attention_norm(x_BLD)).view(B, L, 3, self.heads, D // self.heads)
        q, k, v = mapped.permute(2, 0, 3, 1, 4).unbind(0)
        if past is not None:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        mixed_BHLE = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        mixed = mixed_BHLE.transpose(1, 2).reshape(B, L, D)
        if chosen_N is not None:
            mixed, x_BLD = mixed.flatten(0, 1)[chosen_N], x_BLD.flatten(0, 1)[chosen_N]
        x = x_BLD + self.attention_after(self.project_out(mixed))
        wide = self.widen(self.feed_forward_norm(x))
        if self.gated:
            gates, values = wide.chunk(2, dim=-1)
            wide = F.gelu(gates) * values
        else:
            wide = F.gelu(wide)
        return x + self.feed_forward_after(self.narrow(wide)), (k, v)


class CausalTransformer(nn.Module):
    """A decoder-only Transformer; positions have `rows` learned embeddings or, if 0, sinusoids."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.loops = shape.loops
        self.token_embedding = nn.Embedding(shape.vocabulary, shape.width)
        self.place_embedding = nn.Embedding(shape.rows, shape.width) if shape.rows else None
        self.sinusoids: Tensor
        self.register_buffer("sinusoids", _sinusoids(shape.width), persistent=False)
        self.layers = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.width) if shape.both_norms else nn.LayerNorm(shape.width)
        self.head = nn.Linear(shape.width, shape.vocabulary, bias=False)
        for embedding in (self.token_embedding, self.place_embedding):
            if embedding is not None:
                nn.init.normal_(embedding.weight, std=shape.spread if shape.rows else 0.5)

    def forward(
        self,
        ids_BL: Tensor,
        places_BL: Tensor,
        mask: Tensor | None = None,
        cache: Cache | None = None,
        chosen_N: Tensor | None = None,
    ) -> Tensor:
        """Return the next token's logits at every position, or at the chosen ones, counted through all rows (NV).

        Without a mask every position attends to those before it in its row; `cache` holds what was read before.
        """
        past = cache[0][0].shape[2] if cache else 0
        if mask is None:
            end = past + ids_BL.shape[1]
            mask = torch.full((end, end), -math.inf, device=ids_BL.device).triu(1)[past:]
        where = self.sinusoids[places_BL] if self.place_embedding is None else self.place_embedding(places_BL)
        embedded_BLD = self.token_embedding(ids_BL) + where
        x, kept = embedded_BLD, Cache()
        for loop in range(self.loops):
            x = x + embedded_BLD if loop else x
            for layer in self.layers:
                last = len(kept) == self.loops * len(self.layers) - 1
                x, read = layer(x, mask, cache[len(kept)] if cache else None, chosen_N if last else None)
                kept.append(read)
        if cache is not None:
            cache[:] = kept
        logits: Tensor = self.head(self.norm(x))
        return logits


def _sinusoids(width: int) -> Tensor:
    """Return the sinusoidal position embeddings of Vaswani et al. 2017."""
    place_L1 = torch.arange(MAX_POSITIONS).unsqueeze(1)
    rate_D = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
    waves_LD = torch.zeros(MAX_POSITIONS, width)
    waves_LD[:, 0::2] = torch.sin(place_L1 * rate_D)
    waves_LD[:, 1::2] = torch.cos(place_L1 * rate_D)
    return waves_LD
