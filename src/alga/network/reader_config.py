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
SIGNS: Final = 3  # tokens that are not digits: plus, equals and stop, the last of the vocabulary
CURVE: Final = 3  # numbers that a parabola of digits has

NORMS: Final = ("all", "none")
BIASES: Final = ("all", "hidden")
CURVES: Final = ("", "parabola")


@dataclass(frozen=True, kw_only=True)
class ReaderConfig:
    """The shape of a reader: one layer of ordinary causal attention by default, 52,048 parameters for two numbers.

    A score is query · key plus a learned number for each coupled distance up to `reach`, and falls by a learned slope
    per place beyond. `keys=False` leaves out query · key, `window=True` hides everything but the two columns.

    The options after `window` make a network smaller by tying parts or leaving them out; `reader_canonical.py` says
    what each stands for.
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
    tied: bool = False  # the map to the vocabulary is the token embedding
    norms: str = "all"  # which LayerNorms it has
    biases: str = "all"  # of linear maps; "hidden": only those of the feed-forward network's hidden units
    parts: bool = True  # whether an embedding tells question from answer
    out: bool = True  # whether attention has an output projection
    curve: str = ""  # on which digits lie; empty: a row of the embedding each
    signs: bool = True  # whether plus and equals have a row of the embedding; zeros otherwise

    def __post_init__(self) -> None:
        for name in ("vocabulary", "width", "heads", "layers", "hidden", "reach"):
            value, most = getattr(self, name), MOST_LAYERS if name in ("layers", "reach") else MOST_OF_A_SETTING
            if type(value) is not int or not 1 <= value <= most:
                raise AlgaError(f"model setting {name} must be a whole number from 1 to {most:,}, got {value!r}")
        for name in ("keys", "window", "tied", "parts", "out", "signs"):
            if type(getattr(self, name)) is not bool:
                raise AlgaError(f"model setting {name} must be true or false, got {getattr(self, name)!r}")
        for name, choices in {"norms": NORMS, "biases": BIASES, "curve": CURVES}.items():
            if getattr(self, name) not in choices:
                raise AlgaError(f"model setting {name} must be one of {choices}, got {getattr(self, name)!r}")
        if self.width % self.heads:
            raise AlgaError(f"model width {self.width} cannot be shared among {self.heads} heads")
        if self.curve and (self.width != 2 or self.vocabulary <= SIGNS):
            raise AlgaError(f"digits on a parabola need width 2, got {self.width}")
        if not (self.signs or self.curve):
            raise AlgaError("model setting signs may be false only if digits lie on a curve")
        if self.parameters > MOST_PARAMETERS:
            raise AlgaError(f"a network may have {MOST_PARAMETERS:,} parameters, this shape has {self.parameters:,}")

    def settings(self) -> dict[str, Any]:
        """Return the settings that every reader has, its kind, and the options that differ from their default."""
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        names = list(defaults)
        options = names[names.index("window") + 1 :]
        found = {name: value for name, value in vars(self).items() if name not in options or value != defaults[name]}
        return {"kind": KIND, **found}

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
        """The number of trained parameters, each counted once."""
        return sum(map(math.prod, self.tensors().values()))

    def tensors(self) -> dict[str, Shape]:
        """Return the name and shape of every tensor in the network's weight file, in the order of the forward pass."""
        width, heads, biased = self.width, self.heads, self.biases == "all"

        def norm(name: str) -> dict[str, Shape]:
            return {f"{name}.weight": (width,), f"{name}.bias": (width,)} if self.norms == "all" else {}

        def linear(name: str, inputs: int, outputs: int, bias: bool = biased) -> dict[str, Shape]:
            return {f"{name}.weight": (outputs, inputs)} | ({f"{name}.bias": (outputs,)} if bias else {})

        found: dict[str, Shape] = {"token_embedding.weight": (self.vocabulary, width)}
        if self.curve:
            others = (SIGNS if self.signs else 1, width)
            found = {"token_embedding.curve": (CURVE,), "token_embedding.others": others}
        found |= {"part_embedding.weight": (2, width)} if self.parts else {}
        for i in range(self.layers):
            layer = f"layers.{i}"
            found |= {
                **norm(f"{layer}.attention_norm"),
                f"{layer}.attention.distances": (heads, 2 * self.reach + 1),
                f"{layer}.attention.slopes": (heads, SIDES),
                f"{layer}.attention.sinks": (heads,),
                **linear(f"{layer}.attention.project_in", width, width * (3 if self.keys else 1)),
                **(linear(f"{layer}.attention.project_out", width, width) if self.out else {}),
                **norm(f"{layer}.feed_forward_norm"),
                **linear(f"{layer}.feed_forward.0", width, self.hidden, bias=True),
                **linear(f"{layer}.feed_forward.2", self.hidden, width),
            }
        return found | norm("final_norm") | ({} if self.tied else {"head.weight": (self.vocabulary, width)})

    def check(self, shapes: Mapping[str, Shape], path: Path) -> None:
        """Refuse tensors that are not those of this network."""
        check_tensors(self.tensors(), shapes, path)
