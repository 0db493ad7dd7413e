"""Training batches from a domain's instances: a given share of the second type (with a context), the rest of the first.

The paper draws a second-type context as the output of a first-type step. For addition that is the sum of two digits,
so 19, which arises only as 9 + 9 + 1, is never shown. Drawing from the whole reachable domain closes that gap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor
from torch.nn import functional as F

from alga.base.errors import AlgaError
from alga.network.model import Transformer
from alga.network.tokens import PAD_ID, START, Tokens
from alga.runs.config import Recipe
from alga.tasks import Domain

LOSS_BATCH: Final = 8192  # instances per evaluation batch
FORCED_BATCH: Final = 512  # larger ones leave the cache


@dataclass(frozen=True)
class Batch:
    r"""Token ids: the network's input (prompt, `\n`, output without its last token) and its targets."""

    ids_BL: Tensor
    targets_BO: Tensor


class Sampler:
    """Draws batches of a domain's instances with an explicit generator."""

    def __init__(self, domain: Domain, tokens: Tokens, recipe: Recipe, seed: int, device: torch.device) -> None:
        self._share, self._device = recipe.second_type_share, device
        instances = list(domain.values())
        targets_NO = torch.tensor(tokens.outputs(instance.output for instance in instances))
        start_N1 = torch.full((len(instances), 1), tokens.ids[START])
        prompts_NI = torch.tensor(tokens.prompts(instance.prompt for instance in instances))
        self._ids_NL = torch.cat([prompts_NI, start_N1, targets_NO[:, :-1]], dim=1).to(device)
        self._targets_NO = targets_NO.to(device)
        first = [i for i, instance in enumerate(instances) if instance.context is None]
        second = [i for i, instance in enumerate(instances) if instance.context is not None]
        index = {prompt: i for i, prompt in enumerate(domain)}
        pools = (first, [index[prompt] for prompt in domain.second_steps()] if recipe.contexts == "paper" else second)
        order = torch.randperm(len(instances), generator=torch.Generator().manual_seed(seed)).tolist()
        kept = set(order[: round(recipe.shown * len(order))])
        self._first, self._second = (torch.tensor([i for i in pool if i in kept], dtype=torch.long) for pool in pools)
        self.shown = frozenset(instances[i].prompt for pool in (self._first, self._second) for i in pool.tolist())
        if not self.shown:
            raise AlgaError(
                f"a share of {recipe.shown:g} of the {len(instances):,} prompts of {domain.name} leaves none"
            )

    def loss(self, model: Transformer, batch: Batch) -> Tensor:
        """Return the cross-entropy on the output positions, padding ignored."""
        logits_BOV = model(batch.ids_BL)
        return F.cross_entropy(logits_BOV.flatten(0, 1), batch.targets_BO.flatten(), ignore_index=PAD_ID)

    def evaluation_loss(self, model: Transformer) -> float:
        """Return the loss on the whole domain, in batches that bound memory."""
        total, count = 0.0, 0
        for start in range(0, len(self._ids_NL), LOSS_BATCH):
            part = Batch(self._ids_NL[start : start + LOSS_BATCH], self._targets_NO[start : start + LOSS_BATCH])
            tokens = int((part.targets_BO != PAD_ID).sum())
            total += self.loss(model, part).item() * tokens
            count += tokens
        return total / count

    def forced(self, model: Transformer) -> tuple[float, Tensor]:
        """Return the loss and each prompt's least margin of a right token over all others, given the right ones before.

        A prompt with a margin above zero is decoded right by greedy search, one below zero is not: greedy search reads
        its own tokens, which are the right ones until the first that is wrong. So one pass takes the place of several.
        """
        margins: list[Tensor] = []
        total, count = 0.0, 0
        for start in range(0, len(self._ids_NL), FORCED_BATCH):
            ids_BL, targets_BO = (t[start : start + FORCED_BATCH] for t in (self._ids_NL, self._targets_NO))
            logits_BOV, real_BO = model(ids_BL), targets_BO != PAD_ID
            right_BO1 = logits_BOV.gather(2, targets_BO.unsqueeze(2))
            others_BO = logits_BOV.scatter(2, targets_BO.unsqueeze(2), -math.inf).amax(dim=2)
            margin_BO = right_BO1.squeeze(2) - others_BO
            margins.append(margin_BO.masked_fill(~real_BO, math.inf).amin(dim=1))
            loss_BO = logits_BOV.logsumexp(dim=2) - right_BO1.squeeze(2)
            total, count = total + loss_BO[real_BO].sum().item(), count + int(real_BO.sum())
        return total / count, torch.cat(margins)

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Draw `size` instances, a rounded share of them of the second type if both types exist."""
        seconds = round(size * self._share) if len(self._second) else 0
        seconds = seconds if len(self._first) else size
        rows = torch.cat([_pick(self._second, seconds, generator), _pick(self._first, size - seconds, generator)])
        rows = rows.to(self._device)
        return Batch(self._ids_NL[rows], self._targets_NO[rows])


def _pick(pool: Tensor, count: int, generator: torch.Generator) -> Tensor:
    return pool[torch.randint(len(pool), (count,), generator=generator)] if count else pool[:0]
