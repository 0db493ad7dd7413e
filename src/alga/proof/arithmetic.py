"""The arithmetics that a proof covers.

Each operation's result is the exact one to a relative error of at most `unit`, or to an absolute one of `least` where
it underflows or is flushed to zero. A sum of n terms then errs by at most gamma(n) times the sum of their magnitudes,
in whatever order it is taken and with products fused or not. docs/proof.md derives all that follows from this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LARGEST: Final = 1e30  # what no intermediate result exceeds, so that nothing overflows


@dataclass(frozen=True)
class Arithmetic:
    """One way to compute: the unit roundoff and the least positive normal number."""

    name: str
    unit: float
    least: float


REAL: Final = Arithmetic("real", 0.0, 0.0)
FLOAT64: Final = Arithmetic("float64", 2.0**-53, 2.0**-1022)
FLOAT32: Final = Arithmetic("float32", 2.0**-24, 2.0**-126)
ARITHMETICS: Final = (REAL, FLOAT64, FLOAT32)
