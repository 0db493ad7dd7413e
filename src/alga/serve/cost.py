"""The cost of a problem, estimated from its lengths: long problems get worker threads of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

LONG_LOOKUPS: Final = 500_000  # table look-ups: about 50 ms
STEP: Final = 500  # look-ups that take as long as one step by the network
PART: Final = 200  # look-ups that take as long as starting one part of a problem
LARGE: Final = 10_000_000  # prompts times parameters: certifying such a network takes about 50 ms


def parts(verb: str, operands: Sequence[str], base: int) -> tuple[int, int]:
    """Return about how many single-network problems an operation consists of, and the columns of each.

    >>> parts("add", ["65785", "8765"], 10), parts("mul", ["7" * 1000, "8" * 300], 10)
    ((1, 5), (310, 1000))
    """
    lengths = [len(operand.removeprefix("-")) for operand in operands]
    if verb == "mul":  # a multiple for each digit that occurs, and a sum for each digit
        return min(lengths) + base, max(lengths)
    if verb == "divmod":  # for each digit of the quotient: bisection over the multiples, and a subtraction
        return (max(0, lengths[0] - lengths[-1]) + 1) * (base.bit_length() + 1), lengths[-1]
    signs = verb == "sub" or any(operand.startswith("-") for operand in operands)
    return (len(lengths) - 1) * (2 if signs else 1), max(lengths)  # different signs: a comparison, then a subtraction


def is_long(verb: str, operands: Sequence[str], base: int, *, by_network: bool) -> bool:
    """Return whether a problem takes so long that short ones should not wait for it."""
    count, columns = parts(verb, operands, base)
    return count * (PART + columns * (STEP if by_network else 1)) > LONG_LOOKUPS
