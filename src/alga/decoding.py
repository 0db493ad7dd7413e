"""Prompts -> outputs with margins: the only greedy decoder. What is certified is therefore what users run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from alga.model import Cache, Transformer
from alga.tokens import START, STOP_ID, Tokens

CHUNK: Final = 4096  # prompts in one network call: bounds memory whatever the batch
ONE_THREAD: Final = 32  # prompts up to which a second thread gains nothing, and costs much on a busy machine


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

    @torch.inference_mode()
    def __call__(self, prompts: Sequence[str]) -> list[Decoded]:
        """Decode a batch of prompts. One that is too long, as a wrong output may make it, is answered with nothing."""
        fitting = [prompt for prompt in prompts if len(prompt) <= self.tokens.input_length]
        with self._evaluating(len(fitting)):
            chunks = [self._decode(fitting[start : start + CHUNK]) for start in range(0, len(fitting), CHUNK)]
        decoded = iter([step for chunk in chunks for step in chunk])
        nothing = Decoded("", None, 0.0)
        return [next(decoded) if len(prompt) <= self.tokens.input_length else nothing for prompt in prompts]

    def _decode(self, prompts: Sequence[str]) -> list[Decoded]:
        cache: Cache = []
        ids_BL = self._ids([[*row, self.tokens.ids[START]] for row in self.tokens.prompts(prompts)])
        chosen: list[Tensor] = []
        stopped_B = torch.zeros(len(prompts), dtype=torch.bool, device=ids_BL.device)
        least_B = torch.full((len(prompts),), torch.inf, device=ids_BL.device)
        for _ in range(self.tokens.output_length):
            logits_BV = self.model(ids_BL, cache)[:, -1]
            self.network_calls += 1
            best_B2 = logits_BV.topk(2, dim=-1)
            gap_B = best_B2.values[:, 0] - best_B2.values[:, 1]
            least_B = torch.where(stopped_B, least_B, torch.minimum(least_B, gap_B))
            ids_BL = best_B2.indices[:, :1]
            chosen.append(ids_BL)
            stopped_B |= ids_BL[:, 0] == STOP_ID
            if bool(stopped_B.all()):
                break
        texts = [self.tokens.text(row) for row in torch.cat(chosen, dim=1).tolist()]
        return [
            Decoded(text, self.tokens.output(text), margin)
            for text, margin in zip(texts, least_B.tolist(), strict=True)
        ]

    @torch.inference_mode()
    def detail(self, prompt: str, text: str) -> Detail:
        """Lay open the step in which the network wrote `text` for `prompt`."""
        generated = [self.tokens.ids[token] for token in text]
        (row,) = self.tokens.prompts([prompt])
        ids_BL = self._ids([[*row, self.tokens.ids[START], *generated[:-1]]])
        attention: list[Tensor] = []
        with self._evaluating(1):
            logits_BLV = self.model(ids_BL, attention=attention)
        return Detail(
            tokens=tuple(self.tokens.vocabulary[i] for i in ids_BL[0].tolist()),
            generated=tuple(text),
            probabilities=logits_BLV[0].softmax(dim=-1).cpu(),
            attention=torch.stack([weights_BHLL[0] for weights_BHLL in attention]).cpu(),
        )

    @contextmanager
    def _evaluating(self, batch: int) -> Iterator[None]:
        """Switch dropout off and small batches to one thread; leave the model and torch as they were."""
        training, threads = self.model.training, torch.get_num_threads()
        self.model.eval()
        torch.set_num_threads(1 if batch <= ONE_THREAD else threads)
        try:
            yield
        finally:
            self.model.train(training)
            torch.set_num_threads(threads)

    def _ids(self, rows: list[list[int]]) -> Tensor:
        return torch.tensor(rows, device=self.model.mask.device)
