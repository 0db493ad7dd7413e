"""The proof for a reader: the margins of every situation, less all that the rest of a text of any length can change.

Queries, keys and values belong to kinds of tokens, so they are bounded once. Each situation is then evaluated as if
nothing else were in the text, as `margins.py` evaluates a prompt; what lies outside its two columns moves the mix of a
head by exactly share · (mean of outside values - mix), and `outside.py` bounds the share. docs/whole.md has the lemma.

Shapes: A number formats, B situations, N tokens of a situation and the sink, K kinds, D width, E width of a head.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np

from alga.base.errors import AlgaError
from alga.base.progress import Watch, unwatched
from alga.network.reader_canonical import full_form
from alga.network.reader_config import ReaderConfig
from alga.network.texts import Texts
from alga.tasks.whole import PLUS
from alga.trust.assumptions import EXP_UNITS, TEXT_VERSION
from alga.trust.certificate import Bound, Outside, Proof
from alga.trust.proof import lemmas
from alga.trust.proof.bounds import FORMATS, SLACK, Array, Ids, lengths, norms
from alga.trust.proof.lemmas import Ball
from alga.trust.proof.outside import MOST_OUTSIDE, Distances, Kinds, outside_shares, terms
from alga.trust.proof.parameters import Affine
from alga.trust.proof.rounding import Rounding, SoftmaxRounding

SITUATIONS_PER_BATCH: Final = 256

Weights = Mapping[str, Array]


def prove_reader(
    texts: Texts, shape: ReaderConfig, weights: Weights, watch: Watch = unwatched, threads: int | None = None
) -> Proof:
    """Bound the margins of all situations, in texts of any length."""
    if shape.layers != 1:
        raise AlgaError(f"a reader of {shape.layers} layers cannot be proven: its situations reach further")
    prompts = list(texts.task.domain)
    with np.errstate(all="ignore"):  # overflow gives inf or NaN, which prove nothing
        bounds = ReaderBounds(texts, shape, weights)
    least, outside, done = [(math.inf, "")] * len(FORMATS), Outside(0.0, 0, ""), 0
    chunks = [prompts[start : start + SITUATIONS_PER_BATCH] for start in range(0, len(prompts), SITUATIONS_PER_BATCH)]
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        for chunk, (found_AB, share_HB) in zip(chunks, pool.map(bounds.margins, chunks), strict=True):
            for i, row in enumerate(found_AB):
                at = int(row.argmin())
                least[i] = min(least[i], (float(row[at]), chunk[at]))
            head, at = (int(i) for i in np.unravel_index(share_HB.argmax(), share_HB.shape))
            if share_HB[head, at] >= outside.share:
                outside = Outside(float(share_HB[head, at]), head, chunk[at])
            watch(done := done + len(chunk), len(prompts))
    found = [
        Bound(each.name, margin if math.isfinite(margin) else None, prompt)
        for each, (margin, prompt) in zip(FORMATS, least, strict=True)
    ]
    return Proof(assumptions=TEXT_VERSION, bounds=tuple(found), outside=None if shape.window else outside)


@dataclass(frozen=True)
class _Mapped:
    """The queries, keys or values of all kinds: midpoints, rounding errors, total errors, and their map."""

    mid_KD: Array
    own_AKD: Array
    off_AKD: Array
    matrix: Array

    def part(self, rows: Ids, columns: slice) -> tuple[Array, Array, Array]:
        return self.mid_KD[rows][..., columns], self.own_AKD[:, rows][..., columns], self.off_AKD[:, rows][..., columns]


class ReaderBounds:
    """Bounds on what a reader of one layer writes in each situation."""

    def __init__(self, texts: Texts, shape: ReaderConfig, stored: Weights) -> None:
        weights = {name: np.asarray(array, np.float64) for name, array in full_form(stored, shape).items()}
        self.texts, self.shape, self.weights, self.rounding = texts, shape, weights, Rounding(FORMATS)
        tokens, parts = weights["token_embedding.weight"], weights["part_embedding.weight"]
        V = len(tokens)
        self.x = lemmas.embedding(np.tile(tokens, (2, 1))[None], np.repeat(parts, V, axis=0), self.rounding)
        self.y = self._normed(self.x, "layers.0.attention_norm")
        whole = self._affine("attention.project_in")
        D = shape.width
        q, k, v = (Affine(whole.matrix[at : at + D], whole.bias[at : at + D]) for at in range(0, 3 * D, D))
        self.q, self.k, self.v = (self._mapped(*each) for each in ((q, 6), (k, 6), (v, 2)))
        self.out = self._affine("attention.project_out")
        scoring = (weights[f"layers.0.attention.{name}"] for name in ("distances", "slopes", "sinks"))
        self.distances = [Distances(near, slopes, float(sink)) for near, slopes, sink in zip(*scoring, strict=True)]
        digits = np.array([texts.ids[digit] for digit in texts.task.digits])
        self.question = np.append(digits, texts.ids[PLUS])
        self.answer = V + np.array([i for token, i in texts.ids.items() if token not in (PLUS, texts.vocabulary[-1])])

    def margins(self, prompts: list[str]) -> tuple[Array, Array]:
        """Return lower bounds of margins (formats x situations), and bounds of each head's attention outside."""
        kinds_BN, distances_BN = self.texts.situations(prompts)
        domain = self.texts.task.domain
        right_B1 = np.array([[self.texts.ids[domain[prompt].output]] for prompt in prompts])
        with np.errstate(all="ignore"):
            x, share_HB = self._attended(kinds_BN, distances_BN)
            y = self._normed(x, "layers.0.feed_forward_norm")
            first, second = (self._affine(f"feed_forward.{place}") for place in (0, 2))
            x = lemmas.feed_forward(x, y, first, second, self.rounding)
            y = self._normed(x, "final_norm")
            mid_B1V, off_AB1V = lemmas.margins(y, self.weights["head.weight"], right_B1, self.rounding)
        is_right_B1V = np.arange(mid_B1V.shape[-1]) == right_B1[..., None]
        found = np.where(is_right_B1V, np.inf, mid_B1V - off_AB1V)
        least: Array = np.nan_to_num(found, nan=-np.inf, posinf=np.inf, neginf=-np.inf).min(axis=-1)[..., 0]
        return least, share_HB

    def _attended(self, kinds_BN: Ids, distances_BN: Ids) -> tuple[Ball, Array]:
        """Return each situation's writing token after attention, and the shares of each head's attention outside."""
        query_B, there_BN, rows_BN = kinds_BN[:, -1], kinds_BN >= 0, np.maximum(kinds_BN, 0)
        B, A, D = len(kinds_BN), len(FORMATS), self.shape.width
        x = Ball(self.x.mid_BLD[0, query_B][:, None], self.x.scale_D, self.x.radius_ABL[:, 0, query_B][..., None])
        mixed, own, off = np.zeros((B, 1, D)), np.zeros((A, B, 1, D)), np.zeros((A, B, 1, D))
        moved_AB1, share_HB = np.zeros((A, B, 1)), np.zeros((self.shape.heads, B))
        radius_AK = self.y.radius_ABL[:, 0]
        for head, distances in enumerate(self.distances):
            e = slice(head * (D // self.shape.heads), (head + 1) * (D // self.shape.heads))
            added_BN = np.where(there_BN, distances.inside(np.where(there_BN, distances_BN, 0)), -np.inf)
            bias_B1N = np.append(added_BN, np.full((B, 1), distances.sink), axis=1)[:, None]
            query = self.q.part(query_B[:, None], e)
            keys, values = (_with_sink(*each.part(rows_BN, e)) for each in (self.k, self.v))
            seen_ABN = np.append(radius_AK[:, rows_BN], np.zeros((A, B, 1)), axis=-1)
            kinds, softmax, inside_B = self._outside(e, distances, query[0], keys[0], bias_B1N)
            mixed[..., e], own[..., e], off[..., e], moved = lemmas.head_mix(
                (*query, radius_AK[:, query_B][..., None], self.q.matrix[e] * self.y.scale_D),
                (*keys, seen_ABN, self.k.matrix[e] * self.y.scale_D),
                (*values, self.v.matrix[e] * self.y.scale_D, self.out.matrix[:, e]),
                bias_B1N, softmax, self.rounding,
            )  # fmt: skip
            moved_AB1 += moved
            if self.shape.window:
                continue
            share_AB = outside_shares(kinds, distances, query_B - self.shape.vocabulary, inside_B, self._arity)
            share_HB[head] = share_AB[0]
            moved_AB1[..., 0] += self._moved_by_outside(share_AB, e, mixed[:, 0, e], off[:, :, 0, e], softmax)
            off[:, :, 0, e] += share_AB[..., None] * (np.abs(self.v.mid_KD[:, e]).max(axis=0) + np.abs(mixed[:, 0, e]))
        return lemmas.added(x, (mixed, own, off), moved_AB1, self.out, self.rounding), share_HB

    def _outside(
        self, e: slice, distances: Distances, q_B1E: Array, k_BNE: Array, bias_B1N: Array
    ) -> tuple[Kinds, SoftmaxRounding, Array]:
        """Return a head's scores by content, the rounding of its softmax, and log of each situation's whole weight."""
        root, V = 1 / math.sqrt(e.stop - e.start), self.shape.vocabulary
        scores_B1N = (q_B1E * root) @ k_BNE.swapaxes(1, 2) + bias_B1N
        top_B = scores_B1N.max(axis=-1)[:, 0]
        inside_B = top_B + np.log(np.exp(scores_B1N - top_B[:, None, None]).sum(axis=-1)[:, 0])
        q, k = self.q.mid_KD[V:, e], self.k.mid_KD[:, e]
        q_off, k_off = (lengths(each.off_AKD[..., e]).max(axis=-1) for each in (self.q, self.k))
        size_q, size_k = float(lengths(q).max()), float(lengths(k).max())
        off = (q_off * (size_k + k_off) + k_off * size_q) * root
        rounded = (e.stop - e.start + 100) * self.rounding.unit[:, 0, 0]
        off = off + rounded * (size_q * size_k * root + np.abs(distances.near).max() + abs(distances.sink) + 1)
        kinds = Kinds(q @ k.T * root, off * SLACK, self.question, self.answer)
        if self.shape.window:
            inside = 2 * self._arity + 2
            return kinds, SoftmaxRounding(EXP_UNITS, np.full((len(FORMATS), 1, 1, 1), inside)), inside_B
        own = kinds.scores[:, V:].diagonal() + distances.near[distances.reach]
        top_Q = np.maximum(own, distances.sink) - off.max()  # every token sees itself and the sink
        count = terms(kinds, distances, top_Q, self._arity)
        return kinds, SoftmaxRounding(EXP_UNITS, count[:, None, None, None]), inside_B

    def _moved_by_outside(
        self, share_AB: Array, e: slice, mixed_BE: Array, off_ABE: Array, softmax: SoftmaxRounding
    ) -> Array:
        """Bound how far the attention outside moves what a head adds to the stream, in each format and situation."""
        out = self.out.matrix[:, e]
        rows = np.concatenate([self.question, self.answer])
        values_KD = self.v.mid_KD[rows][:, e] @ out.T
        mixed_BD = mixed_BE @ out.T
        apart_B = np.max([lengths(values_KD[i] - mixed_BD) for i in range(len(rows))], axis=0)
        size_B = lengths(np.abs(self.v.mid_KD[rows][:, e]) @ np.abs(out).T).max()
        size_B = size_B + lengths(np.abs(mixed_BE) @ np.abs(out).T)
        wrong_AB = norms(out) * (lengths(self.v.off_AKD[:, rows][..., e]).max(axis=-1)[:, None] + lengths(off_ABE))
        # Weights are rounded by less than a hundredth, or nothing is proven; underflow adds less than this.
        tiny_A = 64 * softmax.terms[:, 0, 0, 0] * self.rounding.least[:, 0, 0]
        moved_AB = share_AB * (apart_B + 0.03 * size_B + 2 * wrong_AB) + tiny_A[:, None] * size_B
        return np.where(share_AB < MOST_OUTSIDE, moved_AB * SLACK, np.inf)

    @property
    def _arity(self) -> int:
        return self.texts.task.serves.layout.arity

    def _affine(self, name: str) -> Affine:
        return Affine(self.weights[f"layers.0.{name}.weight"], self.weights[f"layers.0.{name}.bias"])

    def _normed(self, x: Ball, name: str) -> Ball:
        """Return the LayerNorm of a stream, or the stream itself if there are no norms."""
        if self.shape.norms == "none":
            return x
        return lemmas.norm(x, Affine(self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]), self.rounding)

    def _mapped(self, map_: Affine, more: int) -> _Mapped:
        mid, own, off = lemmas.linear(self.y, map_, self.rounding, more)
        return _Mapped(mid[0], own[:, 0], off[:, 0], map_.matrix)


def _with_sink(mid_BNE: Array, own_ABNE: Array, off_ABNE: Array) -> tuple[Array, Array, Array]:
    """Append the sink: a token whose key and value are zero."""

    def longer(array: Array) -> Array:
        nothing = np.zeros((*array.shape[:-2], 1, array.shape[-1]))
        return np.append(array, nothing, axis=-2)

    return longer(mid_BNE), longer(own_ABNE), longer(off_ABNE)
