"""Prompts -> outputs with margins: the only greedy decoder. What is certified is therefore what users run.

Many prompts go through torch together; a few, one by one through the same network in compiled code. The certificate
checks every prompt both ways.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from typing import Final

import torch
from torch import Tensor

from alga.compiled import Compiled
from alga.errors import AlgaError
from alga.model import Cache, Transformer
from alga.tokens import STOP_ID, Tokens
from alga.unfolding import unfolded

CHUNK: Final = 4096  # prompts in one network call: bounds memory whatever the batch
FEW: Final = 64  # prompts that are faster one by one in compiled code than together in torch


@dataclass(frozen=True, slots=True)
class Decoded:
    """What the network wrote for one prompt: the text with its `S`, and the output it states if it is well formed.

    The margin is the chosen token's logit minus the largest other, least over every token generated, `S` included.
    """

    text: str
    output: str | None
    margin: float


Decode = Callable[[Sequence[str]], list[Decoded]]


@dataclass(frozen=True)
class Detail:
    """One step laid open: the tokens at its positions, each generated token's probabilities, and every attention."""

    tokens: tuple[str, ...]  # prompt with padding, `\n`, and the output but its last token
    generated: tuple[str, ...]
    probabilities: Tensor  # generated tokens x vocabulary
    attention: Tensor  # layers x heads x positions x positions


class Decoder:
    r"""Greedy generation by one network, from `\n` until `S` or the output length. Counts its network calls."""

    def __init__(self, model: Transformer, tokens: Tokens) -> None:
        self.model, self.tokens = model, tokens
        self.network_calls = 0
        self._packed: tuple[list[int], list[Tensor], Compiled] | None = None  # versions, tensors, compiled network
        self._texts: dict[tuple[int, ...], tuple[str, str | None]] = {}

    @torch.inference_mode()
    def __call__(self, prompts: Sequence[str]) -> list[Decoded]:
        """Decode a batch of prompts. One that is too long, as a wrong output may make it, is answered with nothing."""
        if self.model.vocabulary_weight.dtype != torch.float32:
            raise AlgaError(f"expected a network in float32, got {self.model.vocabulary_weight.dtype}")
        fitting = [prompt for prompt in prompts if len(prompt) <= self.tokens.input_length]
        if len(fitting) <= FEW and self.model.mask.device.type == "cpu":
            steps = self._decode_one_by_one(fitting)
        else:
            with self._evaluating():
                chunks = [self._decode(fitting[start : start + CHUNK]) for start in range(0, len(fitting), CHUNK)]
            steps = [step for chunk in chunks for step in chunk]
        decoded = iter(steps)
        nothing = Decoded("", None, 0.0)
        return [next(decoded) if len(prompt) <= self.tokens.input_length else nothing for prompt in prompts]

    def refresh(self) -> None:
        """Look at the weights anew before new work: fused optimisers and `.data` change them unnoticed."""
        self._packed = None

    def _decode_one_by_one(self, prompts: Sequence[str]) -> list[Decoded]:
        packed = self._packed
        if packed is None or [tensor._version for tensor in packed[1]] != packed[0]:
            weights: list[Tensor] = [*self.model.parameters()]
            arrays = {name: tensor.numpy() for name, tensor in unfolded(self.model).items()}
            compiled = Compiled(arrays, self.model.config)
            packed = self._packed = [tensor._version for tensor in weights], weights, compiled
        steps = []
        for prompt in prompts:
            ids, margin = packed[2].decode(self.tokens.packed([prompt]))
            self.network_calls += ids.index(STOP_ID) + 1 if STOP_ID in ids else len(ids)
            steps.append(Decoded(*self._text(ids), margin))
        return steps

    def _decode(self, prompts: Sequence[str]) -> list[Decoded]:
        cache: Cache = []
        packed = torch.frombuffer(bytearray(self.tokens.packed(prompts)), dtype=torch.uint8)
        ids_BL = packed.view(len(prompts), -1).to(self.model.mask.device, torch.long)
        written_BO = ids_BL.new_full((len(prompts), self.tokens.output_length), STOP_ID)
        least_B = torch.full((len(prompts),), torch.inf, device=ids_BL.device)
        rows = torch.arange(len(prompts), device=ids_BL.device)  # those that have not stopped
        for place in range(self.tokens.output_length):
            best_B2 = self.model(ids_BL, cache)[:, -1].topk(2, dim=-1)
            self.network_calls += 1
            ids_BL = best_B2.indices[:, :1]
            written_BO[rows, place] = ids_BL[:, 0]
            least_B[rows] = torch.minimum(least_B[rows], best_B2.values[:, 0] - best_B2.values[:, 1])
            going_B = ids_BL[:, 0] != STOP_ID
            if not bool(going_B.any()):
                break
            if not bool(going_B.all()):
                rows, ids_BL = rows[going_B], ids_BL[going_B]
                cache[:] = [(keys[going_B], values[going_B]) for keys, values in cache]
        return [
            Decoded(*self._text(tuple(row)), margin)
            for row, margin in zip(written_BO.tolist(), least_B.tolist(), strict=True)
        ]

    def _text(self, ids: tuple[int, ...]) -> tuple[str, str | None]:
        """Return the text of generated ids and the output it states: the same few, over and over."""
        if ids not in self._texts:
            text = self.tokens.text(ids)
            self._texts[ids] = text, self.tokens.output(text)
        return self._texts[ids]

    @property
    def machine(self) -> dict[str, str | int]:
        """What it computes on, and with."""
        return {
            "platform": f"{platform.system()} {platform.machine()}",
            "device": self.model.mask.device.type,
            "threads": torch.get_num_threads(),
            "python": platform.python_version(),
            **{package: metadata.version(package) for package in ("alga", "torch", "numba")},
        }

    def detail(self, prompt: str, text: str) -> Detail:
        """Lay open the step in which the network wrote `text` for `prompt`."""
        return self.details([(prompt, text)])[0]

    @torch.inference_mode()
    def details(self, steps: Sequence[tuple[str, str]]) -> list[Detail]:
        """Lay open steps, each a prompt and the text written for it; all texts have one length."""
        generated = [[self.tokens.ids[token] for token in text] for _, text in steps]
        rows = [[*self.tokens.packed([prompt]), *ids[:-1]] for (prompt, _), ids in zip(steps, generated, strict=True)]
        ids_BL = torch.tensor(rows, device=self.model.mask.device)
        attention: list[Tensor] = []
        with self._evaluating():
            logits_BLV = self.model(ids_BL, attention=attention)
        weights_BNHLL = torch.stack(attention, dim=1).cpu()
        return [
            Detail(
                tokens=tuple(self.tokens.vocabulary[i] for i in row),
                generated=tuple(text),
                probabilities=logits_BLV[i].softmax(dim=-1).cpu(),
                attention=weights_BNHLL[i],
            )
            for i, ((_, text), row) in enumerate(zip(steps, rows, strict=True))
        ]

    @contextmanager
    def _evaluating(self) -> Iterator[None]:
        """Switch dropout off; leave the model as it was."""
        training = self.model.training
        self.model.eval()
        try:
            yield
        finally:
            self.model.train(training)
