"""The shape of a network: its settings, and the tensors that follow from them. It needs no torch."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from alga.base.errors import AlgaError

LARGEST: Final = 65_536  # of any setting: a shape that asks for more is damaged or hostile
MOST_LAYERS: Final = 64
MOST_PARAMETERS: Final = 2**28  # a weight file of 1 GiB

Shape = tuple[int, ...]

NORMS: Final = ("all", "feed-forward", "none")
BIASES: Final = ("all", "hidden")


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The shape of a network. The defaults are the paper's, which has 102,464 parameters for addition.

    What follows `dropout` makes a network smaller by tying parts of the paper's to each other, or leaving them out.
    """

    vocabulary: int
    input_length: int
    output_length: int
    width: int = 64
    heads: int = 2
    layers: int = 2
    hidden: int = 256
    dropout: float = 0.2
    tied: bool = False  # the map to the vocabulary is the token embedding
    norms: str = "all"  # which LayerNorms there are; the feed-forward one alone has no scale and shift
    biases: str = "all"  # of linear maps; or that of the feed-forward network's hidden units alone
    query_width: int = 0  # of each head's queries and keys; 0: as wide as its values
    shared_keys: bool = False  # keys are queries
    out: bool = True  # whether attention maps its heads' values to the width again, or just adds them
    positions: str = ""  # for each position that is read the row of its embedding, `.` for none; empty: a row each

    def __post_init__(self) -> None:
        for name in ("vocabulary", "input_length", "output_length", "width", "heads", "layers", "hidden"):
            value = getattr(self, name)
            most = MOST_LAYERS if name == "layers" else LARGEST
            if type(value) is not int or not 1 <= value <= most:
                raise AlgaError(f"model setting {name} must be a whole number from 1 to {most:,}, got {value!r}")
        if not isinstance(self.dropout, int | float) or not 0 <= self.dropout < 1:
            raise AlgaError(f"model setting dropout must be at least 0 and below 1, got {self.dropout!r}")
        if self.width % self.heads:
            raise AlgaError(f"model width {self.width} cannot be shared among {self.heads} heads")
        for name, choices in {"norms": NORMS, "biases": BIASES}.items():
            if getattr(self, name) not in choices:
                raise AlgaError(f"model setting {name} must be one of {choices}, got {getattr(self, name)!r}")
        for name in ("tied", "shared_keys", "out"):
            if type(getattr(self, name)) is not bool:
                raise AlgaError(f"model setting {name} must be true or false, got {getattr(self, name)!r}")
        if type(self.query_width) is not int or not 0 <= self.query_width <= self.width // self.heads:
            most = self.width // self.heads
            raise AlgaError(f"model setting query_width must be 0 to {most}, got {self.query_width!r}")
        read = self.input_length + self.output_length  # the last output token is written and not read
        if self.positions != "" and not (
            isinstance(self.positions, str)
            and re.fullmatch(f"[.0-9]{{{read}}}", self.positions)
            and self.positions.strip(".")
        ):
            raise AlgaError(f"model setting positions must be {read} digits or points, got {self.positions!r}")
        if self.parameters > MOST_PARAMETERS:
            raise AlgaError(f"a network may have {MOST_PARAMETERS:,} parameters, this shape has {self.parameters:,}")

    def settings(self) -> dict[str, Any]:
        """Return what tells it from others: what every network has, and the options that it uses."""
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        names = list(defaults)
        options = names[names.index("dropout") + 1 :]
        return {name: value for name, value in vars(self).items() if name not in options or value != defaults[name]}

    @property
    def parameters(self) -> int:
        """The number of trained numbers, each counted once; it takes no longer for many layers than for one."""
        return _count(self._embeddings()) + _count(self._head()) + self.layers * _count(self._layer())

    def tensors(self) -> dict[str, Shape]:
        """Return the name and shape of every tensor in the network's weight file, in the order of the forward pass."""
        layer = list(self._layer())
        inside = {f"layers.{i}.{name}": shape for i in range(self.layers) for name, shape in layer}
        return {**dict(self._embeddings()), **inside, **dict(self._head())}

    def check(self, shapes: Mapping[str, Shape], path: Path) -> None:
        """Refuse tensors that are not those of this network."""
        layers = len({name.split(".")[1] for name in shapes if name.startswith("layers.")})
        if layers != self.layers:
            raise AlgaError(f"{path} does not match its configuration: it has {layers} layers, expected {self.layers}")
        expected = self.tensors()
        if shapes.keys() != expected.keys():
            name = min(shapes.keys() ^ expected.keys())
            what = "missing" if name in expected else "extra"
            raise AlgaError(f"{path} does not match its configuration: {name} is {what}")
        for name, shape in shapes.items():
            if shape != expected[name]:
                differs = f"{name} has the shape {list(shape)}, expected {list(expected[name])}"
                raise AlgaError(f"{path} does not match its configuration: {differs}")

    def _embeddings(self) -> Iterator[tuple[str, Shape]]:
        rows = [int(row) for row in self.positions if row != "."] or [self.input_length + self.output_length]
        yield "token_embedding.weight", (self.vocabulary, self.width)
        yield "position_embedding.weight", (1 + max(rows), self.width)

    def _head(self) -> Iterator[tuple[str, Shape]]:
        yield from self._norm("final_norm")
        if not self.tied:
            yield "head.weight", (self.vocabulary, self.width)

    def _layer(self) -> Iterator[tuple[str, Shape]]:
        queries = self.heads * (self.query_width or self.width // self.heads)
        biased = self.biases == "all"
        yield from self._norm("attention_norm")
        mapped = queries * (1 if self.shared_keys else 2) + self.width
        yield from _linear("attention.project_in", self.width, mapped, biased)
        if self.out:
            yield from _linear("attention.project_out", self.width, self.width, biased)
        yield from self._norm("feed_forward_norm")
        yield from _linear("feed_forward.0", self.width, self.hidden, True)
        yield from _linear("feed_forward.2", self.hidden, self.width, biased)

    def _norm(self, name: str) -> Iterator[tuple[str, Shape]]:
        if self.norms == "all":
            yield f"{name}.weight", (self.width,)
            yield f"{name}.bias", (self.width,)


def _linear(name: str, inputs: int, outputs: int, bias: bool) -> Iterator[tuple[str, Shape]]:
    yield f"{name}.weight", (outputs, inputs)
    if bias:
        yield f"{name}.bias", (outputs,)


def _count(tensors: Iterator[tuple[str, Shape]]) -> int:
    return sum(math.prod(shape) for _, shape in tensors)
