r"""Greedy generation by the network of model.py in compiled code: one prompt, many, or a walk over columns.

Torch spends nearly all of one prompt's time on launching about a hundred operations, each on a few numbers. Here whole
generations are one call of machine code.

Shapes: B prompts, C ids of all columns, I ids of a prompt and `\n`, L positions, O tokens written, Q positions
computed, D width, F hidden width, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from alga.base.errors import AlgaError
from alga.network.compiled import (
    LINE,
    LOWEST,
    Array,
    attend,
    best_two,
    call,
    compiled,
    feed_forward,
    linear,
    normalise,
    zeros,
)
from alga.network.tokens import PAD_ID, STOP_ID

if TYPE_CHECKING:
    from alga.network.config import ModelConfig

NORM_NAMES: Final = ("attention_norm", "feed_forward_norm")

Bytes = NDArray[np.uint8]
Ids = NDArray[np.int64]
Margins = NDArray[np.float64]
Shape = tuple[int, int, int, int, int, int, int, int]


class Compiled:
    """One network's weights, packed for generation without torch."""

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
        self._weights = _at_a_line([*map(np.ravel, packed), np.zeros(V, np.float32)])  # the head has no bias
        norms = (int(config.norms == "all"), int(config.norms != "none"))
        self._shape: Shape = (config.output_length, V, D, config.heads, config.layers, F, *norms)

    def decode(self, ids: bytes) -> tuple[tuple[int, ...], float]:
        r"""Return the generated ids, padded with STOP_ID to the output length, and the least margin.

        `ids` are the padded prompt and `\n`, one byte each. The margin is NaN if any logit is not finite.
        """
        written_BO, margins_B = self.decode_all(ids, 1)
        return tuple(written_BO[0].tolist()), float(margins_B[0])

    def decode_all(self, ids: bytes, prompts: int) -> tuple[Ids, Margins]:
        """Decode encoded prompts, one by one; return for each what `decode` returns."""
        c = self.config
        expected = prompts * (c.input_length + 1)
        if len(ids) != expected or max(ids, default=0) >= c.vocabulary:
            raise AlgaError(f"expected {expected} ids below {c.vocabulary}, got {[*ids]}")
        written_BO, margins_B = np.empty((prompts, c.output_length), np.int64), np.empty(prompts)
        prompts_BI = np.frombuffer(ids, np.uint8).reshape(prompts, -1)
        call(generate_all, self._weights, self._shape, prompts_BI, written_BO, margins_B)
        return written_BO, margins_B

    def walk(self, joint: tuple[int, ...], columns: bytes, widths: Sequence[int], before: bytes) -> tuple[Ids, Margins]:
        r"""Answer one column after the other, each prompt made of the output before, the separator and the column.

        `joint` holds the ids of the separator, of `\n`, of the first symbol and of the last; `columns` those of all
        columns, which have these `widths`; `before` those of the output before the first, empty if there is none. Stops
        after an output that is not valid and before a prompt that is too long; returns what was written, and margins.
        """
        c = self.config
        given = (sum(widths), max([*joint, *columns, *before]) < c.vocabulary, min(widths) >= 0, len(joint))
        if given != (len(columns), True, True, 4) or len(before) > c.output_length:
            raise AlgaError(f"expected {sum(widths)} ids below {c.vocabulary}, got {[*before]} and {[*columns]}")
        written_BO, margins_B = np.empty((len(widths), c.output_length), np.int64), np.empty(len(widths))
        before_O = np.full(c.output_length, STOP_ID)
        before_O[: len(before)] = list(before)
        done = call(
            walk, self._weights, self._shape, joint, np.frombuffer(columns, np.uint8), np.array(widths), before_O,
            c.input_length, written_BO, margins_B,
        )  # fmt: skip
        return written_BO[:done], margins_B[:done]


def _at_a_line(parts: Sequence[Array]) -> Array:
    """Return arrays one after the other, beginning at a cache line (`compiled.zeros` says why)."""
    size = sum(map(len, parts))
    whole = np.empty(size + LINE, np.float32)
    skip = -(whole.ctypes.data // 4) % LINE
    return np.concatenate(parts, out=whole[skip : skip + size], casting="same_kind")


@compiled
def generate_all(weights: Array, shape: Shape, prompts_BI: Bytes, written_BO: Ids, margins_B: Margins) -> None:
    """Write the ids that the network generates after each prompt, and their least margins."""
    for b in range(len(prompts_BI)):
        margins_B[b] = generate(weights, shape, prompts_BI[b], written_BO[b])


@compiled
def walk(
    weights: Array,
    shape: Shape,
    joint: tuple[int, int, int, int],
    columns_C: Bytes,
    widths_B: Ids,
    before_O: Ids,
    input_length: int,
    written_BO: Ids,
    margins_B: Margins,
) -> int:
    """Write the ids that the network generates for each column after the output before; return how many it answered."""
    separator, start, first, last = joint
    prompt_I, column_at = np.empty(input_length + 1, np.uint8), 0
    for b in range(len(widths_B)):
        shown = 0  # tokens of the output before
        while shown < len(before_O) and before_O[shown] != STOP_ID:
            shown += 1
        at, width = shown + (shown > 0), widths_B[b]
        if at + width > input_length:
            return b
        prompt_I[:] = PAD_ID
        prompt_I[input_length] = start
        if shown > 0:
            prompt_I[shown] = separator
        for i in range(shown):
            prompt_I[i] = before_O[i]
        for i in range(width):
            prompt_I[at + i] = columns_C[column_at + i]
        column_at += width
        before_O = written_BO[b]
        margins_B[b] = generate(weights, shape, prompt_I, before_O)
        symbols = 0
        while symbols < len(before_O) and first <= before_O[symbols] <= last:
            symbols += 1
        if symbols == 0 or symbols == len(before_O) or before_O[symbols] != STOP_ID:
            return b + 1
    return len(widths_B)


@compiled
def generate(weights: Array, shape: Shape, prompt_I: Bytes, written_O: Ids) -> float:
    """Write the ids that the network generates after those of a prompt; return the least margin."""
    output_length, V, D, heads, layers, F, norms, hidden_norm = shape
    Q = len(prompt_I)  # at first the whole prompt is computed, then one position at a time
    longest = Q + output_length
    ids_L = np.full(longest, STOP_ID)
    for i in range(Q):
        ids_L[i] = prompt_I[i]
    kept = zeros(layers * longest, 3 * D)  # queries, keys, values of all positions, layer by layer
    least, finite = -LOWEST, True
    for end in range(len(prompt_I), longest):
        x_QD, normed_QD = zeros(Q, D), zeros(Q, D)
        for r in range(Q):
            position = end - Q + r
            token_at, position_at = ids_L[position] * D, (V + position) * D
            for d in range(D):
                x_QD[r, d] = weights[token_at + d] + weights[position_at + d]
        at = (V + longest) * D
        for layer in range(layers):
            kept_LD = kept[layer * longest :][:end]
            at = normalise(x_QD, weights, at, normed_QD, norms != 0)
            at = linear(normed_QD, weights, at, kept_LD[end - Q :])
            if layer == layers - 1:
                x_QD, Q = x_QD[Q - 1 :], 1  # nothing is read from the prompt's last layer
                normed_QD = normed_QD[:1]
            at = linear(attend(kept_LD, Q, heads), weights, at, x_QD)
            at = feed_forward(x_QD, weights, at, normed_QD, F, hidden_norm != 0)
        at = normalise(x_QD, weights, at, normed_QD, norms != 0)
        logits_QV = zeros(Q, V)
        linear(normed_QD, weights, at, logits_QV)
        token, best, second, all_finite = best_two(logits_QV[0])
        if token >= 0:
            ids_L[end] = token
        finite = finite and all_finite
        least = min(least, best - second)
        if ids_L[end] == STOP_ID:
            break
    for i in range(output_length):
        written_O[i] = ids_L[len(prompt_I) + i]
    return float(least) if finite else math.nan


# --- weights ----------------------------------------------------------------------------------------------------------


def unfolded(stored: Mapping[str, Array], config: ModelConfig) -> dict[str, Array]:
    """Return the weights of a weight file in the paper's full form: shared parts repeated, omitted parts filled in.

    Missing norms cannot be expressed this way; `config.norms` says which exist.
    """
    weights = dict(stored)
    ones, zeros = np.ones(config.width, np.float32), np.zeros(config.width, np.float32)
    if config.tied:
        weights["head.weight"] = weights["token_embedding.weight"]
    if config.positions:
        rows = weights["position_embedding.weight"]
        read = [zeros if row == "." else rows[int(row)] for row in config.positions]
        weights["position_embedding.weight"] = np.stack([*read, zeros])  # the last is never read
    for name in ("final_norm", *(f"layers.{i}.{norm}" for i in range(config.layers) for norm in NORM_NAMES)):
        weights.setdefault(f"{name}.weight", ones)
        weights.setdefault(f"{name}.bias", zeros)
    for i in range(config.layers):
        name = f"layers.{i}.attention"
        matrix = weights[f"{name}.project_in.weight"]
        bias = weights.get(f"{name}.project_in.bias", np.zeros(len(matrix), np.float32))
        weights[f"{name}.project_in.weight"] = _in_full(matrix, config)
        weights[f"{name}.project_in.bias"] = _in_full(bias, config)
        weights.setdefault(f"{name}.project_out.weight", np.diag(ones))
        for part in (f"{name}.project_out", f"layers.{i}.feed_forward.2"):
            weights.setdefault(f"{part}.bias", zeros)
    return weights


def _in_full(rows: Array, config: ModelConfig) -> Array:
    """Return the rows of queries, keys and values, each as many as the width.

    Narrow queries and keys are padded with zeros, and queries scaled to make up for the larger square root.
    """
    width, heads = config.width, config.heads
    each = width // heads
    narrow = config.query_width or each
    queries = heads * narrow
    q, v = rows[:queries], rows[-width:]
    k = q if config.shared_keys else rows[queries:-width]
    scale = np.float32(math.sqrt(each / narrow))
    return np.concatenate([_widened(q * scale, heads, each), _widened(k, heads, each), v])


def _widened(rows: Array, heads: int, width: int) -> Array:
    parts = rows.reshape(heads, -1, *rows.shape[1:])
    padded = np.zeros((heads, width, *rows.shape[1:]), np.float32)
    padded[:, : parts.shape[1]] = parts
    return padded.reshape(heads * width, *rows.shape[1:])
