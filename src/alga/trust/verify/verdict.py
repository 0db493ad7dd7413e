r"""The second proof: from the weight file's bytes to proven margins, without torch and without `alga.trust.proof`.

Exact values come from ball arithmetic (python-flint), so nothing depends on this machine's exp or erf; `error_bounds`
adds the rounding errors of each number format. A certificate that states more than is derived here is refused.
"""

from __future__ import annotations

import hashlib
import importlib.util
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from alga.base.errors import AlgaError, missing_extra
from alga.base.progress import Watch, unwatched
from alga.network.config import ModelConfig
from alga.network.kinds import AnyShape
from alga.network.reader_config import ReaderConfig
from alga.network.texts import Texts
from alga.network.tokens import PAD, START, STOP, Tokens
from alga.tasks import Domain, Task, Whole
from alga.trust.assumptions import EARLIER, TEXT_VERSION, VERSION
from alga.trust.certificate import RUNS_IN, Certificate

Array = NDArray[np.float64]

PROMPTS_PER_BATCH: Final = 16
SITUATIONS_PER_BATCH: Final = 128


@dataclass
class Verdict:
    """What was derived from the weights, and the objections to the certificate."""

    task: str
    prompts: int
    sha256: str
    real: float = math.inf  # lower bound of the least margin without rounding
    real_above: float = math.inf  # its upper bound
    proven: dict[str, float] = field(default_factory=dict)  # the least margin in each number format
    objections: list[str] = field(default_factory=list)
    assumptions: str = VERSION
    outside: float | None = None  # the largest share of attention outside a situation, of a network that reads texts

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values; an unknown margin is null."""
        margins = {"real": self.real, **self.proven}
        return {
            "task": self.task,
            "prompts": self.prompts,
            "sha256": self.sha256,
            "assumptions": self.assumptions,
            "margins": {name: margin if math.isfinite(margin) else None for name, margin in margins.items()},
            **({} if self.outside is None else {"outside": self.outside}),
            "objections": self.objections,
        }

    @property
    def agrees(self) -> bool:
        """Whether everything the certificate states was derived here too."""
        return not self.objections


def verify(
    task: Task,
    shape: AnyShape,
    data: bytes,
    certificate: Certificate,
    watch: Watch = unwatched,
    only: int | None = None,
) -> Verdict:
    """Derive all margins from the bytes of a weight file and compare the certificate with them.

    `only` limits the check to the first prompts, for tests.
    """
    if importlib.util.find_spec("flint") is None:
        raise missing_extra("verification", "python-flint", "proof")
    prompts = list(task.domain)[:only]
    if isinstance(shape, ReaderConfig):
        found = derive_reader(Texts.of(cast(Whole, task)), shape, data, prompts, watch)
    else:
        found = derive(task.domain, shape, data, prompts, watch)
    found.objections += objections(certificate, found)
    return found


def derive(domain: Domain, shape: ModelConfig, data: bytes, prompts: list[str], watch: Watch = unwatched) -> Verdict:
    """Derive the margins of prompts from the bytes of a weight file."""
    from alga.trust.verify.balls import BallNetwork, tensors  # noqa: PLC0415 - optional

    found, tokens = Verdict(domain.name, len(domain), hashlib.sha256(data).hexdigest()), Tokens.of(domain)
    with _exactly():
        with _fitting():
            network = BallNetwork(shape, tensors(data))
        for start in range(0, len(prompts), PROMPTS_PER_BATCH):
            _judge(network, domain, tokens, prompts[start : start + PROMPTS_PER_BATCH], found)
            watch(min(start + PROMPTS_PER_BATCH, len(prompts)), len(prompts))
    return found


def derive_reader(
    texts: Texts, shape: ReaderConfig, data: bytes, prompts: list[str], watch: Watch = unwatched
) -> Verdict:
    """Derive the margins of situations, in texts of any length, from the bytes of a weight file."""
    from alga.trust.verify.balls import tensors  # noqa: PLC0415 - optional
    from alga.trust.verify.readers import ReaderNetwork  # noqa: PLC0415

    domain = texts.task.domain
    found = Verdict(domain.name, len(domain), hashlib.sha256(data).hexdigest(), assumptions=TEXT_VERSION)
    with _exactly():
        with _fitting():
            network = ReaderNetwork(shape, texts, tensors(data))
        for start in range(0, len(prompts), SITUATIONS_PER_BATCH):
            _judge_situations(network, texts, prompts[start : start + SITUATIONS_PER_BATCH], found)
            watch(min(start + SITUATIONS_PER_BATCH, len(prompts)), len(prompts))
    return found


@contextmanager
def _exactly() -> Iterator[None]:
    """Compute with balls of BITS bits, and restore the precision."""
    from flint import ctx  # noqa: PLC0415 - optional

    from alga.trust.verify.balls import BITS  # noqa: PLC0415 - likewise

    bits, ctx.prec = ctx.prec, BITS
    try:
        yield
    finally:
        ctx.prec = bits


@contextmanager
def _fitting() -> Iterator[None]:
    """Blame the weights for anything that goes wrong while they are read."""
    try:
        yield
    except (KeyError, ValueError, IndexError, TypeError) as problem:
        raise AlgaError(f"the weights do not fit their configuration ({problem})") from None


def _judge_situations(network: object, texts: Texts, prompts: list[str], found: Verdict) -> None:
    """Update the least margins with those of these situations, less all that lies outside them can change."""
    from alga.trust.verify.error_bounds import SLACK  # noqa: PLC0415 - optional
    from alga.trust.verify.readers import FORMATS, ReaderErrors, ReaderNetwork, ReaderValues  # noqa: PLC0415

    assert isinstance(network, ReaderNetwork)
    domain, (kinds_BN, distances_BN) = texts.task.domain, texts.situations(prompts)
    right_B1 = np.array([[texts.ids[domain[prompt].output]] for prompt in prompts])
    values = ReaderValues(network, kinds_BN, distances_BN)
    above = math.inf
    for logits, (at,) in zip(values.logits, right_B1.tolist(), strict=True):
        above = min(above, *(float((logits[at] - logit).upper()) for v, logit in enumerate(logits) if v != at))
    for name in FORMATS:
        with np.errstate(all="ignore"):  # NaN proves nothing
            errors = ReaderErrors(network, values, name)
            lost_BV = errors.lost(kinds_BN, right_B1)[:, 0] * SLACK
            logits_BV = values.kept["logits"][:, 0]
            sure_BV = np.take_along_axis(logits_BV, right_B1, -1) - logits_BV - lost_BV - values.tiny
        np.put_along_axis(sure_BV, right_B1, np.inf, -1)
        least = float(np.nan_to_num(sure_BV, nan=-np.inf, posinf=np.inf, neginf=-np.inf).min())
        if name == "real":
            found.outside = max(found.outside or 0.0, errors.share)
            found.real = min(found.real, least)
            found.real_above = min(found.real_above, above + float(np.nan_to_num(lost_BV, nan=1e9).max()))
        else:
            found.proven[name] = min(found.proven.get(name, math.inf), least)


def _judge(network: object, domain: Domain, tokens: Tokens, prompts: list[str], found: Verdict) -> None:
    """Update the least margins with those of these prompts."""
    from alga.trust.verify.balls import BallNetwork, ExactValues  # noqa: PLC0415 - optional
    from alga.trust.verify.error_bounds import SLACK, UNITS, ErrorBounds  # noqa: PLC0415
    from alga.trust.verify.gradients import MOST_LAYERS, GradientBounds  # noqa: PLC0415

    assert isinstance(network, BallNetwork)
    length = tokens.output_length
    written = [f"{domain[prompt].output}{STOP}" for prompt in prompts]
    right_BQ = np.array([[tokens.ids[token] for token in text.ljust(length, STOP)] for text in written])
    begun = [[tokens.ids[token] for token in prompt.ljust(tokens.input_length, PAD) + START] for prompt in prompts]
    values = ExactValues(network, np.hstack([np.array(begun), right_BQ[:, :-1]]))
    for b, text in enumerate(written):
        for place in range(len(text)):  # nothing is generated after the stop token
            logits = values.logits[b * length + place]
            right = logits[right_BQ[b, place]]
            margins = [right - logit for v, logit in enumerate(logits) if v != right_BQ[b, place]]
            found.real = min(found.real, *(float(margin.lower()) for margin in margins))
            found.real_above = min(found.real_above, *(float(margin.upper()) for margin in margins))
    logits_BQV, at = values.kept["logits"], right_BQ[..., None]
    real_BQV = np.take_along_axis(logits_BQV, at, -1) - logits_BQV
    np.put_along_axis(real_BQV, at, np.inf, -1)
    generated_BQ = np.arange(length) < np.array([len(text) for text in written])[:, None]
    for name in UNITS:
        with np.errstate(all="ignore"):  # NaN proves nothing
            sure_BQV = _numbers(real_BQV - ErrorBounds(network, values, name).margins(right_BQ) * SLACK)
            loose_BQ = (sure_BQV < real_BQV / 2).any(axis=-1) & generated_BQ
            open_B = np.any(loose_BQ, axis=-1)
            if open_B.any() and network.shape.layers <= MOST_LAYERS:
                tighter = GradientBounds(network, values.some(open_B), name).margins(right_BQ[open_B])
                sure_BQV[open_B] = np.maximum(sure_BQV[open_B], _numbers(real_BQV[open_B] - tighter * SLACK))
        least = float(sure_BQV[generated_BQ].min())
        found.proven[name] = min(found.proven.get(name, math.inf), least)


def _numbers(margins: Array) -> Array:
    """Return margins with minus infinity where they are unknown."""
    return np.nan_to_num(margins, nan=-np.inf, posinf=np.inf, neginf=-np.inf)


def objections(certificate: Certificate, found: Verdict) -> list[str]:
    """List the certificate's statements that were not derived.

    Where it calls a format proven, the margin derived here must be positive too, but may be smaller, because the bounds
    differ. No proven margin may exceed the real one; the measured margin may, by at most the rounding error.
    """
    wrong = []
    if certificate.sha256 != found.sha256:
        wrong.append(f"it is for the weights {certificate.sha256[:12]}…, these are {found.sha256[:12]}…")
    if (certificate.task, certificate.prompts) != (found.task, found.prompts):
        wrong.append(f"it is for {certificate.prompts:,} prompts of {certificate.task}, not {found.prompts:,}")
    if not certificate.certified:
        wrong.append("it certifies nothing")
    if not found.real > 0:
        wrong.append(f"a prompt is answered wrongly: its margin is {found.real:.4g} without any rounding")
    if certificate.proof:
        version = certificate.proof.assumptions
        if EARLIER.get(version, version) != found.assumptions:  # earlier ones assume more, so they hold where these do
            wrong.append(f"it rests on the assumptions {version}, not {found.assumptions}")
    for bound in certificate.proof.bounds if certificate.proof else ():
        here = found.real if bound.arithmetic == "real" else found.proven.get(bound.arithmetic, -math.inf)
        if bound.proven and not here > 0:
            wrong.append(f"it is not proven here in {bound.arithmetic} arithmetic (margin {here:.4g})")
        if bound.proven and bound.margin is not None and bound.margin > found.real_above:
            wrong.append(
                f"it states a margin of {bound.margin} in {bound.arithmetic}; the real one is {found.real:.4g}"
            )
    if certificate.dtype != RUNS_IN:
        wrong.append(f"it is for networks that run in {certificate.dtype}; this one runs in {RUNS_IN}")
    stated = certificate.proof.outside.share if certificate.proof and certificate.proof.outside else None
    if found.outside and (stated is None or stated < 0.99 * found.outside):
        wrong.append(f"it states {stated} of attention outside the situations; here it is up to {found.outside:.3g}")
    rounded = found.real_above - found.proven.get(certificate.dtype, -math.inf)  # the most that rounding can change
    if certificate.least_margin is not None and certificate.least_margin > found.real_above + rounded:
        wrong.append(f"it states a measured margin of {certificate.least_margin}; the real one is {found.real:.4g}")
    return wrong
