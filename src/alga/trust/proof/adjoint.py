"""The second method: lower bounds of margins by adjoints, much tighter than balls (docs/rounding.md).

The first method carries a ball forward through the network. This one asks of each rounding error how much it can move a
margin: the margin's gradient is carried back to every operation, and each operation's error, its bend included, is
weighed with its own part of the gradient. The float64 midpoint comes from numpy here too; no bound is shared.

Shapes: B batch, L positions, O output positions, D width, V vocabulary, A number formats (last).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from alga.network.config import ModelConfig
from alga.trust.proof import parameters
from alga.trust.proof.adjoint_attention import Attention, Stream
from alga.trust.proof.adjoint_errors import GROWN, Units, sum_error
from alga.trust.proof.adjoint_feed_forward import FeedForward
from alga.trust.proof.adjoint_norm import LOST, Norm, length, lost_share, size
from alga.trust.proof.bounds import Array, Ids
from alga.trust.proof.parameters import Weights

MOST_LAYERS: Final = 2  # each layer more multiplies the rows that are carried back


def bounded(shape: ModelConfig, weights: Weights, ids_BL: Ids, right_BO: Ids, units: Units) -> tuple[Array, Array]:
    """Return the margins of right tokens over each token (BOV) and bounds of their errors (ABOV)."""
    seen, longest = ids_BL.shape[1], shape.input_length + shape.output_length
    hidden_LL = np.arange(seen)[:, None] < np.arange(seen)
    hidden_LL[:, : shape.input_length + 1] = False  # all see the prompt and the start token
    mid_BLD = weights["token_embedding.weight"][ids_BL] + parameters.positions(shape, weights)[:seen]
    x = Stream(mid_BLD, np.abs(mid_BLD)[..., None] * units.unit * GROWN + units.least, None)
    for i in range(shape.layers):
        layer = f"layers.{i}"
        skip = shape.input_length if i == shape.layers - 1 else 0  # no logits are read at the prompt's positions
        norm = _normed(x.mid_BLD, x.box_BLDA, f"{layer}.attention_norm", weights, shape.norms == "all", units)
        maps, out = parameters.attention(shape, weights, f"{layer}.attention")
        between = Attention(x, norm, maps, out, hidden_LL[skip:], shape.heads, longest, units)
        mid_BLD, box_BLDA = between.mid_BQD, between.box_BQDA
        norm = _normed(mid_BLD, box_BLDA, f"{layer}.feed_forward_norm", weights, shape.norms != "none", units)
        first, second = (parameters.affine(weights, f"{layer}.feed_forward.{place}") for place in (0, 2))
        after = FeedForward(mid_BLD, box_BLDA, between.reach, norm, first, second, units)
        x = Stream(after.mid_BQD, after.box_BQDA, after.reach)
    norm = _normed(x.mid_BLD, x.box_BLDA, "final_norm", weights, shape.norms == "all", units)
    return _margins(x, norm, parameters.head(shape, weights), right_BO, units)


def _margins(x: Stream, norm: Norm, head: Array, right_BO: Ids, units: Units) -> tuple[Array, Array]:
    logits_BOV = norm.mid_BLD @ head.T
    at = right_BO[..., None]
    rows_BOVD = head[right_BO][:, :, None] - head
    magnitudes = np.abs(head) @ (np.abs(norm.mid_BLD)[..., None] + norm.box)
    own_BOVA = sum_error(head.shape[1], magnitudes * GROWN, units)
    assert x.reach is not None
    found = norm.own(rows_BOVD) + x.reach(norm.back(rows_BOVD), True)
    come_BOA = length(norm.box) + norm.slope[..., None] * length(x.box_BLDA)
    found += lost_share(x.mid_BLD) * size(head) * 2 * come_BOA[:, :, None]
    found += own_BOVA + np.take_along_axis(own_BOVA, at[..., None], axis=2)
    mid_BOV = np.take_along_axis(logits_BOV, at, axis=-1) - logits_BOV
    return mid_BOV, np.moveaxis(found * GROWN + LOST * np.abs(logits_BOV).max(), -1, 0)


def _normed(x_BLD: Array, box_BLDA: Array, name: str, weights: Weights, there: bool, units: Units) -> Norm:
    if not there:
        return Norm.none(x_BLD, box_BLDA)
    return Norm.of(x_BLD, box_BLDA, parameters.gain(weights, name, x_BLD.shape[-1]), units)
