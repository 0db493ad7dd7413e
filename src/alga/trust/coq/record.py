"""What a kernel has checked: the record in a certificate.

A *kernel-checked table* says that the loop with this table is right for all numbers. Only a *kernel-checked network*
says it of the weights, in the arithmetic it names; one in the arithmetic that the network runs in is a strength of its
own, *kernel-checked*.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

TABLE: Final = "table"
NETWORK: Final = "network, in real arithmetic"
FLOAT32: Final = "network, in float32, whatever the order of summation"

# Coq's axioms of the real numbers, which a network's theorems rest on; a table's has none.
REAL_AXIOMS: Final = (
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
)
NETWORK_IN: Final = {"real": NETWORK, "float32": FLOAT32}
ALLOWED: Final[dict[str, tuple[str, ...]]] = {TABLE: (), NETWORK: REAL_AXIOMS, FLOAT32: REAL_AXIOMS}


@dataclass(frozen=True)
class Theorem:
    """A theorem as Coq prints it, what it is about, and the axioms it rests on."""

    subject: str
    statement: str
    axioms: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.subject not in ALLOWED:
            raise ValueError(f"a kernel-checked theorem is about a {' or a '.join(ALLOWED)}, not {self.subject!r}")
        if type(self.statement) is not str or not self.statement:
            raise TypeError("a theorem needs a statement")
        if strange := sorted(set(self.axioms) - set(ALLOWED[self.subject])):
            raise ValueError(f"the theorem about the {self.subject} rests on {', '.join(strange)}")


@dataclass(frozen=True, kw_only=True)
class KernelCheck:
    """What coqc accepted, in which version, of which development, and how long it took."""

    coq: str
    development: str  # the hash of the files in `theories/`
    seconds: float
    theorems: tuple[Theorem, ...]

    @classmethod
    def of(cls, content: dict[str, Any]) -> KernelCheck:
        """Read it from parsed JSON."""
        theorems = tuple(
            Theorem(each["subject"], each["statement"], tuple(each["axioms"])) for each in content["theorems"]
        )
        check = cls(**{**content, "theorems": theorems})
        kinds = {"coq": str, "development": str, "seconds": float}
        if not theorems or any(type(getattr(check, name)) is not kind for name, kind in kinds.items()):
            raise TypeError("a kernel's check needs a version, a hash, seconds and theorems")
        return check

    def covers(self, arithmetic: str) -> bool:
        """Return whether the network itself, and not only its table, is kernel-checked in a number format."""
        return any(theorem.subject == NETWORK_IN.get(arithmetic) for theorem in self.theorems)

    @property
    def subjects(self) -> str:
        """What is kernel-checked, as text."""
        return "; ".join(f"kernel-checked {theorem.subject}" for theorem in self.theorems)
