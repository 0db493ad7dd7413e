"""Compiled code, and the operations of the networks in it: linear maps, norms, attention, GELU, the best token.

`generation.py` and `compiled_reader.py` compose them. Numba compiles a function at its first call. Results differ from
torch's by rounding only.

Shapes: L positions, Q positions computed, D width, E width of a head, F hidden width, V vocabulary; N inputs and M
outputs of a linear map.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numba
import numpy as np
from numba.core.caching import NullCache

Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]

ZERO: Final = np.float32(0)  # a bare 0.0 would make a sum double precision
LOWEST: Final = np.float32(-np.inf)
LINE: Final = 16  # numbers in a cache line of 64 bytes

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


@compiled
def zeros(rows: int, columns: int) -> Array:
    """Return a matrix of zeros that begins at a cache line: vectors across two lines take twice as long to load."""
    whole = np.zeros(rows * columns + LINE, np.float32)
    skip = -(whole.ctypes.data // 4) % LINE
    return whole[skip : skip + rows * columns].reshape(rows, columns)


@compiled
def feed_forward(x_QD: Array, weights: Array, at: int, normed_QD: Array, F: int, norm: bool) -> int:
    """Add to `x_QD` its feed-forward network, whose weights are at `at`; return where they end."""
    at = normalise(x_QD, weights, at, normed_QD, norm)
    Q = len(x_QD)
    hidden_QF = zeros(Q, F)
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
    w = weights[at : at + (N + 1) * M].reshape(N + 1, M)  # the bias is the row of an input that is always one
    eights = N - N % 8  # inputs taken eight at a time, so that outputs are loaded and stored an eighth as often
    if Q == 1:  # as below, but the row is looked up once: a third faster
        x, y = x_QN[0], y_QM[0]
        for i in range(0, eights, 8):
            p, q, r, s, t, u, v, w_M = w[i], w[i + 1], w[i + 2], w[i + 3], w[i + 4], w[i + 5], w[i + 6], w[i + 7]
            a, b, c, d, e, f, g, h = x[i], x[i + 1], x[i + 2], x[i + 3], x[i + 4], x[i + 5], x[i + 6], x[i + 7]
            for m in range(M):
                first = a * p[m] + b * q[m] + c * r[m] + d * s[m]
                y[m] += first + e * t[m] + f * u[m] + g * v[m] + h * w_M[m]
    else:
        for i in range(0, eights, 8):
            p, q, r, s, t, u, v, w_M = w[i], w[i + 1], w[i + 2], w[i + 3], w[i + 4], w[i + 5], w[i + 6], w[i + 7]
            for row in range(Q):
                x, y = x_QN[row], y_QM[row]
                a, b, c, d, e, f, g, h = x[i], x[i + 1], x[i + 2], x[i + 3], x[i + 4], x[i + 5], x[i + 6], x[i + 7]
                for m in range(M):
                    first = a * p[m] + b * q[m] + c * r[m] + d * s[m]
                    y[m] += first + e * t[m] + f * u[m] + g * v[m] + h * w_M[m]
    for i in range(eights, N + 1):
        w_M = w[i]
        for row in range(Q):
            a, y = x_QN[row, i] if i < N else np.float32(1), y_QM[row]
            for m in range(M):
                y[m] += a * w_M[m]
    return at + (N + 1) * M


@compiled
def attend(kept_LD: Array, Q: int, heads: int) -> Array:
    """Return the attention of the last `Q` positions over all; a row of `kept_LD` is a query, a key and a value."""
    L, D = len(kept_LD), kept_LD.shape[1] // 3
    E = D // heads
    mixed_QD, scores_L = zeros(Q, D), np.empty(L, np.float32)
    for r in range(Q):
        for head in range(0, D, E):
            query_E, mixed_E = kept_LD[L - Q + r, head : head + E], mixed_QD[r, head : head + E]
            largest, total = LOWEST, ZERO
            for j in range(L):
                key_E, score = kept_LD[j, D + head : D + head + E], ZERO
                for e in range(E):
                    score += query_E[e] * key_E[e]
                scores_L[j] = score / np.sqrt(E)
                largest = max(largest, scores_L[j])
            for j in range(L):
                value_E, weight = kept_LD[j, 2 * D + head : 2 * D + head + E], math.exp(scores_L[j] - largest)
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
