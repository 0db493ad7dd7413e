"""The causal language model behind most baselines, which differ only in their text format.

A method may change question and reply (the plain sum by default), how the reply is parsed, and the position of each
token. The rest is shared: the layers of network/model.py with a causal mask, AdamW with warm-up and cosine decay,
cross-entropy on the reply.

Shapes: B batch, L positions, D width, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import ClassVar, Final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from alga.network.config import ModelConfig
from alga.network.model import Cache, Layer
from alga.research.baselines.contract import Attempt, Baseline, Learned, Problem, Scale
from alga.research.baselines.problems import added, draw
from alga.tasks.numbers import DIGITS

PADDING: Final = "<pad>"
END: Final = "<end>"
MAX_POSITIONS: Final = 4096  # of sinusoids
PLACES: Final = 512  # learned position embeddings, for methods that have them
GENERATION_BATCH: Final = 64  # problems generated in a batch
FINAL_RATE: Final = 0.1  # of the highest rate, at the end
WARMUP: Final = 0.05  # of all steps
BETAS: Final = (0.8, 0.99)  # short memories learn faster here, as in the recipe `fast` of 0.1

Tokens = list[str]


class CausalTransformer(nn.Module):
    """A decoder-only Transformer; positions have `rows` learned embeddings or, if 0, sinusoids."""

    def __init__(self, config: ModelConfig, rows: int) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(config.vocabulary, config.width)
        self.place_embedding = nn.Embedding(rows, config.width) if rows else None
        self.sinusoids: Tensor
        self.register_buffer("sinusoids", _sinusoids(config.width), persistent=False)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        self.head = nn.Linear(config.width, config.vocabulary, bias=False)
        for embedding in (self.token_embedding, self.place_embedding):
            if embedding is not None:
                nn.init.normal_(embedding.weight, std=0.02 if rows else 0.5)

    def forward(self, ids_BL: Tensor, places_BL: Tensor, cache: Cache | None = None) -> Tensor:
        """Return the next token's logits at every position."""
        past = cache[0][0].shape[2] if cache else 0
        end = past + ids_BL.shape[1]
        where = self.sinusoids[places_BL] if self.place_embedding is None else self.place_embedding(places_BL)
        x_BLD = self.token_embedding(ids_BL) + where
        mask_LL = torch.full((end, end), -math.inf, device=ids_BL.device).triu(1)[past:]
        kept: Cache = []
        for i, layer in enumerate(self.layers):
            x_BLD, keys_and_values = layer(x_BLD, mask_LL, 0, cache[i] if cache else None)
            kept.append(keys_and_values)
        if cache is not None:
            cache[:] = kept
        logits: Tensor = self.head(self.norm(x_BLD))
        return logits


class Language(Baseline):
    """A baseline that writes a sum as text and lets a language model complete it."""

    vocabulary: ClassVar[tuple[str, ...]] = (*DIGITS, "+", "=")
    rows: int = 0  # learned position embeddings; 0: sinusoids
    offsets: ClassVar[int] = 0  # largest random shift of positions in training
    whole: ClassVar[bool] = False  # whether the loss includes the question

    def __init__(self, scale: Scale, rate: float, seed: int) -> None:
        super().__init__(scale, rate, seed)
        self.tokens = (PADDING, END, *self.vocabulary)
        self.ids = {token: i for i, token in enumerate(self.tokens)}
        config = ModelConfig(
            vocabulary=len(self.tokens), input_length=1, output_length=1, width=scale.width, heads=scale.heads,
            layers=scale.layers, hidden=scale.hidden, dropout=0.0,
        )  # fmt: skip
        longest = ["9" * scale.digits] * 2
        if self.rows:  # enough for twice the training length
            self.rows = max(self.rows, 2 * len([*self.question(*longest), *self.reply(*longest), END]))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.network = CausalTransformer(config, self.rows).to(scale.device)
        self.rng = Random(seed)

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

    def moved(self, places: list[int]) -> list[int]:
        """Shift the positions of a training example by one random offset; position 0 stays."""
        offset = self.rng.randrange(self.offsets + 1) if self.offsets else 0
        return [place + offset if place else 0 for place in places] if offset else places

    def example(self) -> tuple[Tokens, Tokens]:
        """Draw a question and its reply for training."""
        problem = draw(self.rng, self.scale.digits)
        return self.question(*problem), self.reply(*problem)

    @property
    def parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.network.parameters())

    def train(self) -> Learned:
        scale = self.scale
        weights = list(self.network.parameters())
        optimizer = torch.optim.AdamW(weights, lr=self.rate, betas=BETAS, weight_decay=0.01, fused=True)
        examples = tokens = steps = 0
        self.network.train()
        while tokens < scale.tokens:
            ids_BL, places_BL, learned_BL = self._batch(scale.batch_tokens)
            for group in optimizer.param_groups:
                group["lr"] = self.rate * _schedule(tokens / scale.tokens)
            logits_BLV = self.network(ids_BL[:, :-1], places_BL[:, :-1])
            targets_BL = ids_BL[:, 1:].masked_fill(~learned_BL[:, 1:], -1)
            loss = F.cross_entropy(logits_BLV.flatten(0, 1), targets_BL.flatten(), ignore_index=-1)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
            examples, tokens, steps = examples + len(ids_BL), tokens + ids_BL.numel(), steps + 1
        self.network.eval()
        return Learned(examples, tokens, steps)

    def _batch(self, size: int) -> tuple[Tensor, Tensor, Tensor]:
        """Draw examples up to `size` tokens; return ids, positions, and which tokens are in the loss."""
        rows: list[tuple[Tokens, list[int], list[bool]]] = []
        longest = 0
        while True:
            question, reply = self.example()
            text = [*question, *reply, END]
            longest = max(longest, len(text))
            if rows and longest * (len(rows) + 1) > size:
                break
            learned = [self.whole] * len(question) + [True] * (len(reply) + 1)
            rows.append((text, self.moved(self.places(text)), learned))
        texts, places, learned_rows = zip(*rows, strict=True)
        ids = [[self.ids[token] for token in text] for text in texts]
        return self._tensor(ids), self._tensor(places), self._tensor(learned_rows).bool()

    def _tensor(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Return rows as a tensor, padded with zeros to the longest."""
        width = max(map(len, rows))
        return torch.tensor([[*row, *[0] * (width - len(row))] for row in rows], device=self.scale.device)

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
            chosen = self.network(ids_BL, places_BL, cache)[:, -1].argmax(dim=-1).tolist()
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


def _schedule(done: float) -> float:
    """Return the learning rate as a fraction of its maximum, at a fraction of the training."""
    if done < WARMUP:
        return max(done, 1e-3) / WARMUP
    return FINAL_RATE + (1 - FINAL_RATE) * (1 + math.cos(math.pi * (done - WARMUP) / (1 - WARMUP))) / 2


def _sinusoids(width: int) -> Tensor:
    """Return the sinusoidal position embeddings of Vaswani et al. 2017."""
    place_L1 = torch.arange(MAX_POSITIONS).unsqueeze(1)
    rate_D = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
    waves_LD = torch.zeros(MAX_POSITIONS, width)
    waves_LD[:, 0::2] = torch.sin(place_L1 * rate_D)
    waves_LD[:, 1::2] = torch.cos(place_L1 * rate_D)
    return waves_LD
