"""The reader of reader.py in compiled code, one token at a time: this is what its decoder runs.

Queries, keys and values depend on a token and its part only, as there is one layer: they are computed once for each
kind of token. A far token's weight is exp of a number so small that it is exactly zero; such tokens are left out, so
each digit of a sum costs the same, however long the sum.

Shapes: K kinds, N tokens seen, P places, D width, E width of a head, F hidden width, V vocabulary, H heads.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from alga.base.errors import AlgaError
from alga.network.compiled import ZERO, Array, best_two, call, compiled, feed_forward, linear, normalise
from alga.network.reader_canonical import full_form
from alga.network.reader_config import ReaderConfig
from alga.tasks.whole import NEXT, OWN

Ids = NDArray[np.int64]

UNDERFLOW: Final = 105.0  # float32's exp of less than minus this is exactly zero
EVERYTHING: Final = 2**40  # places, if a slope is not positive


class CompiledReader:
    """The weights of a reader of one layer, ready to run."""

    def __init__(self, weights: Mapping[str, Array], config: ReaderConfig) -> None:
        if config.layers != 1:
            raise AlgaError(f"a reader of {config.layers} layers cannot be compiled")
        self.config, D = config, config.width
        layer = "layers.0"
        full = full_form(weights, config)
        maps = [f"attention{part}" for part in ("_norm", ".project_in", ".project_out")]
        maps += [f"feed_forward{part}" for part in ("_norm", ".0", ".2")]
        names = [*(f"{layer}.{map_}" for map_ in maps), "final_norm"]
        order = [f"{name}.{part}" for name in names for part in ("weight", "bias")]
        packed = [full[name].T for name in (*order, "head.weight")]  # linear maps have a row per input
        self._weights = np.concatenate([*map(np.ravel, packed), np.zeros(config.vocabulary)], dtype=np.float32)
        tokens, parts = full["token_embedding.weight"], full["part_embedding.weight"]
        self._x_KD = np.concatenate([tokens + part for part in parts]).astype(np.float32)
        scoring = (full[f"{layer}.attention.{name}"] for name in ("distances", "slopes", "sinks"))
        self._scoring = tuple(np.ascontiguousarray(each, np.float32) for each in scoring)
        self._kept_KD = np.zeros((len(self._x_KD), 3 * D), np.float32)
        self._norms = config.norms == "all"
        self._at = call(map_kinds, self._x_KD, self._weights, self._kept_KD, self._norms)
        self.reaches = (0, NEXT) if config.window else _reaches(self._kept_KD, self._scoring, config)

    def situations(self, kinds_BN: Ids, distances_BN: Ids) -> tuple[list[int], list[float]]:
        """Return the token that is written in each situation, and its margin; NaN if a logit is not finite."""
        ids, margins = call(
            read_situations, kinds_BN, distances_BN, self._x_KD, self._kept_KD, self._weights, self._at,
            *self._scoring, self.config.hidden, self.config.vocabulary, self._norms,
        )  # fmt: skip
        return ids.tolist(), margins.tolist()

    def continue_text(
        self, by_place: tuple[Ids, Ids], answer: Ids, start: int, end: int, stop: int
    ) -> NDArray[np.float64]:
        """Write the tokens of places `start` to `end`, or up to `stop`; return their margins.

        `by_place` holds the question's kinds in order of place, and where each place begins. `answer` holds the kinds
        of the answer part, from `=` on, and is written to.
        """
        kinds, starts = by_place
        margins: NDArray[np.float64] = call(
            write_places, kinds, starts, answer, start, end, stop, *self.reaches, self._x_KD, self._kept_KD,
            self._weights, self._at, *self._scoring, self.config.hidden, self.config.vocabulary, self._norms,
        )  # fmt: skip
        return margins

    def scores(self, kinds_N: Ids, distances_N: Ids) -> NDArray[np.float64]:
        """Return the scores of the last token against all and against the sink, by head (HM), for showing them."""
        near_HR, slopes_H2, sinks_H = (part.astype(np.float64) for part in self._scoring)
        D, reach = self.config.width, self.config.reach
        kept = self._kept_KD[kinds_N].astype(np.float64).reshape(len(kinds_N), 3, self.config.heads, -1)
        content_HN = np.einsum("he,nhe->hn", kept[-1, 0], kept[:, 1]) / math.sqrt(D // self.config.heads)
        below, above = np.maximum(-reach - distances_N, 0), np.maximum(distances_N - reach, 0)
        scores_HN = content_HN + near_HR[:, np.clip(distances_N, -reach, reach) + reach]
        scores_HN = scores_HN - slopes_H2[:, :1] * below - slopes_H2[:, 1:] * above
        if self.config.window:
            scores_HN = np.where((distances_N >= OWN) & (distances_N <= NEXT), scores_HN, -np.inf)
        return np.concatenate([scores_HN, sinks_H[:, None]], axis=1)


def _reaches(kept_KD: Array, scoring: tuple[Array, ...], config: ReaderConfig) -> tuple[int, int]:
    """Return how many places below and above a token can have any weight, in float32, for any text."""
    distances, slopes, sinks = (part.astype(np.float64) for part in scoring)
    width, V = config.width // config.heads, config.vocabulary
    found = [config.reach, config.reach]
    for head in range(config.heads):
        queries, keys = (
            kept_KD[:, at + head * width : at + (head + 1) * width].astype(np.float64) for at in (0, config.width)
        )
        scores = queries[V:] @ keys.T / math.sqrt(width)
        own = scores[:, V:].diagonal() + distances[head, config.reach]
        above_own = scores.max(axis=1) - np.maximum(own, sinks[head])  # a token at least sees itself and the sink
        for side, edge in enumerate((0, -1)):
            fall, slope = float(above_own.max() + distances[head, edge] + UNDERFLOW), float(slopes[head, side])
            steps = math.ceil(max(fall, 0) / slope) + 1 if slope > 0 and fall < slope * EVERYTHING else EVERYTHING
            found[side] = max(found[side], config.reach + steps)
    return found[0], found[1]


@compiled
def map_kinds(x_KD: Array, weights: Array, kept_KD: Array, norms: bool) -> int:
    """Write the query, key and value of every kind of token; return where the weights after that map begin."""
    normed_KD = np.zeros_like(x_KD)
    at = normalise(x_KD, weights, 0, normed_KD, norms)
    return linear(normed_KD, weights, at, kept_KD)


@compiled
def read_situations(
    kinds_BN: Ids,
    distances_BN: Ids,
    x_KD: Array,
    kept_KD: Array,
    weights: Array,
    at: int,
    near_HR: Array,
    slopes_H2: Array,
    sinks_H: Array,
    F: int,
    V: int,
    norms: bool,
) -> tuple[Ids, NDArray[np.float64]]:
    """Return the token written in each situation, and its margin."""
    B, N = kinds_BN.shape
    ids, margins, scores_N = np.empty(B, np.int64), np.empty(B), np.empty(N, np.float32)
    for b in range(B):
        first = 0
        while kinds_BN[b, first] < 0:
            first += 1
        mixed_1D = attend(kept_KD, kinds_BN[b, first:], distances_BN[b, first:], near_HR, slopes_H2, sinks_H, scores_N)
        ids[b], margins[b] = written(x_KD[kinds_BN[b, N - 1]], mixed_1D, weights, at, F, V, norms)
    return ids, margins


@compiled
def write_places(
    kinds_L: Ids,
    starts_P: Ids,
    answer: Ids,
    start: int,
    end: int,
    stop: int,
    below: int,
    above: int,
    x_KD: Array,
    kept_KD: Array,
    weights: Array,
    at: int,
    near_HR: Array,
    slopes_H2: Array,
    sinks_H: Array,
    F: int,
    V: int,
    norms: bool,
) -> NDArray[np.float64]:
    """Write the tokens after those at places `start` to `end` into `answer`; return their margins up to the stop."""
    margins, places = np.empty(end - start), len(starts_P) - 1
    most = len(kinds_L) + len(answer)
    kinds_N, distances_N, scores_N = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.float32)
    for place in range(start, end):
        count = 0
        for there in range(max(0, place - below), min(places, place + above + 1)):
            for i in range(starts_P[there], starts_P[there + 1]):
                kinds_N[count], distances_N[count] = kinds_L[i], there - place
                count += 1
        for there in range(max(0, place - below), place + 1):
            kinds_N[count], distances_N[count] = answer[there], there - place
            count += 1
        mixed_1D = attend(kept_KD, kinds_N[:count], distances_N[:count], near_HR, slopes_H2, sinks_H, scores_N)
        token, margins[place - start] = written(x_KD[answer[place]], mixed_1D, weights, at, F, V, norms)
        answer[place + 1] = token + V
        if token == stop:
            return margins[: place - start + 1]
    return margins


@compiled
def attend(
    kept_KD: Array, kinds_N: Ids, distances_N: Ids, near_HR: Array, slopes_H2: Array, sinks_H: Array, scores_N: Array
) -> Array:
    """Return the attention of the last token over all that it sees; rows of `kept_KD` are queries, keys and values."""
    D, H = kept_KD.shape[1] // 3, len(sinks_H)
    E, reach = D // H, near_HR.shape[1] // 2
    mixed_1D, N = np.zeros((1, D), np.float32), len(kinds_N)
    query_D = kept_KD[kinds_N[N - 1], :D]
    for head in range(H):
        e = head * E
        largest = sinks_H[head]
        for j in range(N):
            key_D, score, distance = kept_KD[kinds_N[j], D : 2 * D], ZERO, distances_N[j]
            for i in range(e, e + E):
                score += query_D[i] * key_D[i]
            bias = near_HR[head, min(max(distance, -reach), reach) + reach]
            if distance < -reach:
                bias -= slopes_H2[head, 0] * np.float32(-reach - distance)
            elif distance > reach:
                bias -= slopes_H2[head, 1] * np.float32(distance - reach)
            scores_N[j] = score / np.float32(np.sqrt(E)) + bias
            largest = max(largest, scores_N[j])
        total = np.float32(math.exp(sinks_H[head] - largest))
        for j in range(N):
            value_D, weight = kept_KD[kinds_N[j], 2 * D :], np.float32(math.exp(scores_N[j] - largest))
            total += weight
            for i in range(e, e + E):
                mixed_1D[0, i] += weight * value_D[i]
        for i in range(e, e + E):
            mixed_1D[0, i] /= total
    return mixed_1D


@compiled
def written(x_D: Array, mixed_1D: Array, weights: Array, at: int, F: int, V: int, norms: bool) -> tuple[int, float]:
    """Return the token that a position writes, given its embedding and the mix of its heads, and the margin."""
    x_1D, normed_1D = np.zeros_like(mixed_1D), np.zeros_like(mixed_1D)
    x_1D[0] = x_D
    at = linear(mixed_1D, weights, at, x_1D)
    at = feed_forward(x_1D, weights, at, normed_1D, F, norms)
    at = normalise(x_1D, weights, at, normed_1D, norms)
    logits_1V = np.zeros((1, V), np.float32)
    linear(normed_1D, weights, at, logits_1V)
    token, best, second, finite = best_two(logits_1V[0])
    return token, float(best - second) if finite else math.nan
