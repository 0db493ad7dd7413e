"""What a problem costs, told from its lengths before any of it is computed: long ones have desks of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

LONG: Final = 500_000  # columns looked up in a table: about 50 ms
STEP: Final = 500  # columns that are looked up in the time of one step by the network
PART: Final = 200  # columns that are looked up in the time that it takes to begin a part of a problem
LARGE: Final = 10_000_000  # prompts times parameters: judging such a network takes about 50 ms


def parts(verb: str, operands: Sequence[str], base: int) -> tuple[int, int]:
    """Return about how many parts a problem has that are one network's each, and the columns of each.

    >>> parts("add", ["65785", "8765"], 10), parts("mul", ["7" * 1000, "8" * 300], 10)
    ((1, 5), (310, 1000))
    """
    lengths = [len(operand.removeprefix("-")) for operand in operands]
    if verb == "mul":  # each digit's multiple, and a sum for each digit
        return min(lengths) + base, max(lengths)
    if verb == "divmod":  # at every place the multiples are tried by halving, and one is taken away
        return (max(0, lengths[0] - lengths[-1]) + 1) * (base.bit_length() + 1), lengths[-1]
    signs = verb == "sub" or any(operand.startswith("-") for operand in operands)
    return (len(lengths) - 1) * (2 if signs else 1), max(lengths)  # of two signs: compared, then subtracted


def is_long(verb: str, operands: Sequence[str], base: int, *, by_network: bool) -> bool:
    """Tell whether a problem takes so long that short ones should not wait for it."""
    count, columns = parts(verb, operands, base)
    return count * (PART + columns * (STEP if by_network else 1)) > LONG
