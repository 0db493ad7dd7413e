"""Training batches of whole sums: texts of numbers of up to so many digits, with next-token targets on the answer.

Half of the sums have numbers of equal length, half of any two lengths. The price is a small part of the loss: the
logarithm of each head's attention outside the two columns that matter, so that training moves it inside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from alga.network.compiled import call
from alga.network.reader import Reader
from alga.network.texts import Texts
from alga.runs.config import Recipe
from alga.tasks.numbers import text_of
from alga.tasks.whole import NEXT, OWN
from alga.training.compiled_sums import EXACT, compiled_loss, fill_sums, fits

IGNORED: Final = -100  # a target that does not count
PRICED_FROM: Final = -30.0  # less attention outside than exp of this costs nothing more
SUMS_EVALUATED: Final = 512


@dataclass(frozen=True)
class SumBatch:
    """Texts as ids, parts and places (negative for padding), and the token that follows each token of an answer."""

    ids_BL: Tensor
    parts_BL: Tensor
    places_BL: Tensor
    targets_BL: Tensor


class SumSampler:
    """Draws batches of whole sums with an explicit generator."""

    def __init__(self, texts: Texts, recipe: Recipe, device: torch.device) -> None:
        self._texts, self._digits, self._price, self._device = texts, recipe.digits, recipe.price, device

    def draw(self, size: int, generator: torch.Generator) -> SumBatch:
        """Draw sums, half of them of numbers of equal length."""
        task = self._texts.task
        base, arity = len(task.digits), task.serves.layout.arity
        lengths = torch.randint(1, self._digits + 1, (size, arity), generator=generator)
        lengths[: size // 2] = lengths[: size // 2, :1]
        parts = torch.rand((size, arity), generator=generator, dtype=torch.float64)
        if arity * base**self._digits < EXACT:
            return self._filled(lengths, parts, base)
        texts = []
        for row, shares in zip(lengths.tolist(), parts.tolist(), strict=True):
            operands = [text_of(_number(base, digits, share), base) for digits, share in zip(row, shares, strict=True)]
            texts.append(task.question(*operands) + task.answer(*operands))
        return self.encoded(texts)

    def _filled(self, lengths_BA: Tensor, shares_BA: Tensor, base: int) -> SumBatch:
        """Return the same batch as by texts, in compiled code."""
        size, arity = lengths_BA.shape
        most = arity * (self._digits + 1) + self._digits + arity
        ids, parts = np.zeros((2, size, most), dtype=np.int64)
        places, targets = np.full_like(ids, -1), np.full_like(ids, IGNORED)
        longest = call(fill_sums, lengths_BA.numpy(), shares_BA.numpy(), base, ids, parts, places, targets)
        found = (np.ascontiguousarray(array[:, :longest]) for array in (ids, parts, places, targets))
        return SumBatch(*(torch.from_numpy(array).to(self._device) for array in found))

    def encoded(self, texts: list[str]) -> SumBatch:
        """Return whole texts as a batch."""
        longest = max(map(len, texts)) - 1  # the stop token is written and not read
        kinds = np.zeros((len(texts), longest), dtype=np.int64)
        places, targets = np.full_like(kinds, -1), np.full_like(kinds, IGNORED)
        size = len(self._texts.vocabulary)
        for row, text in enumerate(texts):
            known, length = self._texts.kinds(text), len(text) - 1
            equals = int((known < size).sum())
            kinds[row, :length] = known[:-1]
            places[row, :length] = self._texts.places(text)[:-1]
            targets[row, equals:length] = known[equals + 1 :] - size
        found = (kinds % size, kinds // size, places, targets)
        return SumBatch(*(torch.from_numpy(array).to(self._device) for array in found))

    def loss(self, model: Reader, batch: SumBatch) -> Tensor:
        """Return the cross-entropy of the answers' tokens plus the price of attention outside."""
        if fits(model.config) and self._device.type == "cpu":
            return compiled_loss(model, (batch.ids_BL, batch.places_BL, batch.targets_BL), self._price)
        return self.loss_by_torch(model, batch)

    def loss_by_torch(self, model: Reader, batch: SumBatch) -> Tensor:
        """Return the same by torch, for any reader."""
        scores: list[Tensor] = []
        answers_BL = batch.targets_BL != IGNORED
        chosen_N = answers_BL.flatten().nonzero()[:, 0]
        logits_NV = model(batch.ids_BL, batch.parts_BL, batch.places_BL, scores, chosen_N)
        loss = F.cross_entropy(logits_NV, batch.targets_BL[answers_BL])
        if not self._price:
            return loss
        distance_BLL = batch.places_BL[:, None, :] - batch.places_BL[:, :, None]
        inside_BLL = (distance_BLL >= OWN) & (distance_BLL <= NEXT)
        for scores_BHLM in scores:
            tokens_BHLL = scores_BHLM[..., :-1]
            outside_BHL = tokens_BHLL.masked_fill(inside_BLL[:, None], -math.inf).logsumexp(dim=-1)
            logs = (outside_BHL - tokens_BHLL.logsumexp(dim=-1)).transpose(1, 2)[answers_BL]
            loss = loss + self._price * logs[logs > -math.inf].clamp_min(PRICED_FROM).mean()
        return loss

    def evaluation_loss(self, model: Reader) -> float:
        """Return the loss on the same sums at every check, without the price."""
        batch = self.draw(SUMS_EVALUATED, torch.Generator().manual_seed(0))
        logits_BLV = model(batch.ids_BL, batch.parts_BL, batch.places_BL)
        return F.cross_entropy(logits_BLV.flatten(0, 1), batch.targets_BL.flatten(), ignore_index=IGNORED).item()


def _number(base: int, digits: int, share: float) -> int:
    """Return a number of so many digits, without a leading zero unless it is a single digit."""
    least: int = base ** (digits - 1) if digits > 1 else 0
    return least + int(share * (base**digits - least))
