"""The header of a safetensors file, checked against the file before any tensor is built."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from alga.base.errors import AlgaError

MAX_HEADER_BYTES: Final = 2**20  # bytes: names and shapes; those of the paper's network have 4,000
MOST_PARTS: Final = 100_000  # lists and objects: each takes a hundred bytes of memory for two in the file
BYTES: Final = {"BOOL": 1, "U8": 1, "I8": 1, "I16": 2, "F16": 2, "BF16": 2, "I32": 4, "F32": 4, "I64": 8, "F64": 8}
SAFETENSORS_FLOAT32: Final = "F32"
_LENGTH: Final = 8  # bytes of the header's length


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


def read(data: bytes, path: Path, most: int = MAX_HEADER_BYTES) -> Header:
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
