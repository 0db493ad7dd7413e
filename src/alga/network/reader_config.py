"""The shape of a reader, the network that reads whole sums: its settings and the tensors that they imply."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from alga.base.errors import AlgaError
from alga.network.config import MOST_LAYERS, MOST_OF_A_SETTING, MOST_PARAMETERS, Shape, check_tensors

KIND: Final = "reader"
SIDES: Final = 2  # a slope for places below a token, one for places above


@dataclass(frozen=True, kw_only=True)
class ReaderConfig:
    """The shape of a reader: one layer of ordinary causal attention by default, 52,048 parameters for two numbers.

    A score is query · key plus a learned number for each coupled distance up to `reach`, and falls by a learned slope
    per place beyond. `keys=False` leaves out query · key, `window=True` hides everything but the two columns.
    """

    kind: ClassVar[str] = KIND

    vocabulary: int
    width: int = 64
    heads: int = 2
    layers: int = 1
    hidden: int = 256
    reach: int = 2
    keys: bool = True
    window: bool = False

    def __post_init__(self) -> None:
        for name in ("vocabulary", "width", "heads", "layers", "hidden", "reach"):
            value, most = getattr(self, name), MOST_LAYERS if name in ("layers", "reach") else MOST_OF_A_SETTING
            if type(value) is not int or not 1 <= value <= most:
                raise AlgaError(f"model setting {name} must be a whole number from 1 to {most:,}, got {value!r}")
        for name in ("keys", "window"):
            if type(getattr(self, name)) is not bool:
                raise AlgaError(f"model setting {name} must be true or false, got {getattr(self, name)!r}")
        if self.width % self.heads:
            raise AlgaError(f"model width {self.width} cannot be shared among {self.heads} heads")
        if self.parameters > MOST_PARAMETERS:
            raise AlgaError(f"a network may have {MOST_PARAMETERS:,} parameters, this shape has {self.parameters:,}")

    def settings(self) -> dict[str, Any]:
        """Return all settings, with the kind of network that they are for."""
        return {"kind": KIND, **dataclasses.asdict(self)}

    @property
    def needs_bound(self) -> bool:
        """Whether more than a situation decides what is written: others have weight, or tokens have seen others."""
        return not self.window or self.layers > 1

    @property
    def can_be_bounded(self) -> bool:
        """Whether what lies outside can be bounded; with several layers, situations reach further than two columns."""
        return self.layers == 1

    @property
    def parameters(self) -> int:
        """The number of trained parameters."""
        return sum(map(math.prod, self.tensors().values()))

    def tensors(self) -> dict[str, Shape]:
        """Return the name and shape of every tensor in the network's weight file, in the order of the forward pass."""
        width, heads = self.width, self.heads
        found: dict[str, Shape] = {
            "token_embedding.weight": (self.vocabulary, width),
            "part_embedding.weight": (2, width),
        }
        for i in range(self.layers):
            layer = f"layers.{i}"
            mapped = width * (3 if self.keys else 1)
            found |= {
                f"{layer}.attention_norm.weight": (width,),
                f"{layer}.attention_norm.bias": (width,),
                f"{layer}.attention.distances": (heads, 2 * self.reach + 1),
                f"{layer}.attention.slopes": (heads, SIDES),
                f"{layer}.attention.sinks": (heads,),
                f"{layer}.attention.project_in.weight": (mapped, width),
                f"{layer}.attention.project_in.bias": (mapped,),
                f"{layer}.attention.project_out.weight": (width, width),
                f"{layer}.attention.project_out.bias": (width,),
                f"{layer}.feed_forward_norm.weight": (width,),
                f"{layer}.feed_forward_norm.bias": (width,),
                f"{layer}.feed_forward.0.weight": (self.hidden, width),
                f"{layer}.feed_forward.0.bias": (self.hidden,),
                f"{layer}.feed_forward.2.weight": (width, self.hidden),
                f"{layer}.feed_forward.2.bias": (width,),
            }
        norm: dict[str, Shape] = {"final_norm.weight": (width,), "final_norm.bias": (width,)}
        return found | norm | {"head.weight": (self.vocabulary, width)}

    def check(self, shapes: Mapping[str, Shape], path: Path) -> None:
        """Refuse tensors that are not those of this network."""
        check_tensors(self.tensors(), shapes, path)
