"""One lemma per layer: a ball around the float64 result that contains every result in a covered number format.

Each vector has a midpoint, computed by numpy, and a radius for each format; the ball contains the exact value and every
computation in that format. An operation adds its own rounding errors, including those of the midpoint, and scales the
incoming radius by its slope at the midpoint, plus the slope's change within the ball (docs/rounding.md).

Shapes: A number formats, B batch, L positions, Q positions computed, D width, E width of a head, F hidden width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from alga.network.forward import erf
from alga.trust.assumptions import EXP_UNITS
from alga.trust.proof.bounds import LOST, SLACK, Array, Ids, applied, lengths, norms, sandwich_norms
from alga.trust.proof.parameters import Affine
from alga.trust.proof.rounding import (
    EPSILON,
    Rounding,
    SoftmaxRounding,
    embedding_error,
    gelu_bend,
    gelu_error,
    moment_errors,
    norm_slope,
    score_slopes,
    sum_error,
    weight_changes,
    weight_errors,
)

GELU_SLOPE: Final = 1.13  # the largest |gelu'|


@dataclass(frozen=True)
class Ball:
    """Vectors `mid + scale * d`, where d is no longer than the radius.

    Each drift is a vector and how many times it may be added: errors in a norm's mean and deviation move all
    components together, which a ball alone would bound too loosely.
    """

    mid_BLD: Array
    scale_D: Array
    radius_ABL: Array
    drifts: tuple[tuple[Array, Array], ...] = ()  # a vector per position, and how many times

    def after(self, skip: int) -> Ball:
        """Return the ball without its first positions."""
        drifts = tuple((vector_BLD[:, skip:], times_ABL[..., skip:]) for vector_BLD, times_ABL in self.drifts)
        return Ball(self.mid_BLD[:, skip:], self.scale_D, self.radius_ABL[..., skip:], drifts)


def fused(a: Array, b: Array) -> Array:
    """Return a midpoint's magnitudes plus an error, with an axis for the formats."""
    return np.abs(a)[None] + b


def embedding(tokens_BLD: Array, positions_LD: Array, rounding: Rounding) -> Ball:
    """Return the sum of two exact rows: one rounding."""
    mid_BLD = tokens_BLD + positions_LD
    return Ball(mid_BLD, np.ones(mid_BLD.shape[-1]), embedding_error(mid_BLD, rounding))


def norm(x: Ball, gain: Affine, rounding: Rounding) -> Ball:
    """Return the LayerNorm of a residual stream; `gain` holds its scale and shift.

    Without rounding, the slope is at most 1 / sqrt(variance + EPSILON) at the ball's least variance.
    """
    n = x.mid_BLD.shape[-1]
    e_ABL = x.radius_ABL / math.sqrt(n) * SLACK
    mean_BL = x.mid_BLD.mean(axis=-1)
    centred_BLD = x.mid_BLD - mean_BL[..., None]
    deviation_BL = np.sqrt((centred_BLD**2).mean(axis=-1))
    unit_BLD = centred_BLD / np.sqrt(deviation_BL**2 + EPSILON)[..., None]
    lost_BL = n * LOST * lengths(x.mid_BLD)  # in mean and deviation
    mean_ABL, spread_ABL = np.abs(mean_BL) + lost_BL + e_ABL, deviation_BL * SLACK + lost_BL + e_ABL
    least_ABL = np.maximum(deviation_BL / SLACK - lost_BL - e_ABL, 0)
    root_ABL = np.sqrt(least_ABL**2 + EPSILON) / SLACK
    off_mean, off_root = moment_errors(n, mean_ABL, spread_ABL, root_ABL, rounding)
    moved_ABL = x.radius_ABL * norm_slope(root_ABL) * (1 + off_root)
    rounded_ABL = 1e-10 * off_root  # the directions of drifts are rounded too
    # Where the gain is small, dividing by it would blow up what rounding adds.
    size_D = np.abs(gain.matrix)
    scale_D = np.maximum(size_D, size_D.max() / 8 + 1e-30)
    most_ABLD = (fused(x.mid_BLD, x.radius_ABL[..., None]) + (mean_ABL + off_mean)[..., None]) * size_D
    own_ABLD = sum_error(8, most_ABLD * ((1 + off_root) / root_ABL)[..., None] + np.abs(gain.bias), rounding)
    radius_ABL = (moved_ABL + rounded_ABL + lengths(own_ABLD / scale_D)) * SLACK
    pattern_BLD = unit_BLD * gain.matrix
    shift_BLD = np.broadcast_to(gain.matrix, (1, *pattern_BLD.shape[1:]))  # the same in the whole batch
    drifts = ((pattern_BLD, off_root * SLACK), (shift_BLD, off_mean / root_ABL * (1 + off_root) * SLACK))
    return Ball(pattern_BLD + gain.bias, scale_D, radius_ABL, drifts)


def linear(x: Ball, map_: Affine, rounding: Rounding, more: int = 2) -> tuple[Array, Array, Array]:
    """Return a linear map's midpoint, the rounding error of each output, and its total error.

    The rounding errors include drifts, but not movement within the ball.
    """
    n = x.mid_BLD.shape[-1]
    mid_BLM = x.mid_BLD @ map_.matrix.T + map_.bias
    size = np.abs(map_.matrix)
    moved_ABLM = x.radius_ABL[..., None] * lengths(size * x.scale_D)
    drift_ABLM, reach_ABLM = np.zeros((2, *moved_ABLM.shape))
    for vector_BLD, times_ABL in x.drifts:
        along_BLM, lost_BL = applied(vector_BLD, map_.matrix.T)
        drift_ABLM += times_ABL[..., None] * (np.abs(along_BLM) + lost_BL[..., None])
        reach_ABLM += times_ABL[..., None] * (np.abs(vector_BLD) @ size.T)
    magnitudes = fused(np.abs(x.mid_BLD) @ size.T + np.abs(map_.bias), moved_ABLM + reach_ABLM) * SLACK
    own_ABLM = (sum_error(n + more, magnitudes, rounding) + drift_ABLM) * SLACK
    return mid_BLM, own_ABLM, (own_ABLM + moved_ABLM) * SLACK


def attention(
    x: Ball,
    y: Ball,
    maps: tuple[Affine, Affine, Affine],
    out: Affine,
    hidden_QL: Array,
    heads: int,
    rounding: Rounding,
    longest: int = 0,
) -> Ball:
    """Return `x` plus the attention of its last positions over all of `y`, the same stream after its norm.

    A common shift of all scores changes nothing; only relative moves change the weights. `hidden_QL` marks masked
    positions. The softmax may be taken over more positions, up to `longest`, if all others are masked.
    """
    positions = max(longest, len(y.mid_BLD[0]))
    skip = len(y.mid_BLD[0]) - len(hidden_QL)
    x = x.after(skip)
    query = y.after(skip)
    (q, q_own, q_off), (k, k_own, k_off) = linear(query, maps[0], rounding, 6), linear(y, maps[1], rounding, 6)
    v, v_own, v_off = linear(y, maps[2], rounding)
    mixed_BQD = np.zeros_like(x.mid_BLD)
    mixed_own_ABQD, mixed_off_ABQD = np.zeros((2, len(rounding.unit), *x.mid_BLD.shape))
    moved_ABQ = np.zeros_like(x.radius_ABL)
    for head in range(heads):
        e, d = (slice(head * (a.shape[-1] // heads), (head + 1) * (a.shape[-1] // heads)) for a in (q, v))
        queries, keys = (map_.matrix[e] * y.scale_D for map_ in maps[:2])
        mixed_BQD[..., d], mixed_own_ABQD[..., d], mixed_off_ABQD[..., d], moved = head_mix(
            (q[..., e], q_own[..., e], q_off[..., e], query.radius_ABL, queries),
            (k[..., e], k_own[..., e], k_off[..., e], y.radius_ABL, keys),
            (v[..., d], v_own[..., d], v_off[..., d], maps[2].matrix[d] * y.scale_D, out.matrix[:, d]),
            np.where(hidden_QL, -np.inf, 0.0),
            SoftmaxRounding(EXP_UNITS * (positions + 1), np.array(positions)),
            rounding,
        )
        moved_ABQ += moved
    return added(x, (mixed_BQD, mixed_own_ABQD, mixed_off_ABQD), moved_ABQ, out, rounding)


def head_mix(
    query: tuple[Array, Array, Array, Array, Array],
    key: tuple[Array, Array, Array, Array, Array],
    value: tuple[Array, Array, Array, Array, Array],
    bias_BQL: Array,
    softmax: SoftmaxRounding,
    rounding: Rounding,
) -> tuple[Array, Array, Array, Array]:
    """Return one head's mix of values, its rounding errors, its total errors, and its movement with the input.

    `bias_BQL` is exact and added to the scores, minus infinity where nothing is seen. The movement is measured after
    the out map.
    """
    hidden_BQL = np.isneginf(bias_BQL)
    (q, q_own, q_off, rq_ABQ, w_q), (k, k_own, k_off, r_ABL, w_k), (v, v_own, v_off, w_v, w_o) = query, key, value
    width, positions = q.shape[-1], k.shape[1]
    root = 1 / math.sqrt(width)
    scores_BQL = (q * root) @ k.swapaxes(1, 2) + bias_BQL
    gap_BQL = np.where(hidden_BQL, 0, scores_BQL.max(axis=-1, keepdims=True) - scores_BQL)
    weights_BQL = np.where(hidden_BQL, 0, np.exp(-gap_BQL))
    weights_BQL /= weights_BQL.sum(axis=-1, keepdims=True)
    mixed_BQE = weights_BQL @ v

    # How far a score may move relative to the others; `first` is the query's part, one slope for all keys.
    key_BQLE = k[:, None] - (weights_BQL @ k)[:, :, None]
    key_BQLD, key_BQL, key_lost = score_slopes(key_BQLE, w_q * root)
    _, seen_BQ, _ = score_slopes(q, w_k * root)
    first = rq_ABQ[..., None] * key_BQL
    rest = r_ABL[:, :, None] * seen_BQ[..., None]
    rest += np.einsum("abqe,bqle->abql", q_own, np.abs(key_BQLE)) * root
    rest += np.abs(q * root) @ k_own.swapaxes(-1, -2)
    rest += lengths(q_off)[..., None] * lengths(k_off)[:, :, None] * root
    products = fused(q * root, q_off * root) @ fused(k, k_off).swapaxes(-1, -2)
    products = products + np.where(hidden_BQL, 0, np.abs(bias_BQL))
    rest += sum_error(width + 8, products * SLACK, rounding)
    moves = np.where(hidden_BQL, 0, (first + rest) * SLACK)
    first = np.where(hidden_BQL, 0, first)

    # The effect on the weights, hence on the mix; a common factor of all weights cancels.
    sure_BQL = weights_BQL * SLACK + 1e-290
    shrunk = np.exp((sure_BQL * moves).sum(axis=-1)) * SLACK
    value_BLD, value_lost = applied(v, w_o.T)
    value_BQLD = value_BLD[:, None] - (weights_BQL @ value_BLD)[:, :, None]
    lost_BQL = (value_lost + positions * LOST * lengths(value_BLD)).max(axis=-1)[:, None, None] * 4
    value_BQL = lengths(value_BQLD) + lost_BQL
    slope_BQDD = (weights_BQL[..., None] * value_BQLD).swapaxes(-1, -2) @ key_BQLD
    slope_BQ = lengths(slope_BQDD.reshape(*slope_BQDD.shape[:2], -1))
    slope_BQ += (sure_BQL * (value_BQL * (key_lost + 1e-13 * key_BQL) + key_BQL * lost_BQL)).sum(axis=-1)
    changes = weight_changes(moves, first)
    moved_ABQ = shrunk * (slope_BQ * rq_ABQ + (sure_BQL * changes * value_BQL).sum(axis=-1))

    # The values move too, and the mix is rounded.
    most_ABQL = sure_BQL * np.exp(moves) * shrunk[..., None] * SLACK
    moved_ABQ += (most_ABQL * (r_ABL * norms(w_o @ w_v, 6) + _product_lost(w_o, w_v) * r_ABL)[:, :, None]).sum(axis=-1)
    wrong = weight_errors(gap_BQL + 2 * moves.max(axis=-1, keepdims=True), most_ABQL, softmax, rounding)
    own_ABQE = most_ABQL @ v_own + (most_ABQL * wrong + 16 * rounding.least[..., None]) @ fused(v, v_off)
    off_ABQE = own_ABQE + most_ABQL @ v_off
    off_ABQE += shrunk[..., None] * np.einsum(
        "abql,bqle->abqe", sure_BQL * np.expm1(moves), np.abs(v[:, None] - mixed_BQE[:, :, None])
    )
    return mixed_BQE, own_ABQE * SLACK, off_ABQE * SLACK, moved_ABQ * SLACK


def _product_lost(a: Array, b: Array) -> Array:
    return len(b) * LOST * lengths(a.ravel()) * lengths(b.ravel())


def added(x: Ball, inner: tuple[Array, Array, Array], moved_ABQ: Array, out: Affine, rounding: Rounding) -> Ball:
    """Return `x` plus a linear map of `inner`, which moves by up to `moved_ABQ` after the map.

    `inner` is a midpoint, its rounding errors, and its total error per component.
    """
    mid, own, off = inner
    size = np.abs(out.matrix)
    spread_ABQD = own @ size.T
    through_ABQ = np.minimum(norms(out.matrix, 6) * lengths(own), lengths(spread_ABQD))
    sizes_BQD = np.abs(x.mid_BLD) + np.abs(mid) @ size.T + np.abs(out.bias)
    magnitudes = fused(sizes_BQD, off @ size.T + x.radius_ABL[..., None])
    own_ABQD = sum_error(mid.shape[-1] + 4, magnitudes * SLACK, rounding)
    radius_ABQ = x.radius_ABL + moved_ABQ + through_ABQ + lengths(own_ABQD)
    return Ball(x.mid_BLD + mid @ out.matrix.T + out.bias, x.scale_D, radius_ABQ * SLACK)


def feed_forward(x: Ball, y: Ball, hidden: Affine, out: Affine, rounding: Rounding) -> Ball:
    """Return `x` plus the feed-forward network of `y`, the same stream after its norm."""
    h_BLF, own_ABLF, off_ABLF = linear(y, hidden, rounding)
    phi_BLF = (1 + erf(h_BLF * math.sqrt(0.5))) / 2
    slope_BLF = phi_BLF + h_BLF * np.exp(-(h_BLF**2) / 2) / math.sqrt(2 * math.pi)
    inner = hidden.matrix * y.scale_D
    steep_BL = sandwich_norms(out.matrix, slope_BLF, inner)
    steep_BL += _product_lost(out.matrix, inner) * 2  # of slopes below 2
    bend_ABLF = gelu_bend(off_ABLF)
    outer, length_ABL = norms(out.matrix, 6), norms(inner, 6) * y.radius_ABL + lengths(own_ABLF)
    box_ABL = np.minimum(outer * lengths(bend_ABLF), lengths(bend_ABLF @ np.abs(out.matrix).T))
    bent_ABL = np.minimum(box_ABL, outer * np.sqrt(gelu_bend(off_ABLF.max(axis=-1)) * gelu_bend(length_ABL)))
    rounded_ABLF = gelu_error(fused(h_BLF, off_ABLF), rounding) + (np.abs(slope_BLF) + 1e-12) * own_ABLF
    rounded_ABLF += 1e-12 * off_ABLF  # the slopes' own rounding
    moved_ABL = (steep_BL * y.radius_ABL + bent_ABL) * SLACK
    gelu_off_ABLF = GELU_SLOPE * off_ABLF + rounded_ABLF
    return added(x, (h_BLF * phi_BLF, rounded_ABLF, gelu_off_ABLF), moved_ABL, out, rounding)


def margins(y: Ball, head: Array, right_BL: Ids, rounding: Rounding) -> tuple[Array, Array]:
    """Return the right token's logit minus each token's (BLV), and a bound of its error (ABLV)."""
    logits_BLV, own_ABLV, _ = linear(y, Affine(head, np.zeros(len(head))), rounding)
    at = right_BL[..., None]
    apart_VV = lengths((head[:, None] - head) * y.scale_D)
    off = y.radius_ABL[..., None] * apart_VV[right_BL] + own_ABLV + np.take_along_axis(own_ABLV, at[None], axis=-1)
    off = off * SLACK + 1e-14 * (np.abs(logits_BLV) + np.abs(np.take_along_axis(logits_BLV, at, axis=-1)))
    return np.take_along_axis(logits_BLV, at, axis=-1) - logits_BLV, off
