"""A network's weights: arrays read from a file, or a torch module as soon as someone asks for it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from alga.base.errors import AlgaError, missing_extra
from alga.network.kinds import AnyShape, module_of
from alga.runs.config import IDENTITY, Config

if TYPE_CHECKING:
    from torch import Tensor

    from alga.network.model import Transformer
    from alga.network.reader import Reader
    from alga.runs.weight_file import Array


class Weights:
    """Weights in memory; a weight file's tensors are not parsed before they are needed.

    They need no torch until someone asks for `model`. From then on the module may be changed from anywhere, so its
    current content counts: for answers, hashes and certificates.
    """

    def __init__(self, config: Config, data: bytes, path: Path) -> None:
        self._config, self._data, self._path = config, data, path
        self._seen: tuple[dict[str, Tensor], bytes, str] | None = None  # the module's weights, packed, and their hash

    @classmethod
    def of(cls, config: Config, model: Transformer | Reader) -> Weights:
        """Wrap a torch module."""
        held = cls(config, b"", Path())
        held.model = model
        return held

    @classmethod
    def holding(cls, config: Config, arrays: Mapping[str, Array]) -> Weights:
        """Wrap arrays, named as in a weight file."""
        from alga.runs import weight_file

        return cls(config, weight_file.pack(arrays, config), Path())

    @property
    def shape(self) -> AnyShape:
        """The shape of the network."""
        return self._config.model

    @property
    def opened(self) -> Transformer | Reader | None:
        """The torch module, if someone has asked for it."""
        model: Transformer | Reader | None = vars(self).get("model")
        return model

    @cached_property
    def model(self) -> Transformer | Reader:
        """The network as a torch module, built on first use."""
        try:
            model = module_of(self._stored, self.shape)
        except ModuleNotFoundError as missing:
            if missing.name != "torch":
                raise
            raise missing_extra("a network as a torch module", "torch", "train") from None
        self._seen = _copy(model), self._data, self._stored_sha256
        return model

    @property
    def arrays(self) -> Mapping[str, Array]:
        """The current weights, named as in a weight file; refuses damaged ones and any format but float32."""
        if self.opened is None:
            return self._stored
        weights = self.opened.state_dict()
        for name, tensor in weights.items():
            if str(tensor.dtype) != "torch.float32":
                raise AlgaError(f"expected a network in float32, got {tensor.dtype} in {name}")
        return {name: tensor.cpu().numpy().copy() for name, tensor in weights.items()}

    @property
    def sha256(self) -> str:
        """The hash of the current weights."""
        return self._stored_sha256 if self.opened is None else self._now(self.opened)[1]

    @property
    def data(self) -> bytes:
        """The current weights as the bytes of a safetensors file, which also states their task and architecture."""
        return self._data if self.opened is None else self._now(self.opened)[0]

    @property
    def altered(self) -> str:
        """How the module differs from its weights and configuration, in words; empty if it does not."""
        if self.opened is None:
            return ""
        from alga.network.alterations import alteration

        return alteration(self.opened, self.shape)

    @cached_property
    def _stored(self) -> dict[str, Array]:
        from alga.runs import weight_file

        return weight_file.unpack(self._data, self._config, self._path)

    @cached_property
    def _stored_sha256(self) -> str:
        return hashlib.sha256(self._data).hexdigest()

    def _now(self, model: Transformer | Reader) -> tuple[bytes, str]:
        """Return a module's weights as a file's bytes, and their hash."""
        import safetensors.torch

        # Comparing is ten times as fast as packing and hashing, and sees every change, however it was made.
        if self._seen is None or not _same(model.state_dict(), self._seen[0]):
            tensors = {name: tensor.cpu().contiguous() for name, tensor in model.state_dict().items()}
            data = safetensors.torch.save(tensors, {IDENTITY: self._config.identity})
            self._seen = _copy(model), data, hashlib.sha256(data).hexdigest()
        return self._seen[1:]


def _copy(model: Transformer | Reader) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def _same(now: Mapping[str, Tensor], before: Mapping[str, Tensor]) -> bool:
    return now.keys() == before.keys() and all(
        tensor.dtype == before[name].dtype and tensor.equal(before[name]) for name, tensor in now.items()
    )
