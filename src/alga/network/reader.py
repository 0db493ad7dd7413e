"""The reader: a decoder-only Transformer that reads a whole text and continues it.

Attention is ordinary and hides nothing but the future. A score is query · key plus a learned number for the coupled
distance between two tokens (their places' difference), which falls by a learned slope beyond `reach`; each head has a
sink, a constant in the denominator, so that "nothing there" differs from "something there".

Shapes: B batch, L positions, N chosen positions of all rows, D width, H heads, E width of a head, V vocabulary.
"""

from __future__ import annotations

import math
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from alga.network.hook_points import HookPoint
from alga.network.reader_canonical import parabola
from alga.network.reader_config import CURVE, SIDES, SIGNS, ReaderConfig
from alga.tasks.whole import NEXT, OWN

LEAST_SLOPE: Final = 1 / 64  # that training leaves
CURVE_STARTS: Final = (2.0, 1.0, 3.0)  # top, bend and step of a parabola of digits
CURVE_SPREAD: Final = 0.3  # of what is drawn around them, relatively


class ReaderAttention(nn.Module):
    """Causal attention over all positions, by content and by coupled distance."""

    def __init__(self, config: ReaderConfig) -> None:
        super().__init__()
        self.heads, self.reach, self.window, self.by_content = config.heads, config.reach, config.window, config.keys
        self.distances = nn.Parameter(torch.zeros(config.heads, 2 * config.reach + 1))
        self.slopes = nn.Parameter(torch.ones(config.heads, SIDES))
        self.sinks = nn.Parameter(torch.zeros(config.heads))
        biased = config.biases == "all"
        self.project_in = nn.Linear(config.width, config.width * (3 if config.keys else 1), biased)
        self.project_out = nn.Linear(config.width, config.width, biased) if config.out else nn.Identity()
        nn.init.xavier_uniform_(self.project_in.weight)
        for name, parameter in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(parameter)
        self.queries, self.keys, self.values = HookPoint(), HookPoint(), HookPoint()
        self.scores, self.pattern, self.mixed = HookPoint(), HookPoint(), HookPoint()

    def forward(
        self, x_BLD: Tensor, distance_BLL: Tensor, hidden_BLL: Tensor, chosen_N: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Return the attention, and the logarithm of each weight before it is divided, the sink's last (BHLM)."""
        B, L, D = x_BLD.shape
        *keyed, values = (part.view(B, L, self.heads, -1) for part in self.project_in(x_BLD).split(D, dim=-1))
        v = self.values(values).transpose(1, 2)
        scores_BHLL = self.score(distance_BLL)
        if self.by_content:
            q, k = self.queries(keyed[0]).transpose(1, 2), self.keys(keyed[1]).transpose(1, 2)
            scores_BHLL = scores_BHLL + (q / math.sqrt(D // self.heads)) @ k.transpose(2, 3)
        if self.window:
            hidden_BLL = hidden_BLL | (distance_BLL < OWN) | (distance_BLL > NEXT)
        scores_BHLL = scores_BHLL.masked_fill(hidden_BLL[:, None], -math.inf)
        sinks_BHL1 = self.sinks.view(1, -1, 1, 1).expand(B, -1, L, 1)
        scores_BHLM = self.scores(torch.cat([scores_BHLL, sinks_BHL1], dim=-1))
        mixed_BHLE = self.pattern(scores_BHLM.softmax(dim=-1))[..., :-1] @ v
        mixed_BLHE = self.mixed(mixed_BHLE.transpose(1, 2))
        mixed = mixed_BLHE.reshape(B, L, D)
        attended: Tensor = self.project_out(mixed if chosen_N is None else mixed.flatten(0, 1)[chosen_N])
        return attended, scores_BHLM

    def score(self, distance_BLL: Tensor) -> Tensor:
        """Return the part of each score that depends on the coupled distance alone (BHLL)."""
        near = self.distances[:, distance_BLL.clamp(-self.reach, self.reach) + self.reach]
        below, above = (-self.reach - distance_BLL).clamp_min(0), (distance_BLL - self.reach).clamp_min(0)
        far = self.slopes[:, 0].view(-1, 1, 1, 1) * below + self.slopes[:, 1].view(-1, 1, 1, 1) * above
        return (near - far).transpose(0, 1)


class ReaderLayer(nn.Module):
    """Attention and a feed-forward network, each after its LayerNorm if there is one, with a residual connection."""

    def __init__(self, config: ReaderConfig) -> None:
        super().__init__()
        self.attention_norm = _norm(config)
        self.attention = ReaderAttention(config)
        self.feed_forward_norm = _norm(config)
        self.feed_forward = nn.Sequential(
            nn.Linear(config.width, config.hidden),
            nn.GELU(),
            nn.Linear(config.hidden, config.width, config.biases == "all"),
        )
        self.before, self.between, self.after = HookPoint(), HookPoint(), HookPoint()

    def forward(
        self, x_BLD: Tensor, distance_BLL: Tensor, hidden_BLL: Tensor, chosen_N: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Return the layer's result, of the chosen positions (ND) if they are given, and its scores."""
        x_BLD = self.before(x_BLD)
        attended, scores_BHLM = self.attention(self.attention_norm(x_BLD), distance_BLL, hidden_BLL, chosen_N)
        x = self.between((x_BLD if chosen_N is None else x_BLD.flatten(0, 1)[chosen_N]) + attended)
        return self.after(x + self.feed_forward(self.feed_forward_norm(x))), scores_BHLM


def _norm(config: ReaderConfig) -> nn.Module:
    return nn.LayerNorm(config.width) if config.norms == "all" else nn.Identity()


class CurveEmbedding(nn.Module):
    """Embeds digits on a parabola, (top - bend · (2s - 1)², step · s) with s = d / 9; other tokens have rows."""

    def __init__(self, config: ReaderConfig) -> None:
        super().__init__()
        self.curve = nn.Parameter(torch.zeros(CURVE))
        self.others = nn.Parameter(torch.zeros(SIGNS if config.signs else 1, config.width))
        shares, squares = parabola(config.vocabulary - SIGNS)
        self.shares: Tensor
        self.squares: Tensor
        self.register_buffer("shares", torch.from_numpy(shares), persistent=False)
        self.register_buffer("squares", torch.from_numpy(squares), persistent=False)
        self.draw()

    @torch.no_grad()
    def draw(self) -> None:
        """Draw initial numbers: a wide curve, so that digits differ, and the other tokens anywhere."""
        nn.init.normal_(self.others)
        self.curve.copy_(torch.tensor(CURVE_STARTS) * (1 + CURVE_SPREAD * torch.randn(CURVE)))

    @property
    def weight(self) -> Tensor:
        """The embedding of each token; `reader_canonical.py` computes the same bits."""
        top, bend, step = self.curve
        digits_KD = torch.stack([top - bend * self.squares, step * self.shares], dim=1)
        missing = SIGNS - len(self.others)
        return torch.cat([digits_KD, self.others.new_zeros(missing, self.others.shape[1]), self.others])

    def forward(self, ids: Tensor) -> Tensor:
        """Return the embedding of tokens."""
        return F.embedding(ids, self.weight)


class Reader(nn.Module):
    """A Transformer that reads whole texts."""

    def __init__(self, config: ReaderConfig) -> None:
        super().__init__()
        self.config = config
        self.token_embedding = CurveEmbedding(config) if config.curve else nn.Embedding(config.vocabulary, config.width)
        if config.parts:
            self.part_embedding = nn.Embedding(2, config.width)
        self.layers = nn.ModuleList(ReaderLayer(config) for _ in range(config.layers))
        self.final_norm = _norm(config)
        if not config.tied:
            self.head = nn.Linear(config.width, config.vocabulary, bias=False)
        self.position_embedded, self.logits = HookPoint(), HookPoint()

    @property
    def parameter_count(self) -> int:
        """The number of trained parameters, each counted once."""
        return sum(parameter.numel() for parameter in self.parameters())

    @property
    def vocabulary_weight(self) -> Tensor:
        """The map from the last layer to the logits."""
        return self.token_embedding.weight if self.config.tied else self.head.weight

    @property
    def by_distance(self) -> list[nn.Parameter]:
        """The parameters that score distances; they are few and learn at a rate of their own."""
        attentions = [layer.attention for layer in self.layers]
        return [part for each in attentions for part in (each.distances, each.slopes, each.sinks)]  # type: ignore[misc, union-attr]

    @property
    def by_content(self) -> list[nn.Parameter]:
        """The matrices of queries, keys and values, which may learn at a rate of their own."""
        return [layer.attention.project_in.weight for layer in self.layers]  # type: ignore[misc, union-attr]

    @torch.no_grad()
    def keep_slopes_positive(self) -> None:
        """Raise slopes that a training step has made too small."""
        for layer in self.layers:
            layer.attention.slopes.clamp_(min=LEAST_SLOPE)  # type: ignore[union-attr, operator]

    def forward(
        self,
        ids_BL: Tensor,
        parts_BL: Tensor,
        places_BL: Tensor,
        scores: list[Tensor] | None = None,
        chosen_N: Tensor | None = None,
    ) -> Tensor:
        """Return the next token's logits at every position, or at the chosen ones, counted through all rows (NV).

        A negative place is padding, which nothing attends to. A list given as `scores` receives each layer's scores
        (BHLM), the sink's last.
        """
        L = ids_BL.shape[1]
        tokens_BLD: Tensor = self.token_embedding(ids_BL)
        parts_BLD = self.part_embedding(parts_BL) if self.config.parts else torch.zeros_like(tokens_BLD)
        x_BLD = tokens_BLD + self.position_embedded(parts_BLD)
        distance_BLL = places_BL[:, None, :] - places_BL[:, :, None]
        later_LL = torch.ones(L, L, dtype=torch.bool, device=ids_BL.device).triu(1)
        hidden_BLL = later_LL | (places_BL < 0)[:, None, :]
        x = x_BLD
        for i, layer in enumerate(self.layers, start=1):
            x, scores_BHLM = layer(x, distance_BLL, hidden_BLL, chosen_N if i == len(self.layers) else None)
            if scores is not None:
                scores.append(scores_BHLM)
        x = self.final_norm(x)
        logits: Tensor = self.logits(F.linear(x, self.token_embedding.weight) if self.config.tied else self.head(x))
        return logits
