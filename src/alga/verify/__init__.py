r"""A second proof, by itself: from the weight file's bytes to proven margins, without torch and without `alga.proof`.

Exact values come from ball arithmetic (python-flint), so nothing rests on this machine's exp or erf; around them the
errors of an arithmetic are followed (`straying.py`). A certificate is refused where it states more than is derived.
"""

from __future__ import annotations

import hashlib
import importlib.util
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from alga import config as configs
from alga import files, seal
from alga.assumptions import VERSION
from alga.certificate import LARGEST, Certificate
from alga.config import Config
from alga.errors import AlgaError, lacking
from alga.progress import Watch, unwatched
from alga.tokens import PAD, START, STOP

CHUNK: Final = 16  # prompts


@dataclass
class Verdict:
    """What was derived from the weights, and where the certificate says more than that."""

    task: str
    prompts: int
    sha256: str
    real: float = math.inf  # the least margin without any rounding, from below
    real_above: float = math.inf  # the same from above
    proven: dict[str, float] = field(default_factory=dict)  # the least margin in each arithmetic
    objections: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain values; a margin that is unknown is null."""
        margins = {"real": self.real, **self.proven}
        return {
            "task": self.task,
            "prompts": self.prompts,
            "sha256": self.sha256,
            "assumptions": VERSION,
            "margins": {name: margin if math.isfinite(margin) else None for name, margin in margins.items()},
            "objections": self.objections,
        }

    @property
    def agrees(self) -> bool:
        """Whether what the certificate states of the network's answers and margins was derived here too."""
        return not self.objections


def verify(folder: Path, watch: Watch = unwatched, only: int | None = None) -> Verdict:
    """Derive every prompt's margins from a run's weights, and hold its certificate against them.

    `only` looks at the first so many prompts alone: for tests.
    """
    if importlib.util.find_spec("flint") is None:
        raise lacking("verification", "python-flint", "proof")
    config = configs.load(folder)
    try:
        data = files.read(folder / "model.safetensors", seal.LARGEST)
        stated = files.read(folder / "certificate.json", LARGEST)
    except FileNotFoundError as missing:
        raise AlgaError(f"{folder} has no {Path(missing.filename).name}: nothing to verify") from None
    certificate = Certificate.from_json(stated.decode(errors="replace"))
    config.check_identity(data, folder / "model.safetensors")
    found = derived(config, data, list(config.task.domain)[:only], watch)
    found.objections += objections(certificate, found)
    return found


def derived(config: Config, data: bytes, prompts: list[str], watch: Watch = unwatched) -> Verdict:
    """Return what the bytes of a weight file prove about prompts."""
    from flint import ctx  # noqa: PLC0415 - optional

    from alga.verify.balls import BITS, Network, tensors  # noqa: PLC0415 - likewise

    found = Verdict(config.task.name, len(config.task.domain), hashlib.sha256(data).hexdigest())
    bits, ctx.prec = ctx.prec, BITS
    try:
        try:
            network = Network(config.model, tensors(data))
        except (KeyError, ValueError, IndexError, TypeError) as problem:
            raise AlgaError(f"the weights do not fit their configuration ({problem})") from None
        for start in range(0, len(prompts), CHUNK):
            _judge(network, config, prompts[start : start + CHUNK], found)
            watch(min(start + CHUNK, len(prompts)), len(prompts))
    finally:
        ctx.prec = bits
    return found


def _judge(network: object, config: Config, prompts: list[str], found: Verdict) -> None:
    """Lower the margins found so far to those of these prompts."""
    from alga.verify.balls import Network, Values  # noqa: PLC0415 - optional
    from alga.verify.straying import MORE, UNITS, Straying  # noqa: PLC0415

    assert isinstance(network, Network)
    tokens = config.tokens
    length = tokens.output_length
    written = [f"{config.task.domain[prompt].output}{STOP}" for prompt in prompts]
    right_BQ = np.array([[tokens.ids[token] for token in text.ljust(length, STOP)] for text in written])
    begun = [[tokens.ids[token] for token in prompt.ljust(tokens.input_length, PAD) + START] for prompt in prompts]
    values = Values(network, np.hstack([np.array(begun), right_BQ[:, :-1]]))
    for b, text in enumerate(written):
        for place in range(len(text)):  # what would follow the stop token is never generated
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
        with np.errstate(all="ignore"):  # what is unknown is no proof
            sure = (real_BQV - Straying(network, values, name).margins(right_BQ) * MORE)[generated_BQ]
        least = float(np.nan_to_num(sure, nan=-np.inf, posinf=np.inf, neginf=-np.inf).min())
        found.proven[name] = min(found.proven.get(name, math.inf), least)


def objections(certificate: Certificate, found: Verdict) -> list[str]:
    """Say what the certificate states and was not derived.

    Where it calls an arithmetic proven, the margin derived here must be positive too; it may be smaller than the stated
    one, because bounds differ. No proven margin may exceed the real one, which rounding only takes away from; the one
    that was measured may, by what rounding may do.
    """
    said = []
    if certificate.sha256 != found.sha256:
        said.append(f"it is for the weights {certificate.sha256[:12]}…, these are {found.sha256[:12]}…")
    if (certificate.task, certificate.prompts) != (found.task, found.prompts):
        said.append(f"it is for {certificate.prompts:,} prompts of {certificate.task}, not {found.prompts:,}")
    if not certificate.certified:
        said.append("it certifies nothing")
    if not found.real > 0:
        said.append(f"a prompt is not answered rightly: its margin is {found.real:.4g} without any rounding")
    if certificate.proof and certificate.proof.assumptions != VERSION:
        said.append(f"it rests on the assumptions {certificate.proof.assumptions}, not {VERSION}")
    for bound in certificate.proof.bounds if certificate.proof else ():
        here = found.real if bound.arithmetic == "real" else found.proven.get(bound.arithmetic, -math.inf)
        if bound.proven and not here > 0:
            said.append(f"it is not proven here in {bound.arithmetic} arithmetic (margin {here:.4g})")
        if bound.proven and bound.margin is not None and bound.margin > found.real_above:
            said.append(f"it states a margin of {bound.margin} in {bound.arithmetic}; the real one is {found.real:.4g}")
    rounded = found.real_above - found.proven.get(certificate.dtype, -math.inf)  # at most, where the real one is least
    if certificate.least_margin is not None and certificate.least_margin > found.real_above + rounded:
        said.append(f"it states a measured margin of {certificate.least_margin}; the real one is {found.real:.4g}")
    return said
