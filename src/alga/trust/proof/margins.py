r"""The proof: rigorous lower bounds on the margins of every prompt, in each number format.

Each prompt is evaluated with its right output appended: the causal mask hides later tokens, so one evaluation gives the
logits of every token that greedy decoding generates while it is right. The proof holds in a format if, at every
position of every prompt, the right token's logit exceeds all others by more than rounding can take away. docs/proof.md
has the lemmas; `alga verify` is an independent second proof.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np

from alga.base.progress import Watch, unwatched
from alga.network.config import ModelConfig
from alga.network.tokens import START, STOP_ID, Tokens
from alga.tasks import Domain
from alga.trust.assumptions import VERSION
from alga.trust.certificate import Bound, Proof
from alga.trust.proof import lemmas
from alga.trust.proof.bounds import FORMATS, Array, Ids, NumberFormat
from alga.trust.proof.lemmas import Affine, Ball
from alga.trust.proof.rounding import Rounding

PROMPTS_PER_BATCH: Final = 64  # prompts per batch; bounds the memory of a proof

Weights = Mapping[str, Array]


def prove(
    domain: Domain, shape: ModelConfig, weights: Weights, watch: Watch = unwatched, threads: int | None = None
) -> Proof:
    """Bound the margins of all prompts of the task; `weights` are named as in the weight file.

    Chunks of prompts run on `threads` threads, by default one per core.
    """
    tokens = Tokens.of(domain)
    prompts = sorted(domain, key=lambda prompt: len(domain[prompt].output))  # so that a chunk computes few tokens more
    least = [(math.inf, "")] * len(FORMATS)
    chunks = [prompts[start : start + PROMPTS_PER_BATCH] for start in range(0, len(prompts), PROMPTS_PER_BATCH)]
    done = 0
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        bounded_in_order = pool.map(lambda chunk: margins(domain, shape, weights, chunk, FORMATS, tokens), chunks)
        for chunk, found_AB in zip(chunks, bounded_in_order, strict=True):
            for i, row in enumerate(found_AB):
                at = int(row.argmin())
                least[i] = min(least[i], (float(row[at]), chunk[at]))
            done += len(chunk)
            watch(done, len(prompts))
    bounds = [
        Bound(each.name, margin if math.isfinite(margin) else None, prompt)
        for each, (margin, prompt) in zip(FORMATS, least, strict=True)
    ]
    return Proof(assumptions=VERSION, bounds=tuple(bounds))


def margins(
    domain: Domain,
    shape: ModelConfig,
    weights: Weights,
    prompts: list[str],
    formats: tuple[NumberFormat, ...],
    tokens: Tokens | None = None,
) -> Array:
    """Return lower bounds of prompts' margins (formats x prompts), least over the generated tokens.

    `tokens` are those of the domain, if the caller has them.
    """
    tokens = tokens or Tokens.of(domain)
    longest = max(len(domain[prompt].output) for prompt in prompts) + 1
    outputs = np.array(tokens.outputs(domain[prompt].output for prompt in prompts))[:, :longest]
    begun = np.array([[*row, tokens.ids[START]] for row in tokens.prompts(prompts)])
    with np.errstate(all="ignore"):  # overflow gives inf or NaN, which prove nothing
        ids_BL = np.hstack([begun, outputs[:, :-1]])
        mid_BOV, off_ABOV = bounded(shape, weights, ids_BL, outputs, Rounding(formats))
    right_BOV = np.arange(mid_BOV.shape[-1]) == outputs[..., None]
    found_ABOV = np.where(right_BOV, np.inf, mid_BOV - off_ABOV)
    found_ABO = np.nan_to_num(found_ABOV, nan=-np.inf, posinf=np.inf, neginf=-np.inf).min(axis=-1)
    stopped_BO = np.cumsum(outputs == STOP_ID, axis=1) - (outputs == STOP_ID) > 0
    least: Array = np.where(stopped_BO, np.inf, found_ABO).min(axis=-1)
    return least


def bounded(
    shape: ModelConfig, weights: Weights, ids_BL: Ids, right_BO: Ids, rounding: Rounding
) -> tuple[Array, Array]:
    """Return the margins of right tokens over each token (BOV) and bounds of their errors (ABOV)."""
    length, longest = ids_BL.shape[1], shape.input_length + shape.output_length
    hidden_LL = np.triu(np.ones((length, length), dtype=bool), 1)
    hidden_LL[:, : shape.input_length + 1] = False
    embedding = weights["token_embedding.weight"]
    x = lemmas.embedding(embedding[ids_BL], _positions(shape, weights)[:length], rounding)
    for i in range(shape.layers):
        layer = f"layers.{i}"
        skip = shape.input_length if i == shape.layers - 1 else 0  # no logits are read at the prompt's positions
        y = _normed(x, f"{layer}.attention_norm", weights, shape.norms == "all", rounding)
        maps, out = _attention(shape, weights, f"{layer}.attention")
        x = lemmas.attention(x, y, maps, out, hidden_LL[skip:], shape.heads, rounding, longest)
        y = _normed(x, f"{layer}.feed_forward_norm", weights, shape.norms != "none", rounding)
        first, second = (_affine(weights, f"{layer}.feed_forward.{place}") for place in (0, 2))
        x = lemmas.feed_forward(x, y, first, second, rounding)
    y = _normed(x, "final_norm", weights, shape.norms == "all", rounding)
    return lemmas.margins(y, embedding if shape.tied else weights["head.weight"], right_BO, rounding)


def _normed(x: Ball, name: str, weights: Weights, there: bool, rounding: Rounding) -> Ball:
    if not there:
        return x
    width = x.mid_BLD.shape[-1]
    gain = Affine(weights.get(f"{name}.weight", np.ones(width)), weights.get(f"{name}.bias", np.zeros(width)))
    return lemmas.norm(x, gain, rounding)


def _affine(weights: Weights, name: str) -> Affine:
    matrix = weights[f"{name}.weight"]
    return Affine(matrix, weights.get(f"{name}.bias", np.zeros(len(matrix))))


def _attention(shape: ModelConfig, weights: Weights, name: str) -> tuple[tuple[Affine, Affine, Affine], Affine]:
    """Return the maps to queries, keys and values, and the map out."""
    whole = _affine(weights, f"{name}.project_in")
    queries = shape.heads * (shape.query_width or shape.width // shape.heads)
    parts = (slice(queries), slice(queries, -shape.width), slice(-shape.width, None))
    q, k, v = (Affine(whole.matrix[part], whole.bias[part]) for part in parts)
    k = q if shape.shared_keys else k
    out = _affine(weights, f"{name}.project_out") if shape.out else Affine(np.eye(shape.width), np.zeros(shape.width))
    return (q, k, v), out


def _positions(shape: ModelConfig, weights: Weights) -> Array:
    table = weights["position_embedding.weight"]
    if not shape.positions:
        return table
    return np.array([np.zeros(shape.width) if row == "." else table[int(row)] for row in shape.positions])
