"""The shape of a network: its settings, and the tensors that they imply. It needs no torch."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from alga.base.errors import AlgaError
from alga.network.sharing import sharing

MOST_OF_A_SETTING: Final = 65_536  # of any setting; more would be damaged or hostile
MOST_LAYERS: Final = 64
MOST_PARAMETERS: Final = 2**28  # a weight file of 1 GiB

Shape = tuple[int, ...]

NORMS: Final = ("all", "feed-forward", "none")
BIASES: Final = ("all", "hidden")
VALUE_MAPS: Final = ("full", "diagonal", "scalar")
MOST_SHARED: Final = 64  # hidden units and tokens of a network that shares trained numbers


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The shape of a network. The defaults are the paper's: 102,464 parameters for addition.

    The options after `dropout` make a network smaller by tying parts or leaving them out.
    """

    kind: ClassVar[str] = "steps"
    needs_bound: ClassVar[bool] = False  # whether more than the domain's prompts decides what it writes
    can_be_bounded: ClassVar[bool] = True

    vocabulary: int
    input_length: int
    output_length: int
    width: int = 64
    heads: int = 2
    layers: int = 2
    hidden: int = 256
    dropout: float = 0.2
    tied: bool = False  # the map to the vocabulary is the token embedding
    norms: str = "all"  # which LayerNorms it has; "feed-forward" is one without scale and shift
    biases: str = "all"  # of linear maps; "hidden": only those of the feed-forward network's hidden units
    query_width: int = 0  # of each head's queries and keys; 0: as wide as its values
    shared_keys: bool = False  # keys are queries
    out: bool = True  # whether attention has an output projection
    positions: str = ""  # the embedding row of each position that is read, `.` for none; empty: a row each
    parabola: int = 0  # this many digits and stop, as the digit -1, lie on a parabola of three numbers (sharing.py)
    silent: str = ""  # tokens whose embedding is zero, by id
    alike: str = ""  # tokens that share one embedding, by id
    mirrored: bool = False  # position row 0 is row 1 with its first coordinate negated
    values: str = "full"  # the map to values: every entry, a diagonal, or one number times the identity

    def __post_init__(self) -> None:
        for name in ("vocabulary", "input_length", "output_length", "width", "heads", "layers", "hidden"):
            value = getattr(self, name)
            most = MOST_LAYERS if name == "layers" else MOST_OF_A_SETTING
            if type(value) is not int or not 1 <= value <= most:
                raise AlgaError(f"model setting {name} must be a whole number from 1 to {most:,}, got {value!r}")
        if not isinstance(self.dropout, int | float) or not 0 <= self.dropout < 1:
            raise AlgaError(f"model setting dropout must be at least 0 and below 1, got {self.dropout!r}")
        if self.width % self.heads:
            raise AlgaError(f"model width {self.width} cannot be shared among {self.heads} heads")
        for name, choices in {"norms": NORMS, "biases": BIASES, "values": VALUE_MAPS}.items():
            if getattr(self, name) not in choices:
                raise AlgaError(f"model setting {name} must be one of {choices}, got {getattr(self, name)!r}")
        for name in ("tied", "shared_keys", "out", "mirrored"):
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
        if self._entries > MOST_PARAMETERS:
            raise AlgaError(f"a network may have {MOST_PARAMETERS:,} parameters, this shape has {self._entries:,}")
        if self.shares:
            self._check_sharing()

    def settings(self) -> dict[str, Any]:
        """Return the settings that every network has, and the options that differ from their default."""
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        names = list(defaults)
        options = names[names.index("dropout") + 1 :]
        return {name: value for name, value in vars(self).items() if name not in options or value != defaults[name]}

    @property
    def parameters(self) -> int:
        """The number of trained parameters, each counted once; takes constant time for any number of layers."""
        return len(sharing(self).numbers) if self.shares else self._entries

    @property
    def shares(self) -> bool:
        """Whether one trained number may be part of several entries of the weight file, or an entry of none."""
        return bool(self.parabola or self.silent or self.alike or self.mirrored or self.values != "full")

    @property
    def _entries(self) -> int:
        """The number of entries of the weight file's tensors."""
        embeddings, layer, head = (sum(map(math.prod, part.values())) for part in self._parts())
        return embeddings + self.layers * layer + head

    def _check_sharing(self) -> None:
        """Refuse shared numbers in a network that they are not defined for."""
        plain = self.tied and self.norms == "none" and self.biases == "hidden" and not self.out and self.positions
        small = self.width == 2 and self.layers == self.heads == 1 and max(self.hidden, self.vocabulary) <= MOST_SHARED
        if not (plain and small):
            raise AlgaError("trained numbers are shared only by tied networks of width 2, one layer and no norms")
        if type(self.parabola) is not int or not 0 <= self.parabola <= self.vocabulary - 2:
            raise AlgaError(f"model setting parabola must be 0 to {self.vocabulary - 2} digits, got {self.parabola!r}")
        listed = [*self.ids("silent"), *self.ids("alike")]
        curved = range(1, 2 + self.parabola) if self.parabola else range(0)
        if len({*listed, *curved}) != len(listed) + len(curved):
            raise AlgaError("a token can be on the parabola, silent or like others, and only one of these")
        if self.mirrored and self._parts()[0]["position_embedding.weight"][0] < 2:
            raise AlgaError("mirrored positions need two rows")

    def ids(self, option: str) -> list[int]:
        """Return the token ids that an option lists, such as `0 12 13`."""
        text = getattr(self, option)
        if not isinstance(text, str) or not re.fullmatch(r"([0-9]{1,2}( [0-9]{1,2})*)?", text):
            raise AlgaError(f"model setting {option} must be token ids such as '0 12', got {text!r}")
        found = [int(each) for each in text.split()]
        if any(each >= self.vocabulary for each in found):
            raise AlgaError(f"model setting {option} must be ids below {self.vocabulary}, got {text!r}")
        return found

    def tensors(self) -> dict[str, Shape]:
        """Return the name and shape of every tensor in the network's weight file, in the order of the forward pass."""
        embeddings, layer, head = self._parts()
        inside = {f"layers.{i}.{name}": shape for i in range(self.layers) for name, shape in layer.items()}
        return embeddings | inside | head

    def check(self, shapes: Mapping[str, Shape], path: Path) -> None:
        """Refuse tensors that are not those of this network."""
        layers = len({name.split(".")[1] for name in shapes if name.startswith("layers.")})
        if layers != self.layers:
            raise AlgaError(f"{path} does not match its configuration: it has {layers} layers, expected {self.layers}")
        check_tensors(self.tensors(), shapes, path)

    def _parts(self) -> tuple[dict[str, Shape], dict[str, Shape], dict[str, Shape]]:
        """Return the tensors of the embeddings, of one layer, and of the head."""
        width, heads, biased = self.width, self.heads, self.biases == "all"

        def norm(name: str) -> dict[str, Shape]:
            return {f"{name}.weight": (width,), f"{name}.bias": (width,)} if self.norms == "all" else {}

        def linear(name: str, inputs: int, outputs: int, bias: bool = biased) -> dict[str, Shape]:
            return {f"{name}.weight": (outputs, inputs)} | ({f"{name}.bias": (outputs,)} if bias else {})

        rows = [int(row) for row in self.positions if row != "."] or [self.input_length + self.output_length]
        queries = heads * (self.query_width or width // heads)
        embeddings: dict[str, Shape] = {
            "token_embedding.weight": (self.vocabulary, width),
            "position_embedding.weight": (1 + max(rows), width),
        }
        layer = {
            **norm("attention_norm"),
            **linear("attention.project_in", width, queries * (1 if self.shared_keys else 2) + width),
            **(linear("attention.project_out", width, width) if self.out else {}),
            **norm("feed_forward_norm"),
            **linear("feed_forward.0", width, self.hidden, bias=True),
            **linear("feed_forward.2", self.hidden, width),
        }
        return embeddings, layer, norm("final_norm") | ({} if self.tied else {"head.weight": (self.vocabulary, width)})


def check_tensors(expected: Mapping[str, Shape], shapes: Mapping[str, Shape], path: Path) -> None:
    """Refuse a weight file's tensors if others are expected."""
    if shapes.keys() != expected.keys():
        name = min(shapes.keys() ^ expected.keys())
        what = "missing" if name in expected else "extra"
        raise AlgaError(f"{path} does not match its configuration: {name} is {what}")
    for name, shape in shapes.items():
        if shape != expected[name]:
            differs = f"{name} has the shape {list(shape)}, expected {list(expected[name])}"
            raise AlgaError(f"{path} does not match its configuration: {differs}")
