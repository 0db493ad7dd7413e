"""Situations -> tokens, and questions -> their continuation: greedy generation by a reader.

Both run the same compiled code. A situation is evaluated as if nothing else were in the text: the certificate bounds
what the rest can change. A torch module runs in torch if it has hooks or replaced parts, or several layers; it then
attends to the whole text at every token.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from alga.base.errors import AlgaError
from alga.network.compiled_reader import CompiledReader, Ids
from alga.network.decoder import GreedyDecoder, Reading, Source
from alga.network.reader_config import ReaderConfig
from alga.network.step import Step
from alga.network.texts import Texts
from alga.tasks.whole import NEXT, OWN

if TYPE_CHECKING:
    from torch import Tensor

    from alga.network.reader import Reader
    from alga.network.reader_module import ReaderModule

PLACES_AT_ONCE: Final = 4096  # between two calls of `watch`


@dataclass(frozen=True)
class Written:
    """The continuation of a question, with the margin of each of its tokens."""

    text: str
    margins: NDArray[np.float64]


@dataclass(frozen=True)
class Look:
    """What one token attended to: the weight of each token of the text so far, and of the sink, by each head."""

    text: str
    distances: Ids  # tokens
    weights: NDArray[np.float64]  # heads x tokens
    sinks: NDArray[np.float64]  # heads

    def at(self, distance: int) -> str:
        """Return the tokens at one distance."""
        return " ".join(
            token for token, there in zip(self.text, self.distances.tolist(), strict=True) if there == distance
        )

    def shares(self) -> list[dict[str, float]]:
        """Return for each head how much of its attention lies at the own place, the next, elsewhere and nowhere."""
        found = []
        for weights, sink in zip(self.weights, self.sinks, strict=True):
            own, after = (float(weights[self.distances == distance].sum()) for distance in (OWN, NEXT))
            outside = float(weights[(self.distances != OWN) & (self.distances != NEXT)].sum())
            found.append({"own": own, "next": after, "elsewhere": outside, "nothing": float(sink)})
        return found


class ReaderDecoder(GreedyDecoder["ReaderConfig", "Reader", "ReaderModule"]):
    """Greedy generation by one reader."""

    def __init__(self, source: Source[ReaderConfig, Reader], texts: Texts) -> None:
        super().__init__(source)
        self.tokens = texts

    def __call__(self, prompts: Sequence[str]) -> list[Step]:
        """Write the token of each situation."""
        compiled = self._compiled()
        if compiled is None:
            return self.by_torch(prompts)
        ids, margins = compiled.situations(*self.tokens.situations(prompts)) if prompts else ([], [])
        return self._steps(prompts, ids, margins)

    def by_torch(self, prompts: Sequence[str]) -> list[Step]:
        """Write the token of each situation by the torch module: for a second check, and for altered networks."""
        ids, margins = self._module.situations(*self._situations(prompts)) if prompts else ([], [])
        return self._steps(prompts, ids, margins)

    def logits(self, texts: Sequence[str], gradients: bool = False) -> Tensor:
        """Return the next token's logits at every position of texts that have as many tokens."""
        if len({*map(len, texts)}) > 1:
            raise AlgaError("expected texts of one length, got different lengths")
        kinds_BL, places_BL = (np.array([*map(part, texts)]) for part in (self.tokens.kinds, self.tokens.places))
        return self._module.logits(kinds_BL, places_BL, gradients)

    def read(self, steps: Sequence[Step]) -> Reading:
        """Run the torch module once over situations, so that hooks see them; the last position writes."""
        from alga.network.reader_module import places_of

        kinds_BN, distances_BN = self._situations([step.prompt for step in steps])
        self._module.logits(kinds_BN, places_of(kinds_BN, distances_BN))
        written_BN = np.full(kinds_BN.shape, -1)
        written_BN[:, -1] = [self.tokens.ids[step.text] for step in steps]
        return Reading(kinds_BN >= 0, written_BN)

    def _situations(self, prompts: Sequence[str]) -> tuple[Ids, Ids]:
        """Return the tokens of situations in rows of one width, so that hooks find the same position in any batch."""
        return self.tokens.situations(prompts, self.tokens.most_seen)

    def continued(self, question: str, limit: int, watch: Callable[[int], None] = lambda _: None) -> Written:
        """Continue a question until the stop token, or for `limit` tokens; `watch` is told how many there are."""
        compiled = self._compiled()
        kinds, places = self.tokens.kinds(question), self.tokens.places(question)
        answer = np.full(limit + 1, kinds[-1])
        margins: list[NDArray[np.float64]] = []
        before = kinds[:-1], places[:-1]  # without `=`, which begins the answer
        order = np.argsort(before[1], kind="stable")
        by_place = before[0][order], np.searchsorted(before[1][order], np.arange(int(places.max()) + 2))
        written, size = 0, len(self.tokens.vocabulary)
        while written < limit and not (written and answer[written] == self.tokens.stop + size):
            end = min(limit, written + PLACES_AT_ONCE)
            if compiled is not None:
                margins.append(compiled.continue_text(by_place, answer, written, end, self.tokens.stop))
            else:
                margins.append(self._module.continue_text(*before, answer, written, end, self.tokens.stop))
            written += len(margins[-1])
            watch(written)
        self.network_calls += written
        text = "".join(self.tokens.vocabulary[kind - size] for kind in answer[1 : written + 1].tolist())
        return Written(text, np.concatenate(margins))

    def look(self, text: str, at: int) -> Look:
        """Return what the token at an index of a text attends to in the first layer, over the whole text before it."""
        seen = text[: at + 1]
        kinds, places = self.tokens.kinds(seen), self.tokens.places(seen)
        scores_HM = self._scores(kinds, places)
        raised = np.exp(scores_HM - scores_HM.max(axis=-1, keepdims=True))
        shares = raised / raised.sum(axis=-1, keepdims=True)
        return Look(seen, places - places[-1], shares[:, :-1], shares[:, -1])

    def _scores(self, kinds: Ids, places: Ids) -> NDArray[np.float64]:
        compiled = self._compiled()
        distances = places - places[-1]
        return self._module.scores(kinds, places) if compiled is None else compiled.scores(kinds, distances)

    def _compiled(self) -> CompiledReader | None:
        if self._source.opened is None and self._source.shape.layers == 1:
            return self._plain
        return self._module.compiled()

    @cached_property
    def _plain(self) -> CompiledReader:
        """The stored network in compiled code: it runs while there is no torch module."""
        return CompiledReader(self._source.arrays, self._source.shape)

    def _worked(self, model: Reader) -> ReaderModule:
        from alga.network.reader_module import ReaderModule

        return ReaderModule(model, self._source.shape)

    def _steps(self, prompts: Sequence[str], ids: Sequence[int], margins: Sequence[float]) -> list[Step]:
        self.network_calls += len(prompts)
        texts = (self.tokens.vocabulary[i] for i in ids)
        return [Step(prompt, text, text, margin) for prompt, text, margin in zip(prompts, texts, margins, strict=True)]
