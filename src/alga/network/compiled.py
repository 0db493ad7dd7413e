r"""The network of model.py in compiled code, for one prompt at a time: this is what the decoder runs.

Torch spends nearly all of one prompt's time on launching about a hundred operations, each on a few numbers. Here the
whole greedy generation is one call of machine code, compiled by numba at the first call. Results differ by rounding
only.

Shapes: L positions, Q positions computed, D width, E width of a head, F hidden width, V vocabulary; N inputs and M
outputs of a linear map.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import numba
import numpy as np
from numba.core.caching import NullCache
from numpy.typing import NDArray

from alga.base.errors import AlgaError
from alga.network.tokens import STOP_ID

if TYPE_CHECKING:
    from alga.network.config import ModelConfig

Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]

ZERO: Final = np.float32(0)  # a bare 0.0 would make a sum double precision
LOWEST: Final = np.float32(-np.inf)

_COMPILED: list[Any] = []

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a function by numba at its first call, and cache the machine code if a folder is writable.

    Sums may be reordered, so that they vectorise; NaN and infinity keep their meaning.
    """
    settings: dict[str, Any] = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy", "nogil": True}
    try:
        made = numba.njit(cache=True, **settings)(function)
    except RuntimeError:  # neither the package nor the home folder is writable: no cache
        made = numba.njit(**settings)(function)
    _COMPILED.append(made)
    return cast(Function, made)


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a compiled function; if its cache cannot be read or written, compile it again without a cache."""
    try:
        return function(*arguments)
    except Exception:  # numba's cache is a pickle: a damaged one may raise anything
        for known in _COMPILED:
            known._cache = NullCache()
        return function(*arguments)


class Compiled:
    """One network's weights, packed for decoding one prompt at a time without torch."""

    def __init__(self, weights: Mapping[str, Array], config: ModelConfig) -> None:
        self.config = config
        D, F, V = config.width, config.hidden, config.vocabulary
        layer = {
            "attention_norm": (D,), "attention.project_in": (3 * D, D), "attention.project_out": (D, D),
            "feed_forward_norm": (D,), "feed_forward.0": (F, D), "feed_forward.2": (D, F),
        }  # fmt: skip
        parts = {f"layers.{i}.{part}": shape for i in range(config.layers) for part, shape in layer.items()}
        shapes: dict[str, tuple[int, ...]] = {"token_embedding.weight": (V, D)}
        shapes["position_embedding.weight"] = (config.input_length + 1 + config.output_length, D)
        for part, shape in {**parts, "final_norm": (D,)}.items():
            shapes |= {f"{part}.weight": shape, f"{part}.bias": shape[:1]}
        shapes["head.weight"] = (V, D)
        for name, shape in shapes.items():  # compiled code checks no bounds
            if name not in weights or weights[name].shape != shape:
                raise AlgaError(f"expected weights {name} of shape {shape}")
        # Embeddings have a row per token or position; linear maps are transposed to a row per input.
        packed = [weights[name] if "embedding" in name else weights[name].T for name in shapes]
        self._weights = np.concatenate([*map(np.ravel, packed), np.zeros(V)], dtype=np.float32)  # the head has no bias

    def decode(self, ids: bytes) -> tuple[tuple[int, ...], float]:
        r"""Return the generated ids, padded with STOP_ID to the output length, and the least margin.

        `ids` are the padded prompt and `\n`, one byte each. The margin is NaN if any logit is not finite.
        """
        c = self.config
        if len(ids) != c.input_length + 1 or max(ids) >= c.vocabulary:
            raise AlgaError(f"expected {c.input_length + 1} ids below {c.vocabulary}, got {[*ids]}")
        written, margin = call(
            generate, self._weights, ids, c.output_length, c.vocabulary, c.width, c.heads, c.layers, c.hidden,
            c.norms == "all", c.norms != "none",
        )  # fmt: skip
        return tuple(written.tolist()), margin


@compiled
def generate(
    weights: Array,
    prompt: bytes,
    output_length: int,
    V: int,
    D: int,
    heads: int,
    layers: int,
    F: int,
    norms: bool,
    hidden_norm: bool,
) -> tuple[NDArray[np.int64], float]:
    """Return the ids that the network generates after those of `prompt`, and the least margin."""
    Q = len(prompt)  # at first the whole prompt is computed, then one position at a time
    longest = Q + output_length
    ids_L = np.full(longest, STOP_ID)
    for i in range(Q):
        ids_L[i] = prompt[i]
    kept = np.zeros((layers * longest, 3 * D), np.float32)  # queries, keys, values of all positions, layer by layer
    least, finite = -LOWEST, True
    for end in range(len(prompt), longest):
        x_QD, normed_QD = np.zeros((Q, D), np.float32), np.zeros((Q, D), np.float32)
        for r in range(Q):
            position = end - Q + r
            token_at, position_at = ids_L[position] * D, (V + position) * D
            for d in range(D):
                x_QD[r, d] = weights[token_at + d] + weights[position_at + d]
        at = (V + longest) * D
        for layer in range(layers):
            kept_LD = kept[layer * longest :][:end]
            at = normalise(x_QD, weights, at, normed_QD, norms)
            at = linear(normed_QD, weights, at, kept_LD[end - Q :])
            if layer == layers - 1:
                x_QD, Q = x_QD[Q - 1 :], 1  # nothing is read from the prompt's last layer
            at = linear(attend(kept_LD, Q, heads), weights, at, x_QD)
            at = feed_forward(x_QD, weights, at, normed_QD, F, hidden_norm)
        at = normalise(x_QD, weights, at, normed_QD, norms)
        logits_QV = np.zeros((Q, V), np.float32)
        linear(normed_QD, weights, at, logits_QV)
        token, best, second, all_finite = best_two(logits_QV[0])
        if token >= 0:
            ids_L[end] = token
        finite = finite and all_finite
        least = min(least, best - second)
        if ids_L[end] == STOP_ID:
            break
    return ids_L[len(prompt) :], float(least) if finite else math.nan


@compiled
def feed_forward(x_QD: Array, weights: Array, at: int, normed_QD: Array, F: int, norm: bool) -> int:
    """Add to `x_QD` its feed-forward network, whose weights are at `at`; return where they end."""
    at = normalise(x_QD, weights, at, normed_QD, norm)
    Q = len(x_QD)
    hidden_QF = np.zeros((Q, F), np.float32)
    at = linear(normed_QD, weights, at, hidden_QF)
    for r in range(Q):
        for f in range(F):
            hidden = hidden_QF[r, f]
            hidden_QF[r, f] = 0.5 * hidden * (1 + erf(hidden * 0.5**0.5))
    return linear(hidden_QF, weights, at, x_QD)


@compiled
def best_two(logits_V: Array) -> tuple[int, np.float32, np.float32, bool]:
    """Return the token of the largest logit, that logit, the next largest, and whether all are finite."""
    token, best, second, finite = -1, LOWEST, LOWEST, True
    for v in range(len(logits_V)):
        logit = logits_V[v]
        finite = finite and math.isfinite(logit)
        if logit > best:
            token, best, second = v, logit, best
        elif logit > second:
            second = logit
    return token, best, second, finite


@compiled
def normalise(x_QD: Array, weights: Array, at: int, y_QD: Array, there: bool) -> int:
    """Write to `y_QD` the LayerNorm of `x_QD` whose scale and shift are at `at`; return where they end.

    If the network has no such norm, `x_QD` itself is written.
    """
    Q, D = x_QD.shape
    if not there:
        for r in range(Q):
            for d in range(D):
                y_QD[r, d] = x_QD[r, d]
        return at + 2 * D
    scale_D, shift_D = weights[at : at + D], weights[at + D : at + 2 * D]
    for r in range(Q):
        mean, variance = ZERO, ZERO
        for d in range(D):
            mean += x_QD[r, d]
        mean = np.float32(mean / D)
        for d in range(D):
            variance += (x_QD[r, d] - mean) * (x_QD[r, d] - mean)
        # Without this, a variance that overflowed would give zeros, which look finite.
        inverse = np.float32(1 / np.sqrt(variance / D + 1e-5) if variance < np.inf else np.nan)
        for d in range(D):
            y_QD[r, d] = (x_QD[r, d] - mean) * inverse * scale_D[d] + shift_D[d]
    return at + 2 * D


@compiled
def linear(x_QN: Array, weights: Array, at: int, y_QM: Array) -> int:
    """Add to `y_QM` the linear map of `x_QN` whose matrix and bias are at `at`; return where they end."""
    Q, M = y_QM.shape
    N = x_QN.shape[1]
    eights = N - N % 8  # inputs taken eight at a time, so that outputs are loaded and stored an eighth as often
    for i in range(0, eights, 8):
        w = weights[at + i * M : at + (i + 8) * M].reshape(8, M)
        for r in range(Q):
            x, y = x_QN[r], y_QM[r]
            a, b, c, d, e, f, g, h = x[i], x[i + 1], x[i + 2], x[i + 3], x[i + 4], x[i + 5], x[i + 6], x[i + 7]
            for m in range(M):
                first = a * w[0, m] + b * w[1, m] + c * w[2, m] + d * w[3, m]
                y[m] += first + e * w[4, m] + f * w[5, m] + g * w[6, m] + h * w[7, m]
    for i in range(eights, N + 1):  # the bias is the row of an input that is always one
        w_M = weights[at + i * M : at + (i + 1) * M]
        for r in range(Q):
            a, y = x_QN[r, i] if i < N else np.float32(1), y_QM[r]
            for m in range(M):
                y[m] += a * w_M[m]
    return at + (N + 1) * M


@compiled
def attend(kept_LD: Array, Q: int, heads: int) -> Array:
    """Return the attention of the last `Q` positions over all; a row of `kept_LD` is a query, a key and a value."""
    L, D = len(kept_LD), kept_LD.shape[1] // 3
    E = D // heads
    mixed_QD, scores_QL = np.zeros((Q, D), np.float32), np.zeros((Q, L), np.float32)
    for r in range(Q):
        for head in range(0, D, E):
            query_E, mixed_E = kept_LD[L - Q + r, head : head + E], mixed_QD[r, head : head + E]
            largest, total = LOWEST, ZERO
            for j in range(L):
                key_E, score = kept_LD[j, D + head : D + head + E], ZERO
                for e in range(E):
                    score += query_E[e] * key_E[e]
                scores_QL[r, j] = score / np.sqrt(E)
                largest = max(largest, scores_QL[r, j])
            for j in range(L):
                value_E, weight = kept_LD[j, 2 * D + head : 2 * D + head + E], math.exp(scores_QL[r, j] - largest)
                total += weight
                for e in range(E):
                    mixed_E[e] += weight * value_E[e]
            for e in range(E):
                mixed_E[e] /= total
    return mixed_QD


@compiled
def erf(x: float) -> np.float32:
    """Return the error function to 6e-8: a rational fit, because math.erf cannot be vectorised.

    In double precision, because single would lose 4e-7; at 4 the fit is so near to 1 that it is rounded to it.
    """
    c = min(max(np.float64(x), -4.0), 4.0)
    t = c * c
    above = 0.0534676172 + t * (0.00400369074 + t * (0.000288041973 + t * 1.97481605e-06))
    below = 0.116476882 + t * (0.0154445128 + t * (0.00121636988 + t * 3.74807444e-05))
    return np.float32(c * (1.12837898 + t * (0.196250098 + t * above)) / (1 + t * (0.50725328 + t * below)))
