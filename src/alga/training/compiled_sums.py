"""Whole sums as training batches, and the loss of a small reader with its gradient, in compiled code.

Torch takes some five milliseconds for a step of a network of a hundred numbers, nearly all of it overhead; this takes
a tenth. `SumBatch` and the loss are those of `sums.py`, and tests hold both to each other.

Shapes: B sums, L positions, D width, F hidden units, V vocabulary, R distances from the lowest to the highest.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from alga.network.compiled import call, compiled
from alga.network.reader import Reader, ReaderAttention
from alga.network.reader_config import ReaderConfig
from alga.tasks.whole import NEXT, OWN

Ids = NDArray[np.int64]
Array = NDArray[np.float64]

EXACT: Final = 2**53  # whole numbers below this are exact in float64
LEAST_LOG: Final = -30.0  # less attention outside than exp of this costs nothing more
FAMILY: Final = {
    "heads": 1, "layers": 1, "keys": False, "window": False, "tied": True, "norms": "none", "biases": "hidden",
    "parts": False, "out": False,
}  # fmt: skip


def fits(config: ReaderConfig) -> bool:
    """Return whether a reader is of the family whose loss is compiled; sizes, reach and embedding are free."""
    return all(getattr(config, name) == value for name, value in FAMILY.items())


# --- batches ----------------------------------------------------------------------------------------------------------


@compiled
def fill_sums(
    lengths_BA: Ids, shares_BA: Array, base: int, ids_BL: Ids, parts_BL: Ids, places_BL: Ids, targets_BL: Ids
) -> int:
    """Write sums into arrays that hold padding; return the length of the longest text without its stop token."""
    B, A = lengths_BA.shape
    longest = 0
    for row in range(B):
        at, total = 0, 0
        for i in range(A):
            digits = lengths_BA[row, i]
            least = base ** (digits - 1) if digits > 1 else 0
            value = least + int(shares_BA[row, i] * float(base**digits - least))
            total += value
            for place in range(digits, 0, -1):
                ids_BL[row, at], places_BL[row, at] = value // base ** (place - 1) % base, place
                at += 1
            ids_BL[row, at], places_BL[row, at] = base if i < A - 1 else base + 1, 0
            at += 1
        place, start = 0, at - 1  # of `=`, which begins the answer
        while total > 0 or place == 0 or place < lengths_BA[row].max():
            place += 1
            ids_BL[row, at], places_BL[row, at] = total % base, place
            targets_BL[row, at - 1] = total % base
            total //= base
            at += 1
        targets_BL[row, at - 1] = base + 2
        parts_BL[row, start:at] = 1
        longest = max(longest, at)
    return longest


# --- the loss ---------------------------------------------------------------------------------------------------------


class _Loss(torch.autograd.Function):
    """The loss as an operation of torch: what embeddings, values and scores depend on, torch knows."""

    @staticmethod
    def forward(ctx: Any, batch: tuple[Ids, Ids, Ids], price: float, *inputs: Tensor) -> Tensor:
        arrays = [np.ascontiguousarray(each.detach().numpy(), np.float64) for each in inputs]
        gradients = [np.zeros_like(each) for each in arrays]
        loss = call(loss_and_gradients, *batch, price, *arrays, *gradients)
        ctx.gradients = [torch.from_numpy(each).to(inputs[0].dtype) for each in gradients]
        return inputs[0].new_tensor(loss)

    @staticmethod
    def backward(ctx: Any, *above: Tensor) -> Any:
        return None, None, *(above[0] * gradient for gradient in ctx.gradients)


def compiled_loss(model: Reader, batch: tuple[Tensor, Tensor, Tensor], price: float) -> Tensor:
    """Return the loss of ids, places and targets: cross-entropy plus the price of attention outside."""
    attention, feed_forward = model.layers[0].attention, model.layers[0].feed_forward
    assert isinstance(attention, ReaderAttention)
    assert isinstance(feed_forward, nn.Sequential)
    first, _, second = feed_forward
    tokens_VD = model.vocabulary_weight
    far = max(int(batch[1].max()), model.config.reach)
    scores_R = attention.score(torch.arange(-far, far + 1).view(1, 1, -1)).flatten()
    values_VD = attention.project_in(tokens_VD)
    inputs = (tokens_VD, values_VD, scores_R, attention.sinks, first.weight, first.bias, second.weight)
    found: Tensor = _Loss.apply(tuple(part.numpy() for part in batch), price, *inputs)  # type: ignore[no-untyped-call]
    return found


@compiled
def loss_and_gradients(
    ids_BL: Ids, places_BL: Ids, targets_BL: Ids, price: float,
    e_VD: Array, v_VD: Array, score_R: Array, sink: Array, first_FD: Array, bias_F: Array, second_DF: Array,
    ge_VD: Array, gv_VD: Array, g_score: Array, g_sink: Array, g_first: Array, g_bias: Array, g_second: Array,
) -> float:  # fmt: skip
    """Write the gradient of each input to the arrays given last; return the loss."""
    top = max(score_R.max(), sink[0])
    weight_R, sink_weight = np.exp(score_R - top), math.exp(sink[0] - top)
    counted, priced = count(places_BL, targets_BL)
    fee = price * counted / max(priced, 1)  # of a token that sees something outside, relative to its loss
    loss, D, F = 0.0, e_VD.shape[1], len(bias_F)
    mix_D, x_D, y_D, dy_D, dx_D = np.zeros(D), np.zeros(D), np.zeros(D), np.zeros(D), np.zeros(D)
    act_F, slope_F, p_V = np.zeros(F), np.zeros(F), np.zeros(len(e_VD))
    for b in range(len(ids_BL)):
        for at in range(ids_BL.shape[1]):
            right, own = targets_BL[b, at], ids_BL[b, at]
            if right < 0:
                continue
            ids, places = ids_BL[b, : at + 1], places_BL[b, : at + 1]
            seen, outside = mix(ids, places, weight_R, v_VD, sink_weight, mix_D)
            for d in range(D):
                x_D[d] = e_VD[own, d] + mix_D[d]
            feed(x_D, first_FD, bias_F, second_DF, act_F, slope_F, y_D)
            loss += cross_entropy(y_D, e_VD, right, p_V, dy_D, ge_VD)
            feed_back(x_D, dy_D, first_FD, second_DF, act_F, slope_F, g_first, g_bias, g_second, dx_D)
            along = 0.0
            for d in range(D):
                ge_VD[own, d] += dx_D[d]
                along += mix_D[d] * dx_D[d]
            g_sink[0] -= sink_weight / (seen + sink_weight) * along
            log = math.log(outside / seen) if outside > 0 else -np.inf
            if outside >= 0:
                loss += fee * max(log, LEAST_LOG)
            mix_back(
                ids, places, weight_R, v_VD, dx_D, along, (seen, seen + sink_weight, outside),
                fee if log >= LEAST_LOG else 0.0, gv_VD, g_score,
            )  # fmt: skip
    for gradient in (ge_VD, gv_VD, g_first, g_second):
        gradient[:] = gradient / counted
    for vector in (g_score, g_sink, g_bias):
        vector[:] = vector / counted
    return loss / counted


@compiled
def count(places_BL: Ids, targets_BL: Ids) -> tuple[int, int]:
    """Return how many tokens have a target, and how many of them see something outside the two columns."""
    counted, priced = 0, 0
    for b in range(len(places_BL)):
        for at in range(places_BL.shape[1]):
            if targets_BL[b, at] >= 0:
                counted += 1
                apart = places_BL[b, : at + 1] - places_BL[b, at]
                priced += int(((apart < OWN) | (apart > NEXT)).any())
    return counted, priced


@compiled
def mix(ids: Ids, places: Ids, weight_R: Array, v_VD: Array, sink_weight: float, mix_D: Array) -> tuple[float, float]:
    """Write the mix of values; return what all tokens weigh and what those outside do, -1 if there are none."""
    seen, outside, far, last = 0.0, -1.0, len(weight_R) // 2, places[-1]
    mix_D[:] = 0.0
    for j in range(len(ids)):
        distance = places[j] - last
        weight = weight_R[distance + far]
        seen += weight
        for d in range(len(mix_D)):
            mix_D[d] += weight * v_VD[ids[j], d]
        if distance < OWN or distance > NEXT:
            outside = max(outside, 0.0) + weight
    mix_D /= seen + sink_weight
    return seen, outside


@compiled
def mix_back(
    ids: Ids, places: Ids, weight_R: Array, v_VD: Array, dx_D: Array, along: float,
    sums: tuple[float, float, float], fee: float, gv_VD: Array, g_score: Array,
) -> None:  # fmt: skip
    """Add to the gradients of values and scores; `sums` are the weights of tokens, with the sink, and outside."""
    seen, total, outside = sums
    far, last = len(weight_R) // 2, places[-1]
    for j in range(len(ids)):
        distance = places[j] - last
        weight, moved = weight_R[distance + far], -along
        for d in range(len(dx_D)):
            gv_VD[ids[j], d] += weight / total * dx_D[d]
            moved += v_VD[ids[j], d] * dx_D[d]
        g_score[distance + far] += weight / total * moved - fee * weight / seen
        if fee > 0 and (distance < OWN or distance > NEXT):
            g_score[distance + far] += fee * weight / outside


@compiled
def feed(
    x_D: Array, first_FD: Array, bias_F: Array, second_DF: Array, act_F: Array, slope_F: Array, y_D: Array
) -> None:
    """Write the hidden units, their slopes, and the stream after the feed-forward network."""
    y_D[:] = x_D
    for f in range(len(bias_F)):
        z = bias_F[f]
        for d in range(len(x_D)):
            z += first_FD[f, d] * x_D[d]
        phi = 0.5 * (1 + math.erf(z * 0.5**0.5))
        act_F[f], slope_F[f] = z * phi, phi + z * math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
        for d in range(len(x_D)):
            y_D[d] += second_DF[d, f] * act_F[f]


@compiled
def feed_back(
    x_D: Array, dy_D: Array, first_FD: Array, second_DF: Array, act_F: Array, slope_F: Array,
    g_first: Array, g_bias: Array, g_second: Array, dx_D: Array,
) -> None:  # fmt: skip
    """Add to the gradients of the feed-forward network; write that of its input."""
    dx_D[:] = dy_D
    for f in range(len(act_F)):
        moved = 0.0
        for d in range(len(x_D)):
            moved += dy_D[d] * second_DF[d, f]
            g_second[d, f] += dy_D[d] * act_F[f]
        moved *= slope_F[f]
        g_bias[f] += moved
        for d in range(len(x_D)):
            g_first[f, d] += moved * x_D[d]
            dx_D[d] += moved * first_FD[f, d]


@compiled
def cross_entropy(y_D: Array, e_VD: Array, right: int, p_V: Array, dy_D: Array, ge_VD: Array) -> float:
    """Return the loss of one token; write the gradient of the stream, and add to that of the embeddings."""
    V, D = e_VD.shape
    for k in range(V):
        p_V[k] = 0.0
        for d in range(D):
            p_V[k] += y_D[d] * e_VD[k, d]
    largest = p_V.max()
    loss, total = largest - p_V[right], 0.0
    for k in range(V):
        p_V[k] = math.exp(p_V[k] - largest)
        total += p_V[k]
    dy_D[:] = 0.0
    for k in range(V):
        moved = p_V[k] / total - (1.0 if k == right else 0.0)
        for d in range(D):
            dy_D[d] += moved * e_VD[k, d]
            ge_VD[k, d] += moved * y_D[d]
    return float(loss + math.log(total))
