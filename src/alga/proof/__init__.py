r"""From "checked here" to *proven*: rigorous bounds of every logit of every prompt, whatever the rounding.

Each prompt is evaluated with its right output already written behind it: the mask hides from each position what comes
later, so one evaluation gives the logits of every token that greedy decoding generates, as long as it is right so far.
The proof passes in an arithmetic where the right token's logit exceeds each other one's at every position of every
prompt by more than rounding can take away. docs/proof.md has the lemmas; `alga verify` proves it again by itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
import torch

from alga.assumptions import VERSION
from alga.certificate import Bound, Proof
from alga.config import Config, ModelConfig
from alga.progress import Watch, unwatched
from alga.proof import lemmas
from alga.proof.arithmetic import ARITHMETICS, Arithmetic
from alga.proof.bounds import Array, Ids
from alga.proof.errors import Rounding
from alga.proof.lemmas import Affine, Ball
from alga.tokens import START, STOP_ID

CHUNK: Final = 64  # prompts bounded together: what their slopes take is the memory that a proof needs

Weights = Mapping[str, Array]


def prove(config: Config, weights: Weights, watch: Watch = unwatched, threads: int | None = None) -> Proof:
    """Bound every margin of every prompt of the task; `weights` are the weight file's, by their names there.

    Chunks of prompts are shared among threads, as many as torch has unless told otherwise.
    """
    domain = config.task.domain
    prompts = list(domain)
    least = [(math.inf, "")] * len(ARITHMETICS)
    chunks = [prompts[start : start + CHUNK] for start in range(0, len(prompts), CHUNK)]
    done = 0
    with ThreadPoolExecutor(threads or torch.get_num_threads()) as pool:
        bounded_in_order = pool.map(lambda chunk: margins(config, weights, chunk, ARITHMETICS), chunks)
        for chunk, found_AB in zip(chunks, bounded_in_order, strict=True):
            for i, row in enumerate(found_AB):
                at = int(row.argmin())
                least[i] = min(least[i], (float(row[at]), chunk[at]))
            done += len(chunk)
            watch(done, len(prompts))
    bounds = [
        Bound(arithmetic.name, margin if math.isfinite(margin) else None, prompt)
        for arithmetic, (margin, prompt) in zip(ARITHMETICS, least, strict=True)
    ]
    return Proof(assumptions=VERSION, bounds=tuple(bounds))


def margins(config: Config, weights: Weights, prompts: list[str], arithmetics: tuple[Arithmetic, ...]) -> Array:
    """Return lower bounds of prompts' margins (arithmetics x prompts), least over the tokens that are generated."""
    tokens, domain = config.tokens, config.task.domain
    outputs = np.array(tokens.outputs(domain[prompt].output for prompt in prompts))
    begun = np.array([[*row, tokens.ids[START]] for row in tokens.prompts(prompts)])
    with np.errstate(all="ignore"):  # what overflows is infinite, what is then unknown is no proof
        ids_BL = np.hstack([begun, outputs[:, :-1]])
        mid_BOV, off_ABOV = bounded(config.model, weights, ids_BL, outputs, Rounding(arithmetics))
    right_BOV = np.arange(mid_BOV.shape[-1]) == outputs[..., None]
    found_ABOV = np.where(right_BOV, np.inf, mid_BOV - off_ABOV)
    found_ABO = np.nan_to_num(found_ABOV, nan=-np.inf, posinf=np.inf, neginf=-np.inf).min(axis=-1)
    stopped_BO = np.cumsum(outputs == STOP_ID, axis=1) - (outputs == STOP_ID) > 0
    least: Array = np.where(stopped_BO, np.inf, found_ABO).min(axis=-1)
    return least


def bounded(
    shape: ModelConfig, weights: Weights, ids_BL: Ids, right_BO: Ids, rounding: Rounding
) -> tuple[Array, Array]:
    """Return the margins of right tokens over each token (BOV), and by how much they may be off (ABOV)."""
    length = ids_BL.shape[1]
    hidden_LL = np.triu(np.ones((length, length), dtype=bool), 1)
    hidden_LL[:, : shape.input_length + 1] = False
    embedding = weights["token_embedding.weight"]
    x = lemmas.embedding(embedding[ids_BL], _positions(shape, weights)[:length], rounding)
    for i in range(shape.layers):
        layer = f"layers.{i}"
        skip = shape.input_length if i == shape.layers - 1 else 0  # nothing is read from the prompt's last layer
        y = _normed(x, f"{layer}.attention_norm", weights, shape.norms == "all", rounding)
        maps, out = _attention(shape, weights, f"{layer}.attention")
        x = lemmas.attention(x, y, maps, out, hidden_LL[skip:], shape.heads, rounding)
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
