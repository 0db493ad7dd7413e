"""The number formats that a proof covers.

Each operation has a relative error of at most `unit`, or an absolute error of at most `least` on underflow. A sum of n
terms is then off by at most gamma(n) times the sum of their magnitudes, in any order, with or without fused products.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_MAGNITUDE: Final = 1e30  # bound on intermediate results, so that nothing overflows


@dataclass(frozen=True)
class NumberFormat:
    """A floating-point format: its unit roundoff and least positive normal number."""

    name: str
    unit: float
    least: float


REAL: Final = NumberFormat("real", 0.0, 0.0)
FLOAT64: Final = NumberFormat("float64", 2.0**-53, 2.0**-1022)
FLOAT32: Final = NumberFormat("float32", 2.0**-24, 2.0**-126)
FORMATS: Final = (REAL, FLOAT64, FLOAT32)
