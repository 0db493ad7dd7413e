"""What *proven* assumes about floating-point code, and which implementations that covers.

docs/rounding.md derives all bounds from these assumptions; a certificate names their version.
"""

from __future__ import annotations

import math
from typing import Final

VERSION: Final = "ieee-2"  # of the assumptions below
TEXT_VERSION: Final = "ieee-text-2"  # of those for networks that read texts of any length
EXP_UNITS: Final = 8  # times (positions + 1), but not in a text of any length
GAP_UNITS: Final = 3  # more, for each unit by which a score lies below the largest: 2^(x log2 e) errs so
ZERO_FROM: Final = {"float32": 105, "float64": 750}  # exp of minus this or less is exactly zero
ERF_UNITS: Final = 16
_BY_GAP: Final = f" and {GAP_UNITS} for each unit by which a score lies below the largest (2^(x log2 e) errs so)"

ASSUMPTIONS: Final = (
    "the weights are read exactly, as the float32 numbers that the file with this hash holds",
    "sums, products, quotients and square roots are rounded as IEEE 754 has it: to nearest, fused with an addition or "
    "not; what underflows may be kept or flushed to zero",
    "sums may be taken in any order, on any number of threads, lanes or blocks (no Strassen-like products, no TF32, "
    "bfloat16 or other shorter formats)",
    f"exp in a softmax over L positions has a relative error of at most {EXP_UNITS} (L + 1) units{_BY_GAP}, with "
    "all rescalings of an online softmax; the (running) maximum is subtracted first",
    f"1 + erf has an absolute error of at most {ERF_UNITS} units (1 unit: 2^-24 in float32, 2^-53 in float64); GELU is "
    "the exact one, not its tanh fit",
    "LayerNorm takes its moments in two passes, as sums of squares, or by Welford's updates and merging of parts (the "
    "smaller into the larger), in any order; 1/sqrt has a relative error of at most 4 units",
)

COVERED: Final = (
    "torch's eager operations on CPU at the widths of the shipped networks (docs/proof.md says at which others), and "
    "alga's own compiled code (checked by sampling: tests stay inside the bounds)",
    "batches of any size, cached keys and values, padding, any number of threads",
    "scores scaled before or after the product; a plain or online softmax, so fused attention on CPU in full precision",
    "ONNX Runtime's CPU kernels, as far as they keep the assumptions (checked by sampling)",
)

TEXT_ASSUMPTIONS: Final = (
    ASSUMPTIONS[0],
    f"{ASSUMPTIONS[1]}; so adding zero changes nothing, and zero times a number is zero",
    ASSUMPTIONS[2],
    "the largest score that a token gives is first subtracted from all (an online softmax, which rescales while "
    f"it reads, is not covered); exp has a relative error of at most {EXP_UNITS} units{_BY_GAP}, or an "
    f"absolute one of at most the least normal number; it is exactly zero below -{ZERO_FROM['float32']} in float32, "
    f"-{ZERO_FROM['float64']} in float64",
    "what a distance adds to a score is the stored number up to the reach, and beyond it that number minus the slope "
    "times the places, each operation rounded as above",
    *ASSUMPTIONS[4:],
)

TEXT_COVERED: Final = (
    "torch's eager operations on CPU over whole texts, and alga's own compiled code, which keeps keys and values and "
    "leaves out tokens whose weight is exactly zero (checked by sampling)",
    "texts of any length, in batches of any size, on any number of threads",
)

# Certificates of earlier versions assume a little more: that exp's error does not grow with the distance.
EARLIER: Final = {"ieee-1": VERSION, "ieee-text-1": TEXT_VERSION}
_SETS: Final = {VERSION: (ASSUMPTIONS, COVERED), TEXT_VERSION: (TEXT_ASSUMPTIONS, TEXT_COVERED)}


def assumed(version: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the assumptions of a version and what they cover; nothing if this package does not know the version."""
    assumptions, covered = _SETS.get(EARLIER.get(version, version), ((), ()))
    if version in EARLIER:
        assumptions = tuple(each.replace(_BY_GAP, "") for each in assumptions)
    return assumptions, covered


def at_least(margin: float, places: int = 4) -> str:
    """Format a margin rounded down, so that the printed bound is proven too.

    >>> at_least(11.85789)
    '11.8578'
    """
    return f"{math.floor(margin * 10**places) / 10**places:.{places}f}"
