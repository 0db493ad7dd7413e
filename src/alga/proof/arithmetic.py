"""The arithmetics that a proof covers, and what it assumes of whatever computes in them.

Each operation's result is the exact one to a relative error of at most `unit`, or to an absolute one of `least` where
it underflows or is flushed to zero. A sum of n terms then errs by at most gamma(n) times the sum of their magnitudes,
in whatever order it is taken and with products fused or not. docs/proof.md derives all that follows from this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

VERSION: Final = "ieee-1"  # of the assumptions below: a certificate names it
EXP_UNITS: Final = 8  # for each position attended to, and one
ERF_UNITS: Final = 16
LARGEST: Final = 1e30  # what no intermediate result exceeds, so that nothing overflows

ASSUMPTIONS: Final = (
    "the weights are read exactly, as the float32 numbers that the file with this hash holds",
    "sums, products, quotients and square roots are rounded as IEEE 754 has it: to nearest, fused with an addition or "
    "not; what underflows may be kept or flushed to zero",
    "sums may be taken in any order, on any number of threads, lanes or blocks (no Strassen-like products, no TF32, "
    "bfloat16 or other shorter formats)",
    f"exp in a softmax over L positions has a relative error of at most {EXP_UNITS} (L + 1) units, all rescalings of an "
    "online softmax together; the (running) maximum is subtracted first",
    f"1 + erf has an absolute error of at most {ERF_UNITS} units (1 unit: 2^-24 in float32, 2^-53 in float64); GELU is "
    "the exact one, not its tanh fit",
    "LayerNorm takes its moments in two passes, as sums of squares, or by Welford's updates and merging of parts (the "
    "smaller into the larger), in any order; 1/sqrt has a relative error of at most 4 units",
    "the proof's own float64 arithmetic (numpy, torch.erf) keeps the same rules; `alga verify` does not rest on it",
)

COVERED: Final = (
    "torch's eager operations on CPU, and alga's own compiled code (checked by sampling: tests stay inside the bounds)",
    "batches of any size, cached keys and values, padding, any number of threads",
    "scores scaled before or after the product; a plain or online softmax, so fused attention in full precision",
    "ONNX Runtime's CPU kernels, as far as they keep the assumptions (checked by sampling)",
)


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
