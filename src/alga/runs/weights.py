"""A network's weights: the bytes of a safetensors file, which is not trusted; as arrays or as a torch module.

The file's header is checked against its bytes before any tensor is built. Tensors are built when they are needed, and
neither numpy nor torch is imported before that.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from alga.base.errors import AlgaError, Naming, missing_extra
from alga.network.config import ModelConfig
from alga.network.kinds import AnyShape, module_of
from alga.network.sharing import sharing
from alga.runs.checksums import Snapshot
from alga.runs.config import Config

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from alga.network.model import Transformer
    from alga.network.module_state import ModuleState
    from alga.network.reader import Reader

    Array = NDArray[np.float32]

WEIGHTS: Final = "model.safetensors"
IDENTITY: Final = "alga"  # the key under which a weight file states its task and architecture
ALWAYS_READ: Final = 2**24  # bytes of a weight file that are read whatever the configuration implies
MAX_HEADER_BYTES: Final = 2**20  # bytes: names and shapes; those of the paper's network have 4,000
MOST_PARTS: Final = 100_000  # lists and objects: each takes a hundred bytes of memory for two in the file
BYTES: Final = {"BOOL": 1, "U8": 1, "I8": 1, "I16": 2, "F16": 2, "BF16": 2, "I32": 4, "F32": 4, "I64": 8, "F64": 8}
SAFETENSORS_FLOAT32: Final = "F32"
_LENGTH: Final = 8  # bytes of the header's length


class Weights:
    """Weights in memory; a weight file's tensors are not parsed before they are needed.

    They need no torch until someone asks for `model`. From then on the module may be changed from anywhere, so its
    current content counts: for answers, hashes and certificates.
    """

    def __init__(self, config: Config, data: bytes, path: Path) -> None:
        self._config, self._data, self._path = config, data, path
        self._seen: _Seen | None = None

    @classmethod
    def of(cls, config: Config, model: Transformer | Reader) -> Weights:
        """Wrap a torch module."""
        held = cls(config, b"", Path())
        held.model = model
        return held

    @classmethod
    def holding(cls, config: Config, arrays: Mapping[str, Array]) -> Weights:
        """Wrap arrays, named as in a weight file."""
        return cls(config, pack(arrays, config), Path())

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
        self._seen = _Seen(_copy(model), self._data, self._stored_sha256)
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
        return {name: tensor.cpu().resolve_neg().numpy().copy() for name, tensor in weights.items()}

    @property
    def sha256(self) -> str:
        """The hash of the current weights."""
        return self._stored_sha256 if self.opened is None else self._now(self.opened).sha256

    @property
    def data(self) -> bytes:
        """The current weights as the bytes of a safetensors file, which also states their task and architecture."""
        return self._data if self.opened is None else self._now(self.opened).data

    @property
    def altered(self) -> str:
        """How the module differs from its weights and configuration, in words; empty if it does not."""
        return "" if self.opened is None else self._now(self.opened).altered

    def match(self, sha256: str) -> bool:
        """Return whether the network is that of a hash: its weights, in a module that computes nothing else."""
        if self.opened is None:
            return self._stored_sha256 == sha256
        now = self._now(self.opened)
        return now.sha256 == sha256 and not now.altered

    @cached_property
    def _stored(self) -> dict[str, Array]:
        return unpack(self._data, self._config, self._path)

    @cached_property
    def _stored_sha256(self) -> str:
        return hashlib.sha256(self._data).hexdigest()

    def _now(self, model: Transformer | Reader) -> _Seen:
        """Return a module's weights as a file's bytes, their hash, and how the module was altered."""
        from alga.network.alterations import alteration
        from alga.network.module_state import ModuleState

        seen = self._seen
        if seen is not None and seen.state is not None and seen.state.holds():
            return seen
        state = ModuleState.of(model)
        # Comparing is ten times as fast as packing and hashing, and sees every change, however it was made.
        if seen is None or not _same(model.state_dict(), seen.weights):
            import safetensors.torch

            # Cloned, because tensors may share memory; resolved, or what a negative view hides would be written.
            tensors = {name: t.cpu().resolve_neg().contiguous().clone() for name, t in model.state_dict().items()}
            data = safetensors.torch.save(tensors, {IDENTITY: self._config.identity})
            seen = _Seen(_copy(model), data, hashlib.sha256(data).hexdigest())
        altered = alteration(model, self.shape)
        # The state was taken before all of this, so if it still holds, it is the one that was looked at.
        sure = state if not altered and state is not None and state.holds() else None
        self._seen = dataclasses.replace(seen, altered=altered, state=sure)
        return self._seen


@dataclass(frozen=True)
class _Seen:
    """A module when it was looked at: its weights, those as a file's bytes, and their hash."""

    weights: dict[str, Tensor]
    data: bytes
    sha256: str
    altered: str = ""
    state: ModuleState | None = None  # while it holds, all of this does; None if each time must be looked at closely


def _copy(model: Transformer | Reader) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def _same(now: Mapping[str, Tensor], before: Mapping[str, Tensor]) -> bool:
    return now.keys() == before.keys() and all(
        tensor.dtype == before[name].dtype and tensor.equal(before[name]) for name, tensor in now.items()
    )


# --- the file ---------------------------------------------------------------------------------------------------------


def read(snapshot: Snapshot, config: Config) -> bytes:
    """Return the bytes of a run's weight file; refuse one that is not for this configuration."""
    data = snapshot.read(WEIGHTS, most_bytes(config))
    check(data, config, snapshot.folder.path / WEIGHTS)
    return data


def most_bytes(config: Config) -> int:
    """Return how large a weight file of this configuration may be."""
    return max(ALWAYS_READ, 4 * config.model.parameters + 2 * MAX_HEADER_BYTES)


def check(data: bytes, config: Config, path: Path) -> None:
    """Refuse a weight file that was written for something else, or holds other tensors."""
    header = read_header(data, path)
    if header.metadata.get(IDENTITY) != config.identity:
        raise AlgaError(f"{path} was written for another task or model than config.json says")
    config.model.check(header.shapes, path)


def pack(weights: Mapping[str, Array], config: Config) -> bytes:
    """Return weights as the bytes of a safetensors file, which also states their task and architecture."""
    import numpy as np
    import safetensors.numpy

    arrays = {name: np.ascontiguousarray(array) for name, array in weights.items()}
    return safetensors.numpy.save(arrays, {IDENTITY: config.identity})


def unpack(data: bytes, config: Config, path: Path) -> dict[str, Array]:
    """Return the weights in the bytes of a weight file; refuse damaged ones and those of another shape."""
    import safetensors.numpy

    with Naming(path):
        read_header(data, path).check_float32()
    try:
        weights = safetensors.numpy.load(data)
    except (safetensors.SafetensorError, ValueError, KeyError) as problem:
        raise AlgaError(f"{path} is damaged: {problem}") from None
    return checked(weights, config.model, path)


def checked(weights: Mapping[str, Array], shape: AnyShape, path: Path) -> dict[str, Array]:
    """Return the weights in the network's order; refuse those of another shape and numbers that are not finite."""
    import numpy as np

    shape.check({name: array.shape for name, array in weights.items()}, path)
    for name, array in weights.items():
        if not np.isfinite(array).all():
            raise AlgaError(f"{path}: {name} holds a number that is not finite")
        array.setflags(write=False)  # a certificate is for the bytes that they were read from
    if isinstance(shape, ModelConfig) and shape.shares and (stray := sharing(shape).stray(weights)):
        raise AlgaError(f"{path}: {stray} is not made of the {shape.parameters} trained numbers of its shape")
    return {name: weights[name] for name in shape.tensors()}


@dataclass(frozen=True)
class Header:
    """The metadata, and the shape and type of each tensor by its name."""

    metadata: dict[str, str]
    shapes: dict[str, tuple[int, ...]]
    types: dict[str, str]

    def check_float32(self) -> None:
        """Refuse numbers of another type."""
        for name, kind in self.types.items():
            if kind != SAFETENSORS_FLOAT32:
                raise AlgaError(f"{name} holds {kind}, expected {SAFETENSORS_FLOAT32}")


def read_header(data: bytes, path: Path, most: int = MAX_HEADER_BYTES) -> Header:
    """Return the header of a safetensors file; refuse one that does not match the file's bytes."""
    size = int.from_bytes(data[:_LENGTH], "little")
    try:
        if not 0 < size <= len(data) - _LENGTH:
            raise ValueError(f"its header has {size:,} bytes, the whole file {len(data):,}")
        if size > most:
            raise ValueError(f"its header has {size:,} bytes, more than the {most:,} that are read")
        text = data[_LENGTH : _LENGTH + size]
        if text.count(b"[") + text.count(b"{") > MOST_PARTS:
            raise ValueError(f"its header has more than the {MOST_PARTS:,} parts that are read")
        content = json.loads(text)
        metadata = dict(content.pop("__metadata__", {}))
        if not all(isinstance(text, str) for text in metadata.values()):
            raise ValueError("its metadata are not text")
        shapes = {name: tuple(entry["shape"]) for name, entry in content.items()}
        if not all(type(extent) is int and extent >= 0 for shape in shapes.values() for extent in shape):
            raise ValueError("its shapes are not whole numbers")
        spans = []
        for name, entry in content.items():
            begin, end = entry["data_offsets"]
            spans.append((begin, end))
            if end - begin != math.prod(shapes[name]) * BYTES[entry["dtype"]]:
                raise ValueError(f"{name} does not have the bytes of its shape")
        _check_spans(sorted(spans), len(data) - _LENGTH - size)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as problem:
        raise AlgaError(f"{path} is damaged: {problem}") from None
    return Header(metadata, shapes, {name: entry["dtype"] for name, entry in content.items()})


def _check_spans(spans: list[tuple[int, int]], size: int) -> None:
    """Refuse tensors that overlap, leave gaps, or do not end where the file ends."""
    end = 0
    for begin, until in spans:
        if begin != end:
            raise ValueError(f"its tensors are not contiguous at byte {end:,}")
        end = until
    if not spans or end != size:
        raise ValueError(f"its header describes {end} bytes of weights, the file has {size}")
