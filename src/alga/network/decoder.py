"""Prompts -> outputs with margins: the only greedy decoder of networks that answer prompts.

What is certified is what users run. `reader_decoder.py` has the decoder of networks that read whole texts.

Prompts go one by one through the network in compiled code, which needs no torch; so do the columns of one problem,
each prompt made of the output before. A torch module runs in torch, in batches, if it has hooks or replaced parts or is
on another device. If torch is installed, the certificate checks every prompt both ways.
"""

from __future__ import annotations

import platform
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

import alga
from alga.network.config import ModelConfig
from alga.network.generation import Compiled, unfolded
from alga.network.step import Decode, Step
from alga.network.tokens import START, STOP, Tokens

if TYPE_CHECKING:
    from torch import Tensor

    from alga.network.model import Transformer
    from alga.network.module import Module, OpenedModule

CHUNK: Final = 4096  # prompts in one call of torch: bounds memory whatever the batch
PROMPTS_AT_ONCE: Final = 1024  # in one call of compiled code, which no signal interrupts: some 30 ms

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
        packages = ("numba",) if self._source.opened is None else ("torch", "numba")
        return {
            "platform": f"{platform.system()} {platform.machine()}",
            **({"device": "cpu", "threads": 1} if self._source.opened is None else self._module.machine),
            "python": platform.python_version(),
            "alga": alga.__version__,  # whatever the distribution is called
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


@dataclass(frozen=True)
class Reading:
    """What a network read and wrote in steps, by position: whether it was read, and the id written there, or -1."""

    read_BL: NDArray[np.bool_]
    written_BL: NDArray[np.int64]


class Decoder(GreedyDecoder["ModelConfig", "Transformer", "Module"]):
    r"""Greedy generation by one network, from `\n` until `S` or the output length."""

    def __init__(self, source: Source[ModelConfig, Transformer], tokens: Tokens) -> None:
        super().__init__(source)
        self.tokens = tokens
        self._texts: dict[tuple[int, ...], tuple[str, str | None]] = {}

    def __call__(self, prompts: Sequence[str]) -> list[Step]:
        """Decode a batch of prompts; one that is too long, after a wrong output, gets an empty answer."""
        compiled = self._compiled()
        return (
            self.by_torch(prompts) if compiled is None else self._fitting(prompts, partial(self._one_by_one, compiled))
        )

    def walk(self, separator: str, before: str | None, columns: Sequence[str]) -> list[Step]:
        """Decode column after column, each prompt made of the output before, the separator and the column.

        The first prompt is the column alone if nothing was `before`. Returns the steps that decoding prompt by prompt
        gives, at least one; ends after a text that is not a valid output, and may end sooner.
        """
        compiled, tokens = self._compiled(), self.tokens
        known = tokens.coded("".join([separator, before or "", *columns]))
        steps: list[Step] = []
        if compiled is not None and known is not None and len(before or "") < tokens.output_length:
            start = 1 + len(before or "")
            joint = (*known[:1], *tokens.limits)
            rows_BO, margins_B = compiled.walk(joint, known[start:], [*map(len, columns)], known[1:start])
            for column, ids, margin in zip(columns, rows_BO.tolist(), margins_B.tolist(), strict=False):
                prompt = column if before is None else f"{before}{separator}{column}"
                steps.append(self._step(prompt, ids, margin))
                before = steps[-1].output
        return steps or self([columns[0] if before is None else f"{before}{separator}{columns[0]}"])

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

    def _compiled(self) -> Compiled | None:
        """The network in compiled code; None if torch must run it."""
        return self._plain if self._source.opened is None else self._module.compiled()

    def _one_by_one(self, compiled: Compiled, prompts: Sequence[str]) -> list[Step]:
        steps: list[Step] = []
        for start in range(0, len(prompts), PROMPTS_AT_ONCE):
            chunk = prompts[start : start + PROMPTS_AT_ONCE]
            rows_BO, margins_B = compiled.decode_all(self.tokens.packed(chunk), len(chunk))
            steps += map(self._step, chunk, rows_BO.tolist(), margins_B.tolist())
        return steps

    def _step(self, prompt: str, ids: list[int], margin: float) -> Step:
        """Return the step of a prompt that was decoded alone: the network was called for each token of its text."""
        text, output = self._text(tuple(ids))
        self.network_calls += len(text)
        return Step(prompt, text, output, margin)

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

    def logits(self, texts: Sequence[str], gradients: bool = False) -> Tensor:
        r"""Return the next token's logits at every position of texts: prompts, or prompts with `\n` and some output."""
        return self._module.logits(np.array(self.tokens.texts(texts)), gradients)

    def read(self, steps: Sequence[Step]) -> Reading:
        """Run the torch module once over whole steps, so that hooks see them."""
        tokens = self.tokens
        most = tokens.output_length - 1
        ids_BL = np.array(tokens.texts([f"{step.prompt}{START}{step.text[:most].ljust(most, STOP)}" for step in steps]))
        self._module.logits(ids_BL)
        read_BL, written_BL = np.zeros(ids_BL.shape, bool), np.full(ids_BL.shape, -1)
        for step, read_L, written_L in zip(steps, read_BL, written_BL, strict=True):
            end = tokens.input_length + len(step.text)
            read_L[:end] = True
            written_L[tokens.input_length : end] = [tokens.ids[token] for token in step.text]
        return Reading(read_BL, written_BL)

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
