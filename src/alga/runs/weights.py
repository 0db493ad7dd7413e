"""A network's weights: arrays read from a file, or a torch module from the moment that someone asks for it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from alga.base.errors import missing_extra
from alga.network.config import ModelConfig
from alga.runs.config import Config

if TYPE_CHECKING:
    from torch import Tensor

    from alga.network.model import Transformer
    from alga.runs.weight_file import Array


class Weights:
    """Weights in memory; a weight file is not opened before its numbers are needed.

    They need no torch until someone asks for `model`. From then on the module may be changed from anywhere, so what it
    holds now is what counts: for answers, hashes and claims.
    """

    def __init__(self, config: Config, data: bytes, path: Path) -> None:
        self._config, self._data, self._path = config, data, path
        self._seen: tuple[dict[str, Tensor], bytes, str] | None = None  # the module's weights, packed, and their hash

    @classmethod
    def of(cls, config: Config, model: Transformer) -> Weights:
        """Hold a torch module that is in memory already."""
        held = cls(config, b"", Path())
        held.model = model
        return held

    @classmethod
    def holding(cls, config: Config, arrays: Mapping[str, Array]) -> Weights:
        """Hold arrays by the names of a weight file."""
        from alga.runs import weight_file

        return cls(config, weight_file.pack(arrays, config), Path())

    @property
    def shape(self) -> ModelConfig:
        """The shape of the network."""
        return self._config.model

    @property
    def opened(self) -> Transformer | None:
        """The torch module, if someone has asked for it."""
        model: Transformer | None = vars(self).get("model")
        return model

    @cached_property
    def model(self) -> Transformer:
        """The network as a torch module, made on first use."""
        try:
            from alga.network.model import Transformer
        except ModuleNotFoundError as missing:
            if missing.name != "torch":
                raise
            raise missing_extra("a network as a torch module", "torch", "train") from None
        from alga.runs import live_weights

        model = Transformer.of(self._stored, self.shape)
        self._seen = live_weights.copy(model), self._data, self._stored_sha256
        return model

    @property
    def arrays(self) -> Mapping[str, Array]:
        """The weights as they are now, by the names of a weight file; what is damaged or does not fit is refused."""
        if self.opened is None:
            return self._stored
        from alga.runs import live_weights

        return live_weights.arrays(self.opened)

    @property
    def sha256(self) -> str:
        """The hash of the weights as they are now."""
        return self._stored_sha256 if self.opened is None else self._now(self.opened)[1]

    @property
    def data(self) -> bytes:
        """The weights as they are now, as the bytes of a safetensors file that also says what they are for."""
        return self._data if self.opened is None else self._now(self.opened)[0]

    @property
    def altered(self) -> str:
        """What the network does beside what these weights say, in words; empty where nothing."""
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

    def _now(self, model: Transformer) -> tuple[bytes, str]:
        """Return a module's weights as a file's bytes, and their hash."""
        from alga.runs import live_weights

        # Comparing is ten times as fast as packing and hashing, and sees every change, however it was made.
        if self._seen is None or not live_weights.same(model, self._seen[0]):
            data = live_weights.pack(model, self._config)
            self._seen = live_weights.copy(model), data, hashlib.sha256(data).hexdigest()
        return self._seen[1:]
