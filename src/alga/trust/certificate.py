"""Table against task -> Certificate: the record that the network is right on its whole domain.

Every step of every problem of any length is one prompt of the domain, and greedy decoding is a function of the prompt.
So if every prompt is answered as the task answers it, then by induction over the columns every problem is, whatever
its length. Strengths: *kernel-checked* (proven, and a proof assistant's kernel has accepted a theorem about the weights
in the arithmetic they run in), *proven* (a rigorous bound under stated assumptions), *checked* (every prompt, on this
machine), *sampled* (some prompts).
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from alga.base.cancellation import Cancellation
from alga.base.errors import AlgaError
from alga.base.progress import Watch, unwatched
from alga.tasks import Domain
from alga.trust.coq.record import KernelCheck
from alga.trust.table import PROMPTS_AT_ONCE, UNCERTAIN, Answers, Table, extract

if TYPE_CHECKING:
    from alga.network.step import Decode, Step

MAX_CERTIFICATE_BYTES: Final = 2**20
RUNS_IN: Final = "float32"  # a decoder refuses any other format
BOUNDED: Final = ("proven", "kernel-checked")  # strengths with a bound on all rounding
PROMPTS_PER_BLOCK: Final = 256  # between two progress callbacks


@dataclass(frozen=True)
class Failure:
    """A prompt that the network gets wrong: the expected output and the text it wrote."""

    prompt: str
    expected: str
    produced: str


@dataclass(frozen=True)
class Bound:
    """The least margin proven in one number format, and its prompt; None if rounding may exceed the margin."""

    arithmetic: str
    margin: float | None
    prompt: str

    @property
    def proven(self) -> bool:
        """Whether every prompt is proven right in this format."""
        return self.margin is not None and 0 < self.margin < math.inf


@dataclass(frozen=True)
class Outside:
    """The largest share of attention outside a situation, in a text of any length: by which head, and where."""

    share: float
    head: int
    prompt: str


@dataclass(frozen=True, kw_only=True)
class Proof:
    """Rigorous margin bounds over all prompts, and the assumptions they need (docs/proof.md)."""

    assumptions: str
    bounds: tuple[Bound, ...]
    outside: Outside | None = None  # of a network that reads whole texts

    def covers(self, arithmetic: str, margin: float = 0.0) -> bool:
        """Return whether every prompt is proven right in a number format, with at least this margin."""
        found = [bound.margin for bound in self.bounds if bound.arithmetic == arithmetic and bound.proven]
        return any(least is not None and least >= margin for least in found)

    @property
    def arithmetics(self) -> str:
        """The number formats in which it is proven, as text."""
        return ", ".join(bound.arithmetic for bound in self.bounds if bound.proven) or "none"

    @classmethod
    def of(cls, content: dict[str, Any]) -> Proof:
        """Read a proof from parsed JSON."""
        outside = None if content.get("outside") is None else Outside(**content["outside"])
        if outside is not None and not (
            type(outside.share) is float and 0 <= outside.share <= 1 and type(outside.head) is int and outside.head >= 0
        ):
            raise TypeError("attention outside must be a share of a head")
        bounds = tuple(Bound(**bound) for bound in content["bounds"])
        proof = cls(assumptions=content["assumptions"], bounds=bounds, outside=outside)
        if type(proof.assumptions) is not str:
            raise TypeError("a proof must name its assumptions")
        if not all(isinstance(bound.margin, float | None) for bound in proof.bounds):
            raise TypeError("a proven margin must be a number or null")
        return proof


@dataclass(frozen=True, kw_only=True, repr=False)
class Certificate:
    """The result of checking a network on its whole domain, tied to its weights by their hash."""

    certified: bool
    task: str
    strength: str
    prompts: int
    failures: tuple[Failure, ...]
    least_margin: float | None  # None if a logit overflowed
    least_margin_prompt: str
    parameters: int
    sha256: str  # of the weight file
    table_sha256: str
    dtype: str
    batch_sizes: tuple[int, ...]
    machine: dict[str, str | int]  # where it was checked, with which versions
    proof: Proof | None = None
    kernel: KernelCheck | None = None  # what Coq's kernel has checked beside
    altered: str = ""  # hooks or replaced modules that changed what the weights compute

    def __post_init__(self) -> None:
        kinds = {
            "certified": bool, "task": str, "strength": str, "prompts": int, "least_margin_prompt": str,
            "parameters": int, "sha256": str, "table_sha256": str, "dtype": str, "machine": dict, "altered": str,
        }  # fmt: skip
        for name, kind in kinds.items():
            if type(getattr(self, name)) is not kind:
                raise TypeError(f"{name} must be {kind.__name__}, got {getattr(self, name)!r}")
        if self.least_margin is not None and not (
            type(self.least_margin) is float and math.isfinite(self.least_margin)
        ):
            raise TypeError(f"least_margin must be a finite number or null, got {self.least_margin!r}")
        if self.certified and self.failures:
            raise ValueError(f"it claims to be certified with {len(self.failures):,} failures")
        if self.certified and self.strength == "sampled":
            raise ValueError("it claims to be certified by samples")
        if self.certified and self.altered:
            raise ValueError(f"it claims to be certified with an altered network ({self.altered})")
        if self.bounded and not (self.proof is not None and self.proof.covers(self.dtype)):
            raise ValueError(f"it claims to be proven without a proof in {self.dtype}")
        if self.strength == "kernel-checked" and not (self.kernel is not None and self.kernel.covers(self.dtype)):
            raise ValueError(f"it claims to be kernel-checked without a theorem about the network in {self.dtype}")
        if self.kernel is not None and not self.certified:
            raise ValueError("it claims to be kernel-checked without being certified")

    def __repr__(self) -> str:
        right = f"{self.prompts - len(self.failures):,} of {self.prompts:,} prompts right"
        margin = "no margin" if self.least_margin is None else f"least margin {self.least_margin:.2f}"
        verdict = self.strength if self.certified else "not certified"
        return f"Certificate({self.task}: {right}, {verdict}, {margin}, sha256 {self.sha256[:8]}…)"

    @property
    def bounded(self) -> bool:
        """Whether all rounding is bounded, so that it holds for other machines too."""
        return self.strength in BOUNDED

    def has(self, strength: str, margin: float) -> bool:
        """Return whether it is at least *checked* or *proven*; a proof must leave this margin."""
        proven = self.proof is not None and self.proof.covers(self.dtype, margin)
        return self.certified and (strength == "checked" or proven)

    @property
    def statement(self) -> str:
        """The certificate in one sentence."""
        right = self.prompts - len(self.failures)
        if not self.certified:
            why = f"; it was altered: {self.altered}" if self.altered else ""
            if not self.failures and self.strength == "sampled":
                why += "; what lies outside them decides too, so they are a sample"
                if self.proof is not None and self.proof.outside is not None:
                    outside = self.proof.outside
                    where = f"{outside.share:.2g} of head {outside.head + 1}'s attention at {outside.prompt}"
                    why += f": up to {where}; proven in {self.proof.arithmetics} arithmetic, not in {self.dtype}"
            return f"not certified: {right:,} of {self.prompts:,} prompts right{why}"
        how = self.strength
        if self.proof is not None:
            others = f"in {self.proof.arithmetics} arithmetic"
            how = f"proven {others}" if self.bounded else f"{how}; proven {others} only"
            how += f", kernel-checked in {self.dtype}" if self.strength == "kernel-checked" else ""
        return (
            f"certified for {self.task} of any length ({how}: every one of the {self.prompts:,} prompts); "
            f"least margin {self.least_margin:.2f} at {self.least_margin_prompt}"
        )

    def with_proof(self, proof: Proof) -> Certificate:
        """Return a copy with a proof; *proven* if the proof covers the format it was checked in."""
        proven = not self.failures and not self.altered and proof.covers(self.dtype)
        strength = "proven" if proven and not self.bounded else self.strength
        return replace(self, proof=proof, certified=self.certified or proven, strength=strength)

    def with_kernel(self, kernel: KernelCheck) -> Certificate:
        """Return a copy with what a kernel has checked; only a theorem about the network makes it *kernel-checked*."""
        stronger = self.bounded and kernel.covers(self.dtype)
        return replace(self, kernel=kernel, strength="kernel-checked" if stronger else self.strength)

    def as_sample(self) -> Certificate:
        """Return a copy that certifies nothing: the prompts were right, but more than they decides."""
        return replace(self, certified=False, strength="sampled")

    def as_dict(self) -> dict[str, Any]:
        """Return the certificate as JSON-ready values, in a stable order."""
        content = asdict(self)
        if self.proof is not None and self.proof.outside is None:
            del content["proof"]["outside"]
        return {key: value for key, value in content.items() if key not in ("proof", "kernel", "altered") or value}

    def to_json(self) -> str:
        """Return the certificate as JSON."""
        return json.dumps(self.as_dict(), indent=2, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read a certificate; `runs` checks that it belongs to the weights."""
        try:
            content = json.loads(text)
            json.dumps(content, allow_nan=False)  # refuses NaN and numbers that overflow
            content["failures"] = tuple(Failure(**failure) for failure in content["failures"])
            content["batch_sizes"] = tuple(content["batch_sizes"])
            if content.get("proof") is not None:
                content["proof"] = Proof.of(content["proof"])
            if content.get("kernel") is not None:
                content["kernel"] = KernelCheck.of(content["kernel"])
            return cls(**content)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
            raise AlgaError(f"expected a certificate as JSON, got something else ({problem})") from None


def certify(
    domain: Domain,
    decode: Decode,
    *,
    again: Decode | None = None,
    altered: str = "",
    sha256: str,
    parameters: int,
    dtype: str,
    batch_sizes: tuple[int, ...],
    machine: dict[str, str | int],
    watch: Watch = unwatched,
    cancel: Cancellation | None = None,
) -> tuple[Certificate, Table]:
    """Check every prompt of the domain by `decode` and, if given, by `again`; return the certificate and the table.

    A network that was `altered` (by hooks or replaced modules) is never certified.
    """
    answers, failures = Answers(), list[Failure]()
    least: float = math.inf
    where, prompts = "", list(domain)
    for start in range(0, len(prompts), PROMPTS_AT_ONCE):
        block = prompts[start : start + PROMPTS_AT_ONCE]
        once: list[Step] = []
        for at in range(0, len(block), PROMPTS_PER_BLOCK):
            if cancel is not None:
                cancel.check()
            once += decode(block[at : at + PROMPTS_PER_BLOCK])
            watch(start + len(once), len(prompts))
        answers.take(block, once)
        for prompt, *steps in zip(block, once, *([] if again is None else [again(block)]), strict=True):
            expected = domain[prompt].output
            for step in steps:
                # Margins up to UNCERTAIN may flip on another machine; NaN and infinite margins fail here too.
                right = step.output == expected and UNCERTAIN < step.margin < math.inf
                if not right and not (failures and failures[-1].prompt == prompt):
                    failures.append(Failure(prompt, expected, step.text))
                margin = step.margin if math.isfinite(step.margin) else -math.inf
                if margin < least:
                    least, where = margin, prompt
    table = extract(domain, decode, answers)
    certificate = Certificate(
        certified=not failures and not altered,
        task=domain.name,
        strength="checked",
        prompts=len(domain),
        failures=tuple(failures),
        least_margin=least if math.isfinite(least) else None,
        least_margin_prompt=where,
        parameters=parameters,
        sha256=sha256,
        table_sha256=table.sha256,
        dtype=dtype,
        batch_sizes=batch_sizes,
        machine=machine,
        altered=altered,
    )
    return certificate, table
