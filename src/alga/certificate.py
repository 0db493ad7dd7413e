"""Table against task -> Certificate: the record that the network is right on its whole domain.

Every step of every problem of any length is one prompt of the domain, and greedy decoding is a function of the prompt.
So if every prompt is answered as the task answers it, then by induction over the columns every problem is, whatever
its length. The words: *proven* (a rigorous bound, with its assumptions), *checked* (every prompt, on this machine),
*sampled* (some).
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from alga.errors import AlgaError
from alga.progress import Watch, unwatched
from alga.table import UNCERTAIN, Table, extract
from alga.tasks import Task

if TYPE_CHECKING:
    from alga.decoding import Decode

LARGEST: Final = 2**20  # bytes of a certificate


@dataclass(frozen=True)
class Failure:
    """A prompt that the network gets wrong: what the task says and the text that the network wrote."""

    prompt: str
    expected: str
    produced: str


@dataclass(frozen=True)
class Bound:
    """The least margin that is proven in one arithmetic, and where; none where rounding may take any margin away."""

    arithmetic: str
    margin: float | None
    prompt: str

    @property
    def proven(self) -> bool:
        """Whether every prompt is answered rightly in this arithmetic."""
        return self.margin is not None and 0 < self.margin < math.inf


@dataclass(frozen=True, kw_only=True)
class Proof:
    """What rigorous bounds say of every prompt, under which assumptions (docs/proof.md)."""

    assumptions: str
    bounds: tuple[Bound, ...]

    def covers(self, arithmetic: str) -> bool:
        """Tell whether it is proven in an arithmetic that every prompt is answered rightly."""
        return any(bound.proven for bound in self.bounds if bound.arithmetic == arithmetic)

    @property
    def arithmetics(self) -> str:
        """The arithmetics in which it is proven, in words."""
        return ", ".join(bound.arithmetic for bound in self.bounds if bound.proven) or "none"

    @classmethod
    def of(cls, content: dict[str, Any]) -> Proof:
        """Read a proof from plain values."""
        proof = cls(assumptions=content["assumptions"], bounds=tuple(Bound(**bound) for bound in content["bounds"]))
        if not all(isinstance(bound.margin, float | None) for bound in proof.bounds):
            raise TypeError("a proven margin must be a number or null")
        return proof


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """What was checked, on which weights, and how it ended."""

    certified: bool
    task: str
    strength: str
    prompts: int
    failures: tuple[Failure, ...]
    least_margin: float | None  # None where a logit overflowed
    least_margin_prompt: str
    parameters: int
    sha256: str  # of the weight file
    table_sha256: str
    dtype: str
    batch_sizes: tuple[int, ...]
    machine: dict[str, str | int]  # what it was checked on, and with
    proof: Proof | None = None

    def __post_init__(self) -> None:
        kinds = {"certified": bool, "task": str, "strength": str, "prompts": int, "sha256": str, "table_sha256": str}
        for name, kind in kinds.items():
            if type(getattr(self, name)) is not kind:
                raise TypeError(f"{name} must be {kind.__name__}, got {getattr(self, name)!r}")
        if self.certified and self.failures:
            raise ValueError(f"it claims to be certified with {len(self.failures):,} failures")
        if self.strength == "proven" and not (self.proof is not None and self.proof.covers(self.dtype)):
            raise ValueError(f"it claims to be proven without a proof in {self.dtype}")

    @property
    def statement(self) -> str:
        """The certificate in one sentence."""
        right = self.prompts - len(self.failures)
        if not self.certified:
            return f"not certified: {right:,} of {self.prompts:,} prompts right"
        how = self.strength
        if self.proof is not None:
            others = f"in {self.proof.arithmetics} arithmetic"
            how = f"proven {others}" if self.strength == "proven" else f"{how}; proven {others} only"
        return (
            f"certified for {self.task} of any length ({how}: every one of the {self.prompts:,} prompts); "
            f"least margin {self.least_margin:.2f} at {self.least_margin_prompt}"
        )

    def with_proof(self, proof: Proof) -> Certificate:
        """Return it with a proof: *proven* where that covers the arithmetic that it was checked in."""
        proven = self.certified and proof.covers(self.dtype)
        return replace(self, proof=proof, strength="proven" if proven else self.strength)

    def as_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values, in a stable order."""
        content = asdict(self)
        if self.proof is None:
            del content["proof"]
        return content

    def to_json(self) -> str:
        """Return the certificate as JSON."""
        return json.dumps(self.as_dict(), indent=2, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read a certificate; whether it belongs to given weights is for `runs` to say."""
        try:
            content = json.loads(text)
            content["failures"] = tuple(Failure(**failure) for failure in content["failures"])
            content["batch_sizes"] = tuple(content["batch_sizes"])
            if content.get("proof") is not None:
                content["proof"] = Proof.of(content["proof"])
            return cls(**content)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
            raise AlgaError(f"expected a certificate as JSON, got something else ({problem})") from None


def certify(
    task: Task,
    decode: Decode,
    *,
    sha256: str,
    parameters: int,
    dtype: str,
    batch_sizes: tuple[int, ...],
    machine: dict[str, str | int],
    watch: Watch = unwatched,
) -> tuple[Certificate, Table]:
    """Check every prompt of the domain, in one full batch and alone; return the certificate and the table.

    `watch` is told how many of the prompts have been checked alone.
    """
    table, decoded = extract(task, decode)
    failures: list[Failure] = []
    least: float = math.inf
    where = ""
    for done, (prompt, instance) in enumerate(task.domain.items(), start=1):
        for step in (decoded[prompt], *decode([prompt])):
            # Up to UNCERTAIN another machine or batch may decide otherwise; NaN and overflow fail here too.
            right = step.output == instance.output and UNCERTAIN < step.margin < math.inf
            if not right and not (failures and failures[-1].prompt == prompt):
                failures.append(Failure(prompt, instance.output, step.text))
            margin = step.margin if math.isfinite(step.margin) else -math.inf
            if margin < least:
                least, where = margin, prompt
        watch(done, len(task.domain))
    certificate = Certificate(
        certified=not failures,
        task=task.name,
        strength="checked",
        prompts=len(task.domain),
        failures=tuple(failures),
        least_margin=least if math.isfinite(least) else None,
        least_margin_prompt=where,
        parameters=parameters,
        sha256=sha256,
        table_sha256=table.sha256,
        dtype=dtype,
        batch_sizes=batch_sizes,
        machine=machine,
    )
    return certificate, table
