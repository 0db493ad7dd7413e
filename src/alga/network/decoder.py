"""Prompts -> outputs with margins: the only greedy decoder of networks that answer prompts.

What is certified is what users run. `reader_decoder.py` has the decoder of networks that read whole texts.

Prompts go one by one through the network in compiled code, which needs no torch. A torch module runs in torch, in
batches, if it has hooks or replaced parts or is on another device. If torch is installed, the certificate checks every
prompt both ways.
"""

from __future__ import annotations

import math
import platform
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from alga.network.compiled import Compiled
from alga.network.config import ModelConfig
from alga.network.step import Decode, Step
from alga.network.tokens import STOP_ID, Tokens

if TYPE_CHECKING:
    from alga.network.model import Transformer
    from alga.network.module import Module, OpenedModule

CHUNK: Final = 4096  # prompts in one call of torch: bounds memory whatever the batch

NORM_NAMES: Final = ("attention_norm", "feed_forward_norm")

Array = NDArray[np.float32]
Shape = TypeVar("Shape")
Shape_co = TypeVar("Shape_co", covariant=True)
Net = TypeVar("Net")
Net_co = TypeVar("Net_co", covariant=True)
Work = TypeVar("Work", bound="OpenedModule[Any, Any, Any]")


class Source(Protocol[Shape_co, Net_co]):
    """Where a decoder gets its network: arrays, until it is opened as a torch module; from then on the module."""

    @property
    def shape(self) -> Shape_co:
        """The shape of the network."""

    @property
    def arrays(self) -> Mapping[str, Array]:
        """The weights by the names of a weight file; never changed while there is no module."""

    @property
    def opened(self) -> Net_co | None:
        """The torch module, if it was asked for: it may have been changed, so it is what runs."""

    @property
    def model(self) -> Net_co:
        """The torch module, built on first use."""


class GreedyDecoder(ABC, Generic[Shape, Net, Work]):
    """What decoders of both kinds of networks share: where the network is, and what runs it. Counts its calls."""

    def __init__(self, source: Source[Shape, Net]) -> None:
        self.network_calls = 0
        self._source = source
        self._working: Work | None = None

    @property
    def model(self) -> Net:
        """The network as a torch module."""
        return self._source.model

    def refresh(self) -> None:
        """Pack the weights again before the next prompt: fused optimisers and `.data` change them unnoticed."""
        if self._working is not None:
            self._working.refresh()

    @property
    def machine(self) -> dict[str, str | int]:
        """Hardware and versions that it computes with; torch is included if the network was opened in it."""
        packages = ("alga", "numba") if self._source.opened is None else ("alga", "torch", "numba")
        return {
            "platform": f"{platform.system()} {platform.machine()}",
            **({"device": "cpu", "threads": 1} if self._source.opened is None else self._module.machine),
            "python": platform.python_version(),
            **{package: metadata.version(package) for package in packages},
        }

    @abstractmethod
    def _worked(self, model: Net) -> Work:
        """Return a torch module ready to run."""

    @property
    def _module(self) -> Work:
        """The torch module that runs."""
        model = self._source.model
        if self._working is None or self._working.model is not model:
            self._working = self._worked(model)
        return self._working


@dataclass(frozen=True)
class Detail:
    """The inside of one step: the tokens at its positions, each generated token's probabilities, all attention."""

    tokens: tuple[str, ...]  # prompt with padding, `\n`, and the output but its last token
    generated: tuple[str, ...]
    probabilities: Array  # generated tokens x vocabulary
    attention: Array  # layers x heads x positions x positions


class Decoder(GreedyDecoder["ModelConfig", "Transformer", "Module"]):
    r"""Greedy generation by one network, from `\n` until `S` or the output length."""

    def __init__(self, source: Source[ModelConfig, Transformer], tokens: Tokens) -> None:
        super().__init__(source)
        self.tokens = tokens
        self._texts: dict[tuple[int, ...], tuple[str, str | None]] = {}

    def __call__(self, prompts: Sequence[str]) -> list[Step]:
        """Decode a batch of prompts; one that is too long, after a wrong output, gets an empty answer."""
        compiled = self._plain if self._source.opened is None else self._module.compiled()
        return (
            self.by_torch(prompts) if compiled is None else self._fitting(prompts, partial(self._one_by_one, compiled))
        )

    def by_torch(self, prompts: Sequence[str]) -> list[Step]:
        """Decode a batch of prompts by the torch module: for a second check, and for altered networks."""
        return self._fitting(prompts, self._in_chunks)

    @cached_property
    def _weights(self) -> dict[str, Array]:
        return unfolded(self._source.arrays, self._source.shape)

    @cached_property
    def _plain(self) -> Compiled:
        """The stored network in compiled code: it runs while there is no torch module."""
        return Compiled(self._weights, self._source.shape)

    def _worked(self, model: Transformer) -> Module:
        from alga.network.module import Module

        return Module(model, self._source.shape)

    def _fitting(self, prompts: Sequence[str], decode: Decode) -> list[Step]:
        fitting = [prompt for prompt in prompts if len(prompt) <= self.tokens.input_length]
        steps, longest = iter(decode(fitting)), self.tokens.input_length
        return [next(steps) if len(prompt) <= longest else Step(prompt, "", None, 0.0) for prompt in prompts]

    def _one_by_one(self, compiled: Compiled, prompts: Sequence[str]) -> list[Step]:
        steps = []
        for prompt in prompts:
            ids, margin = compiled.decode(self.tokens.packed([prompt]))
            self.network_calls += ids.index(STOP_ID) + 1 if STOP_ID in ids else len(ids)
            steps.append(Step(prompt, *self._text(ids), margin))
        return steps

    def _in_chunks(self, prompts: Sequence[str]) -> list[Step]:
        steps: list[Step] = []
        for start in range(0, len(prompts), CHUNK):
            chunk = prompts[start : start + CHUNK]
            rows, margins, calls = self._module.generate(self.tokens.packed(chunk), len(chunk))
            self.network_calls += calls
            found = zip(chunk, rows, margins, strict=True)
            steps += [Step(prompt, *self._text(tuple(ids)), margin) for prompt, ids, margin in found]
        return steps

    def _text(self, ids: tuple[int, ...]) -> tuple[str, str | None]:
        """Return the text of generated ids and its output, cached: there are only a few."""
        if ids not in self._texts:
            text = self.tokens.text(ids)
            self._texts[ids] = text, self.tokens.output(text)
        return self._texts[ids]

    def detail(self, prompt: str, text: str) -> Detail:
        """Return the inside of the step in which the network wrote `text` for `prompt`."""
        return self.details([(prompt, text)])[0]

    def details_of(self, steps: Sequence[tuple[str, str]]) -> tuple[Detail, ...]:
        """Return the inside of steps whose texts may differ in length."""
        return tuple(self.detail(*step) for step in steps)

    def details(self, steps: Sequence[tuple[str, str]]) -> list[Detail]:
        """Return the inside of steps, each a prompt and the text written for it; all texts have one length."""
        generated = [[self.tokens.ids[token] for token in text] for _, text in steps]
        rows = [[*self.tokens.packed([prompt]), *ids[:-1]] for (prompt, _), ids in zip(steps, generated, strict=True)]
        if self._source.opened is None:
            from alga.network.forward import forward

            probabilities_BOV, attention_BNHLL = forward(self._weights, self._source.shape, np.array(rows))
        else:
            probabilities_BOV, attention_BNHLL = self._module.forward(np.array(rows))
        return [
            Detail(
                tokens=tuple(self.tokens.vocabulary[i] for i in row),
                generated=tuple(text),
                probabilities=probabilities_BOV[i],
                attention=attention_BNHLL[i],
            )
            for i, ((_, text), row) in enumerate(zip(steps, rows, strict=True))
        ]


# --- weights in full --------------------------------------------------------------------------------------------------


def unfolded(stored: Mapping[str, Array], config: ModelConfig) -> dict[str, Array]:
    """Return the weights of a weight file in the paper's full form: shared parts repeated, omitted parts filled in.

    So code that computes with weights needs to know one architecture only. Missing norms cannot be expressed this way;
    `config.norms` says which exist.
    """
    weights = dict(stored)
    ones, zeros = np.ones(config.width, np.float32), np.zeros(config.width, np.float32)
    if config.tied:
        weights["head.weight"] = weights["token_embedding.weight"]
    if config.positions:
        rows = weights["position_embedding.weight"]
        read = [zeros if row == "." else rows[int(row)] for row in config.positions]
        weights["position_embedding.weight"] = np.stack([*read, zeros])  # the last is never read
    for name in ("final_norm", *(f"layers.{i}.{norm}" for i in range(config.layers) for norm in NORM_NAMES)):
        weights.setdefault(f"{name}.weight", ones)
        weights.setdefault(f"{name}.bias", zeros)
    for i in range(config.layers):
        name = f"layers.{i}.attention"
        matrix = weights[f"{name}.project_in.weight"]
        bias = weights.get(f"{name}.project_in.bias", np.zeros(len(matrix), np.float32))
        weights[f"{name}.project_in.weight"] = _in_full(matrix, config)
        weights[f"{name}.project_in.bias"] = _in_full(bias, config)
        weights.setdefault(f"{name}.project_out.weight", np.diag(ones))
        for linear in (f"{name}.project_out", f"layers.{i}.feed_forward.2"):
            weights.setdefault(f"{linear}.bias", zeros)
    return weights


def _in_full(rows: Array, config: ModelConfig) -> Array:
    """Return the rows of queries, keys and values, each as many as the width.

    Narrow queries and keys are padded with zeros, and queries scaled to make up for the larger square root.
    """
    width, heads = config.width, config.heads
    each = width // heads
    narrow = config.query_width or each
    queries = heads * narrow
    q, v = rows[:queries], rows[-width:]
    k = q if config.shared_keys else rows[queries:-width]
    scale = np.float32(math.sqrt(each / narrow))
    return np.concatenate([_widened(q * scale, heads, each), _widened(k, heads, each), v])


def _widened(rows: Array, heads: int, width: int) -> Array:
    parts = rows.reshape(heads, -1, *rows.shape[1:])
    padded = np.zeros((heads, width, *rows.shape[1:]), np.float32)
    padded[:, : parts.shape[1]] = parts
    return padded.reshape(heads * width, *rows.shape[1:])
