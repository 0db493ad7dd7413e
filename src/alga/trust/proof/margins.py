r"""The proof: rigorous lower bounds on the margins of every prompt, in each number format.

Each prompt is evaluated with its right output appended: the causal mask hides later tokens, so one evaluation gives the
logits of every token that greedy decoding generates while it is right. The proof holds in a format if, at every
position of every prompt, the right token's logit exceeds all others by more than rounding can take away.
docs/rounding.md has the lemmas; `alga verify` is an independent second proof.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np

from alga.base.progress import Watch, unwatched
from alga.network.config import ModelConfig
from alga.network.tokens import START, STOP_ID, Tokens
from alga.tasks import Domain
from alga.trust.assumptions import VERSION
from alga.trust.certificate import Bound, Proof
from alga.trust.proof import adjoint, lemmas, parameters
from alga.trust.proof.adjoint_errors import Units
from alga.trust.proof.bounds import FORMATS, REAL, Array, Ids, NumberFormat
from alga.trust.proof.lemmas import Ball
from alga.trust.proof.parameters import Weights
from alga.trust.proof.rounding import Rounding

PROMPTS_PER_BATCH: Final = 64  # bounds the memory of a proof
PROMPTS_PER_TIGHTER_BATCH: Final = 8


def prove(
    domain: Domain,
    shape: ModelConfig,
    weights: Weights,
    watch: Watch = unwatched,
    threads: int | None = None,
    *,
    tighter: bool = False,
) -> Proof:
    """Bound the margins of all prompts of the task; `weights` are named as in the weight file.

    The first method bounds every prompt. In formats that it does not prove, or in all if `tighter`, the second, which
    takes longer, bounds those prompts that may have the least margin. Chunks of prompts run on `threads` threads, by
    default one per core.
    """
    tokens = Tokens.of(domain)
    prompts = sorted(domain, key=lambda prompt: len(domain[prompt].output))  # so that a chunk computes few tokens more

    def first(chunk: list[str]) -> Array:
        return margins(domain, shape, weights, chunk, FORMATS, tokens)

    def second(chunk: list[str]) -> Array:
        return tighter_margins(domain, shape, weights, chunk, FORMATS, tokens)

    def watch_second(done: int, of: int) -> None:
        watch(len(prompts) + done, len(prompts) + of)

    found_AN = np.hstack([*_in_chunks(first, prompts, PROMPTS_PER_BATCH, watch, threads)])
    wanted_A1 = np.full((len(FORMATS), 1), tighter) | (found_AN.min(axis=1, keepdims=True) <= 0)
    # No bound exceeds the exact margin, so prompts above the least exact one cannot lower the result.
    open_N = (wanted_A1 & (found_AN < found_AN[FORMATS.index(REAL)].min())).any(axis=0)
    if shape.layers <= adjoint.MOST_LAYERS and found_AN[FORMATS.index(REAL)].min() > 0 and open_N.any():
        chosen = [prompt for prompt, is_open in zip(prompts, open_N, strict=True) if is_open]
        again_AN = np.hstack([*_in_chunks(second, chosen, PROMPTS_PER_TIGHTER_BATCH, watch_second, threads)])
        found_AN[:, open_N] = np.where(wanted_A1, np.maximum(found_AN[:, open_N], again_AN), found_AN[:, open_N])
    least = [min(zip(row, prompts, strict=True)) for row in found_AN.tolist()]
    bounds = [
        Bound(each.name, margin if math.isfinite(margin) else None, prompt)
        for each, (margin, prompt) in zip(FORMATS, least, strict=True)
    ]
    return Proof(assumptions=VERSION, bounds=tuple(bounds))


def _in_chunks(
    bound: Callable[[list[str]], Array], prompts: list[str], size: int, watch: Watch, threads: int | None
) -> Iterator[Array]:
    chunks = [prompts[start : start + size] for start in range(0, len(prompts), size)]
    done = 0
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        for chunk, found_AB in zip(chunks, pool.map(bound, chunks), strict=True):
            yield found_AB
            done += len(chunk)
            watch(done, len(prompts))


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
    ids_BL, right_BO = laid_out(domain, prompts, tokens or Tokens.of(domain))
    with np.errstate(all="ignore"):  # overflow gives inf or NaN, which prove nothing
        return least_margins(right_BO, *bounded(shape, weights, ids_BL, right_BO, Rounding(formats)))


def tighter_margins(
    domain: Domain,
    shape: ModelConfig,
    weights: Weights,
    prompts: list[str],
    formats: tuple[NumberFormat, ...],
    tokens: Tokens | None = None,
) -> Array:
    """Return such bounds by the second method."""
    ids_BL, right_BO = laid_out(domain, prompts, tokens or Tokens.of(domain))
    with np.errstate(all="ignore"):
        return least_margins(right_BO, *adjoint.bounded(shape, weights, ids_BL, right_BO, Units.of(formats)))


def laid_out(domain: Domain, prompts: list[str], tokens: Tokens) -> tuple[Ids, Ids]:
    """Return prompts followed by their right outputs as ids, and the ids of the right tokens."""
    longest = max(len(domain[prompt].output) for prompt in prompts) + 1
    right_BO = np.array(tokens.outputs(domain[prompt].output for prompt in prompts))[:, :longest]
    begun = np.array([[*row, tokens.ids[START]] for row in tokens.prompts(prompts)])
    return np.hstack([begun, right_BO[:, :-1]]), right_BO


def least_margins(right_BO: Ids, mid_BOV: Array, off_ABOV: Array) -> Array:
    """Return each prompt's least margin minus its bound, over all other tokens up to the stop token."""
    right_BOV = np.arange(mid_BOV.shape[-1]) == right_BO[..., None]
    found_ABOV = np.where(right_BOV, np.inf, mid_BOV - off_ABOV)
    found_ABO = np.nan_to_num(found_ABOV, nan=-np.inf, posinf=np.inf, neginf=-np.inf).min(axis=-1)
    stopped_BO = np.cumsum(right_BO == STOP_ID, axis=1) - (right_BO == STOP_ID) > 0
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
    x = lemmas.embedding(embedding[ids_BL], parameters.positions(shape, weights)[:length], rounding)
    for i in range(shape.layers):
        layer = f"layers.{i}"
        skip = shape.input_length if i == shape.layers - 1 else 0  # no logits are read at the prompt's positions
        y = _normed(x, f"{layer}.attention_norm", weights, shape.norms == "all", rounding)
        maps, out = parameters.attention(shape, weights, f"{layer}.attention")
        x = lemmas.attention(x, y, maps, out, hidden_LL[skip:], shape.heads, rounding, longest)
        y = _normed(x, f"{layer}.feed_forward_norm", weights, shape.norms != "none", rounding)
        first, second = (parameters.affine(weights, f"{layer}.feed_forward.{place}") for place in (0, 2))
        x = lemmas.feed_forward(x, y, first, second, rounding)
    y = _normed(x, "final_norm", weights, shape.norms == "all", rounding)
    return lemmas.margins(y, parameters.head(shape, weights), right_BO, rounding)


def _normed(x: Ball, name: str, weights: Weights, there: bool, rounding: Rounding) -> Ball:
    if not there:
        return x
    return lemmas.norm(x, parameters.gain(weights, name, x.mid_BLD.shape[-1]), rounding)
