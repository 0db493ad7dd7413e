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

from alga.network.alterations import alteration, hooks_of
from alga.network.compiled_reader import CompiledReader, Ids
from alga.network.module import Packed, check_float32, in_float32
from alga.network.reader import Reader
from alga.network.reader_config import ReaderConfig

CHUNK: Final = 4096  # situations in one call of torch: bounds memory


class ReaderModule:
    """A torch module in its current state: with hooks, replaced parts and changed weights."""

    def __init__(self, model: Reader, config: ReaderConfig) -> None:
        self.model, self.config = model, config
        self._packed: Packed[CompiledReader] | None = None

    def compiled(self) -> CompiledReader | None:
        """Return the network with its current weights in compiled code; None if torch must run it."""
        if self._packed is None or not self._packed.holds():
            self._packed = self._pack()
        return self._packed.compiled

    def refresh(self) -> None:
        """Pack the weights again: fused optimisers and `.data` change them unnoticed."""
        self._packed = None

    @property
    def machine(self) -> dict[str, str | int]:
        """The device and the threads that it computes with."""
        return {"device": self._device.type, "threads": torch.get_num_threads()}

    def situations(self, kinds_BN: Ids, distances_BN: Ids) -> tuple[list[int], list[float]]:
        """Return the token that is written in each situation, and its margin."""
        ids: list[int] = []
        margins: list[float] = []
        with in_float32(self.model, self._device):
            for start in range(0, len(kinds_BN), CHUNK):
                chunk = slice(start, start + CHUNK)
                logits_BV = self._last(kinds_BN[chunk], np.where(kinds_BN[chunk] < 0, -1, 1 + distances_BN[chunk]))
                best_B2 = logits_BV.topk(2, dim=-1)
                ids += best_B2.indices[:, 0].tolist()
                margins += (best_B2.values[:, 0] - best_B2.values[:, 1]).tolist()
        return ids, margins

    def continue_text(
        self, kinds: Ids, places: Ids, answer: Ids, start: int, end: int, stop: int
    ) -> NDArray[np.float64]:
        """Write the tokens after those at places `start` to `end` into `answer`, attending to the whole text."""
        margins = []
        with in_float32(self.model, self._device):
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
        with in_float32(self.model, self._device):
            self._last(kinds[None], places[None], found)
            return found[0][0, :, -1].double().cpu().numpy()

    def _last(self, kinds_BN: Ids, places_BN: Ids, scores: list[Tensor] | None = None) -> Tensor:
        """Return the logits at the last position of each row; a negative place is padding."""
        known = torch.from_numpy(np.maximum(kinds_BN, 0)).to(self._device)
        ids, parts = known % self.config.vocabulary, known // self.config.vocabulary
        logits_BNV: Tensor = self.model(ids, parts, torch.from_numpy(places_BN).to(self._device), scores)
        return logits_BNV[:, -1]

    @property
    def _device(self) -> torch.device:
        return self.model.head.weight.device

    @torch.inference_mode()
    def _pack(self) -> Packed[CompiledReader]:
        check_float32(self.model)
        weights: list[Tensor] = [*self.model.parameters()]
        compiled = None
        if self.config.layers == 1 and not alteration(self.model, self.config) and self._device.type == "cpu":
            stored = {name: tensor.numpy() for name, tensor in self.model.state_dict().items()}
            self.config.check({name: array.shape for name, array in stored.items()}, Path("the network"))
            compiled = CompiledReader(stored, self.config)
        return Packed(compiled, weights, [tensor._version for tensor in weights], hooks_of(self.model))
