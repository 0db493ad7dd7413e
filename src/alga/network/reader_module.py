"""A reader as a torch module, for its decoder: situations in batches, texts token by token, weights for compiled code.

Only readers that were opened as a torch module get here: for training, hooks, patching, or a second check.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alga.network.compiled_reader import CompiledReader, Ids
from alga.network.module import Array, OpenedModule, recording
from alga.network.reader import Reader
from alga.network.reader_config import ReaderConfig

CHUNK: Final = 4096  # situations in one call of torch: bounds memory


def places_of(kinds_BN: Ids, distances_BN: Ids) -> Ids:
    """Return places for the tokens of situations, of which only the distances are known; negative for padding."""
    return np.where(kinds_BN < 0, -1, 1 + distances_BN)


class ReaderModule(OpenedModule[Reader, ReaderConfig, CompiledReader]):
    """A network that reads whole texts."""

    def situations(self, kinds_BN: Ids, distances_BN: Ids) -> tuple[list[int], list[float]]:
        """Return the token that is written in each situation, and its margin."""
        ids: list[int] = []
        margins: list[float] = []
        with self.in_float32():
            for start in range(0, len(kinds_BN), CHUNK):
                chunk = slice(start, start + CHUNK)
                logits_BV = self._last(kinds_BN[chunk], places_of(kinds_BN[chunk], distances_BN[chunk]))
                best_B2 = logits_BV.topk(2, dim=-1)
                ids += best_B2.indices[:, 0].tolist()
                margins += (best_B2.values[:, 0] - best_B2.values[:, 1]).tolist()
        return ids, margins

    def continue_text(
        self, kinds: Ids, places: Ids, answer: Ids, start: int, end: int, stop: int
    ) -> NDArray[np.float64]:
        """Write the tokens after those at places `start` to `end` into `answer`, attending to the whole text."""
        margins = []
        with self.in_float32():
            for place in range(start, end):
                seen = np.concatenate([kinds, answer[: place + 1]])
                at = np.concatenate([places, np.arange(place + 1)])
                values, ids = self._last(seen[None], at[None])[0].topk(2)
                margins.append(float(values[0] - values[1]))
                answer[place + 1] = int(ids[0]) + self.config.vocabulary
                if int(ids[0]) == stop:
                    break
        return np.array(margins)

    def scores(self, kinds: Ids, places: Ids) -> NDArray[np.float64]:
        """Return the first layer's scores of the last token against all and against the sink, by head (HM)."""
        found: list[Tensor] = []
        with self.in_float32():
            self._last(kinds[None], places[None], found)
            return found[0][0, :, -1].double().cpu().numpy()

    def logits(self, kinds_BN: Ids, places_BN: Ids, gradients: bool = False) -> Tensor:
        """Return the next token's logits at every position (BNV); a negative place is padding."""
        with self.in_float32(recording(gradients)):
            return self._logits(kinds_BN, places_BN)

    def _last(self, kinds_BN: Ids, places_BN: Ids, scores: list[Tensor] | None = None) -> Tensor:
        return self._logits(kinds_BN, places_BN, scores)[:, -1]

    def _logits(self, kinds_BN: Ids, places_BN: Ids, scores: list[Tensor] | None = None) -> Tensor:
        known = torch.from_numpy(np.maximum(kinds_BN, 0)).to(self.device)
        ids, parts = known % self.config.vocabulary, known // self.config.vocabulary
        logits_BNV: Tensor = self.model(ids, parts, torch.from_numpy(places_BN).to(self.device), scores)
        return logits_BNV

    def _code(self, stored: dict[str, Array]) -> CompiledReader | None:
        if self.config.layers > 1:
            return None
        self.config.check({name: array.shape for name, array in stored.items()}, Path("the network"))
        return CompiledReader(stored, self.config)
