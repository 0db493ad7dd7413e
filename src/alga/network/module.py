"""A torch module for the decoder: greedy generation in batches, and its weights packed for compiled code.

Only networks that were opened as a torch module get here: for training, hooks, patching, a GPU, or a second check.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alga.base.errors import AlgaError
from alga.network.alterations import alteration, hooks_of
from alga.network.config import ModelConfig
from alga.network.generation import Compiled, unfolded
from alga.network.hook_points import hooked
from alga.network.model import Cache, Transformer
from alga.network.module_state import ModuleState
from alga.network.reader import Reader
from alga.network.reader_config import ReaderConfig
from alga.network.tokens import STOP_ID

Array = NDArray[np.float32]
Net = TypeVar("Net", bound=Transformer | Reader)
Shape = TypeVar("Shape", bound=ModelConfig | ReaderConfig)
Code = TypeVar("Code")  # a network's compiled form


class OpenedModule(ABC, Generic[Net, Shape, Code]):
    """A torch module in its current state: with hooks, replaced parts and changed weights."""

    def __init__(self, model: Net, config: Shape) -> None:
        self.model, self.config = model, config
        self._packed: _Packed[Code] | None = None
        self._doubted = False  # whether `_packed` must be compared with the module as a whole

    def compiled(self) -> Code | None:
        """Return the network with its current weights in compiled code; None if torch must run it."""
        if self._packed is None or not self._packed.holds(self._doubted):
            self._packed = self._pack()
        self._doubted = False
        return self._packed.compiled

    def refresh(self) -> None:
        """Compare all weights before the next prompt: fused optimisers and `.data` change them unnoticed."""
        self._doubted = True

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        return self.model.vocabulary_weight.device

    @property
    def machine(self) -> dict[str, str | int]:
        """The device and the threads that it computes with."""
        return {"device": self.device.type, "threads": torch.get_num_threads()}

    @abstractmethod
    def _code(self, stored: dict[str, Array]) -> Code | None:
        """Return stored weights in compiled code; None if there is none for this shape."""

    @torch.inference_mode()
    def _pack(self) -> _Packed[Code]:
        self._check_float32()
        state, weights = ModuleState.of(self.model), [*self.model.parameters()]
        compiled = None
        if not alteration(self.model, self.config) and self.device.type == "cpu":
            stored = self.model.state_dict().items()
            compiled = self._code({name: tensor.resolve_neg().numpy() for name, tensor in stored})
        return _Packed(compiled, weights, [tensor._version for tensor in weights], hooks_of(self.model), state)

    def _check_float32(self) -> None:
        if self.model.vocabulary_weight.dtype != torch.float32:
            raise AlgaError(f"expected a network in float32, got {self.model.vocabulary_weight.dtype}")

    @contextmanager
    def in_float32(self, mode: Callable[[], AbstractContextManager[Any]] = torch.inference_mode) -> Iterator[None]:
        """Run the module without dropout and in float32 whatever torch's settings, and restore them."""
        self._check_float32()
        training = self.model.training
        self.model.eval()
        try:
            with mode(), torch.autocast(self.device.type, enabled=False), _exact_products():
                yield
        finally:
            self.model.train(training)


class Module(OpenedModule[Transformer, ModelConfig, Compiled]):
    """A network that answers prompts."""

    def generate(self, packed: bytes, prompts: int) -> tuple[list[list[int]], list[float], int]:
        """Decode encoded prompts greedily; return ids padded with STOP_ID, least margins, and the number of calls.

        If there are hooks, each call has all positions of all prompts, as they were when a cache was run.
        """
        cache: Cache = []
        watched = any(hooks_of(self.model))
        with self.in_float32():
            ids_BL = torch.frombuffer(bytearray(packed), dtype=torch.uint8).view(prompts, -1)
            ids_BL = ids_BL.to(self.device, torch.long)
            written_BO = ids_BL.new_full((prompts, self.config.output_length), STOP_ID)
            least_B = torch.full((prompts,), torch.inf, device=ids_BL.device)
            rows = torch.arange(prompts, device=ids_BL.device)  # those that have not stopped
            calls = 0
            for place in range(self.config.output_length):
                logits_BQV = self.model(ids_BL, every_position=True) if watched else self.model(ids_BL, cache)
                calls += 1
                best_B2 = (logits_BQV[rows] if watched else logits_BQV)[:, -1].topk(2, dim=-1)
                found_B1 = best_B2.indices[:, :1]
                written_BO[rows, place] = found_B1[:, 0]
                least_B[rows] = torch.minimum(least_B[rows], best_B2.values[:, 0] - best_B2.values[:, 1])
                going_B = found_B1[:, 0] != STOP_ID
                if not bool(going_B.any()):
                    break
                rows = rows[going_B]
                if watched:
                    ids_BL = torch.cat([ids_BL, written_BO[:, place : place + 1]], dim=1)
                    continue
                ids_BL = found_B1[going_B]
                if not bool(going_B.all()):
                    cache[:] = [(keys[going_B], values[going_B]) for keys, values in cache]
            return written_BO.tolist(), least_B.tolist(), calls

    def logits(self, ids_BL: NDArray[np.int64], gradients: bool = False) -> Tensor:
        """Return the next token's logits at every position (BLV)."""
        with self.in_float32(recording(gradients)):
            logits_BLV: Tensor = self.model(torch.from_numpy(ids_BL).to(self.device), every_position=True)
            return logits_BLV

    def forward(self, ids_BL: NDArray[np.int64]) -> tuple[Array, Array]:
        """Return what `alga.network.forward` returns: probabilities (BOV) and attention weights (BNHLL)."""
        patterns: list[Tensor] = []
        with hooked(self.model, [(lambda name: name.endswith("hook_pattern"), lambda it, _: patterns.append(it))]):
            logits_BOV = self.logits(ids_BL)[:, self.config.input_length :]
        return logits_BOV.softmax(dim=-1).cpu().numpy(), torch.stack(patterns, dim=1).cpu().numpy()

    def _code(self, stored: dict[str, Array]) -> Compiled:
        return Compiled(unfolded(stored, self.config), self.config)


@dataclass(frozen=True)
class _Packed(Generic[Code]):
    """A network when it was packed; `compiled` is None if torch must run it."""

    compiled: Code | None
    weights: Sequence[Tensor]
    versions: list[int]
    hooks: list[dict[int, Any]]
    state: ModuleState | None

    def holds(self, closely: bool) -> bool:
        """Return whether nothing has changed since, as far as torch's version counters and hooks show; or at all."""
        if self.compiled is None or any(self.hooks) or [each._version for each in self.weights] != self.versions:
            return False
        return not closely or (self.state is not None and self.state.holds())


def recording(gradients: bool) -> Callable[[], AbstractContextManager[Any]]:
    """Return torch's mode for results that people go on computing with."""
    return torch.enable_grad if gradients else torch.no_grad


@contextmanager
def _exact_products() -> Iterator[None]:
    """Make torch multiply float32 in full precision, even if it was set to round factors."""
    backends: Any = torch.backends
    places = [backends.cuda.matmul, backends.mkldnn.matmul]
    before = [place.fp32_precision for place in places]
    try:
        for place in places:
            place.fp32_precision = "ieee"
        yield
    finally:
        for place, precision in zip(places, before, strict=True):
            place.fp32_precision = precision
