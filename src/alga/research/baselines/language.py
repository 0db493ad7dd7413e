"""The causal language model behind most baselines, which differ mainly in their text format.

A method may change question and reply (the plain sum by default), how the reply is parsed, the position of each token,
and the variant of the network. The rest is shared: AdamW, the learning rate's schedule, cross-entropy on the reply, and
the end of training (checks.py).

Shapes: B batch, L positions, V vocabulary.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from random import Random
from typing import ClassVar, Final

import torch
from torch import Tensor
from torch.nn import functional as F

from alga.network.model import Cache
from alga.research.baselines.checks import Checks
from alga.research.baselines.contract import Attempt, Baseline, Learned, Problem, Scale
from alga.research.baselines.packing import Batch, Text, packed
from alga.research.baselines.problems import added, draw, validation
from alga.research.baselines.transformer import MAX_POSITIONS, CausalTransformer, Shape
from alga.tasks.numbers import DIGITS

PADDING: Final = "<pad>"
END: Final = "<end>"
PLACES: Final = 512  # learned position embeddings, for methods that have them
GENERATION_BATCH: Final = 64  # problems generated in a batch
WARMUP: Final = 250_000  # tokens until the full rate
FULL_RATE: Final = 2_000_000  # tokens from which on the rate falls with their square root
VALIDATION_BATCH: Final = 64  # texts in a pass of the validation
MEASURED: Final = 1000  # examples drawn to know their mean length
BETAS: Final = (0.8, 0.99)  # short memories learn faster here, as in the recipe `fast` of 0.1

Tokens = list[str]


class Language(Baseline):
    """A baseline that writes a sum as text and lets a language model complete it."""

    version: ClassVar[int] = 2  # packed texts; training ends by validation
    vocabulary: ClassVar[tuple[str, ...]] = (*DIGITS, "+", "=")
    rows: int = 0  # learned position embeddings; 0: sinusoids
    offsets: ClassVar[float] = 0  # largest random shift of positions in training, in training lengths
    reaches: ClassVar[float] = 0  # the same, as the largest position: shorter sums are shifted further
    whole: ClassVar[bool] = False  # whether the loss includes the question
    loops: ClassVar[int] = 1  # times the layers are applied
    gated: ClassVar[bool] = False  # gated hidden units
    both_norms: ClassVar[bool] = False  # RMSNorm before and after each part
    spread: ClassVar[float] = 0.02  # of embeddings at first, beside learned positions
    betas: ClassVar[tuple[float, float]] = BETAS
    weight_decay: ClassVar[float] = 0.01

    def __init__(self, scale: Scale, rate: float, seed: int) -> None:
        super().__init__(scale, rate, seed)
        self.tokens = (PADDING, END, *self.vocabulary)
        self.ids = {token: i for i, token in enumerate(self.tokens)}
        longest = ["9" * scale.digits] * 2
        text = [*self.question(*longest), *self.reply(*longest), END]
        self.most_offset, self.reach = round(self.offsets * scale.digits), round(self.reaches * scale.digits)
        if self.most_offset or self.reach:
            self.rows = max(self.reach, max(self.places(text)) + self.most_offset) + 1
        elif self.rows:  # enough for twice the training length
            self.rows = max(self.rows, 2 * len(text))
        shape = Shape(
            vocabulary=len(self.tokens), rows=self.rows, width=scale.width, heads=scale.heads, layers=scale.layers,
            hidden=scale.hidden, loops=self.loops, gated=self.gated, both_norms=self.both_norms,
            spread=self.spread,
        )  # fmt: skip
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.network = CausalTransformer(shape).to(scale.device)
        self.rng = Random(-1)
        lengths = [sum(map(len, self.example())) + 1 for _ in range(MEASURED)]
        self.batch_size = max(1, round(scale.batch_tokens * MEASURED / sum(lengths)))  # the same for all seeds
        self.rng = Random(seed)
        self._at_pass: dict[str, Tensor] | None = None

    def question(self, first: str, second: str) -> Tokens:
        """Return the tokens of the question."""
        return [*first, "+", *second, "="]

    def reply(self, first: str, second: str) -> Tokens:
        """Return the tokens that the network should write, including any scratchpad."""
        return [*added(first, second)]

    def read(self, reply: Tokens) -> str | None:
        """Parse the answer from a reply; None if there is none. Leading zeros stay, and count as wrong."""
        text = "".join(reply)
        return text if text and set(text) <= set(DIGITS) else None

    def places(self, tokens: Tokens) -> list[int]:
        """Return each token's position: 0, 1, 2 … by default."""
        return list(range(len(tokens)))

    def offset(self, places: Sequence[int]) -> int:
        """Draw how far the positions of a training example are shifted; position 0 stays."""
        most = self.reach - max(places) if self.reach else self.most_offset
        return self.rng.randint(0, most) if most > 0 else 0

    def example(self) -> tuple[Tokens, Tokens]:
        """Draw a question and its reply for training."""
        problem = draw(self.rng, self.scale.digits)
        return self.question(*problem), self.reply(*problem)

    def held_out(self) -> list[tuple[Tokens, Tokens]]:
        """Return the questions and replies that end the training once all are right."""
        problems = validation(self.seed, self.scale.digits)
        return [(self.question(*problem), self.reply(*problem)) for problem in problems]

    @property
    def parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.network.parameters())

    def train(self) -> Learned:
        scale = self.scale
        weights = list(self.network.parameters())
        optimizer = torch.optim.AdamW(
            weights, lr=self.rate, betas=self.betas, weight_decay=self.weight_decay, fused=True
        )
        checks = Checks(scale, ends=not self.trains_on)
        examples = tokens = steps = 0
        held_out = [self._text(question, reply, 0, len(question)) for question, reply in self.held_out()]
        self.network.train()
        while not checks.ended(tokens):
            batch = self._batch()
            for group in optimizer.param_groups:
                group["lr"] = self.rate * schedule(tokens, checks.settling)
            loss = F.cross_entropy(self._logits(batch), batch.targets_N)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
            examples, tokens, steps = examples + self.batch_size, tokens + batch.tokens, steps + 1
            if checks.due(tokens) and checks.add(tokens, self._right(held_out), len(held_out)):
                self._at_pass = copy.deepcopy(self.network.state_dict())
        self.network.eval()
        return Learned(examples, tokens, steps, checks.passed, checks.curve)

    def rewind(self) -> bool:
        if self._at_pass is None or not self.trains_on:
            return False
        self.network.load_state_dict(self._at_pass)
        return True

    def _logits(self, batch: Batch) -> Tensor:
        logits_NV: Tensor = self.network(batch.ids_BL, batch.places_BL, batch.mask, chosen_N=batch.chosen_N)
        return logits_NV

    def _batch(self) -> Batch:
        """Draw a batch for training."""
        texts = []
        for _ in range(self.batch_size):
            question, reply = self.example()
            offset = self.offset(self.places([*question, *reply]))
            texts.append(self._text(question, reply, offset, 0 if self.whole else len(question)))
        return packed(texts, self.scale.device)

    def _text(self, question: Tokens, reply: Tokens, offset: int, learned: int) -> Text:
        tokens = [*question, *reply, END]
        places = [place + offset if place else 0 for place in self.places(tokens)]
        return Text([self.ids[token] for token in tokens], places, learned)

    @torch.inference_mode()
    def _right(self, texts: Sequence[Text]) -> int:
        """Count the texts whose every learned token has the largest logit: those that greedy generation would write."""
        right = 0
        for start in range(0, len(texts), VALIDATION_BATCH):
            batch = packed(texts[start : start + VALIDATION_BATCH], self.scale.device)
            wrong = self._logits(batch).argmax(dim=-1) != batch.targets_N
            right += int(batch.texts_N.max()) + 1 - len({*batch.texts_N[wrong].tolist()})
        return right

    def _tensor(self, rows: Sequence[Sequence[int]]) -> Tensor:
        return torch.tensor(rows, device=self.scale.device)

    def answer(self, problems: Sequence[Problem]) -> list[Attempt]:
        attempts = []
        for start in range(0, len(problems), GENERATION_BATCH):
            some = problems[start : start + GENERATION_BATCH]
            longest = max(len(self.reply(*problem)) for problem in some) + 8  # in case it writes no `<end>`
            written = self.generate([self.question(*problem) for problem in some], longest)
            attempts += [
                Attempt(self.read(reply[:-1]) if reply[-1:] == [END] else None, "".join(reply)) for reply in written
            ]
        return attempts

    @torch.inference_mode()
    def generate(self, questions: Sequence[Tokens], longest: int) -> list[Tokens]:
        """Decode greedily from each question, until `<end>` or `longest` tokens."""
        replies: list[Tokens] = [[] for _ in questions]
        for length in {len(question): None for question in questions}:
            group = [i for i, question in enumerate(questions) if len(question) == length]
            self._generate([questions[i] for i in group], [replies[i] for i in group], longest)
        return replies

    def _generate(self, questions: Sequence[Tokens], replies: Sequence[Tokens], longest: int) -> None:
        """Decode from questions of equal length into `replies`."""
        cache: Cache = []
        rows = list(range(len(questions)))
        ids_BL = self._tensor([[self.ids[token] for token in question] for question in questions])
        places_BL = self._tensor([self.places(question) for question in questions])
        for _ in range(longest):
            if int(places_BL.max()) >= (self.rows or MAX_POSITIONS):
                return  # out of positions
            chosen = self.network(ids_BL, places_BL, cache=cache)[:, -1].argmax(dim=-1).tolist()
            for row, token in zip(rows, chosen, strict=True):
                replies[row].append(self.tokens[token])
            going = [i for i, row in enumerate(rows) if replies[row][-1] != END]
            if not going:
                return
            if len(going) < len(rows):
                cache[:] = [(keys[going], values[going]) for keys, values in cache]
                rows = [rows[i] for i in going]
            ids_BL = self._tensor([[self.ids[replies[row][-1]]] for row in rows])
            places_BL = self._tensor([[self.places([*questions[row], *replies[row]])[-1]] for row in rows])


def schedule(tokens: int, settling: tuple[int, int]) -> float:
    """Return the learning rate as a fraction of its maximum after so many tokens; it falls to zero while settling.

    >>> settling = 30_000_000, 40_000_000
    >>> [round(schedule(millions * 1_000_000, settling), 3) for millions in (0, 1, 8, 30, 35, 40)]
    [0.01, 1.0, 0.5, 0.258, 0.12, 0.0]
    """
    fraction = min(max(tokens / WARMUP, 0.01), 1.0, math.sqrt(FULL_RATE / max(tokens, 1)))
    start, end = settling
    return fraction if tokens <= start else fraction * max(0, end - tokens) / (end - start)
