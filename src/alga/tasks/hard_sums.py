"""Sums that break neural adders: families of problems for evaluation, each drawn with an explicit generator.

Uniform digits almost never carry far, so a network may be right on them and wrong on `99…9 + 1`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from random import Random

from alga.tasks.numbers import DIGITS
from alga.tasks.procedure import Family

CARRYING = tuple(a + b for a in DIGITS for b in DIGITS if int(a) + int(b) >= 10)
NINES = tuple(a + b for a in DIGITS for b in DIGITS if int(a) + int(b) == 9)
ABSORBING = tuple(a + b for a in DIGITS for b in DIGITS if int(a) + int(b) < 9)


def _number(rng: Random, digits: int) -> str:
    return rng.choice(DIGITS[1:]) + "".join(rng.choices(DIGITS, k=digits - 1))


def _drawn(rng: Random, choices: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Draw a column from each of the choices, units first; return the operands that have these columns."""
    columns = [rng.choice(choice) for choice in choices]
    return tuple("".join(column[i] for column in reversed(columns)) for i in range(2))


def _shuffled(rng: Random, *operands: str) -> tuple[str, ...]:
    return tuple(rng.sample(operands, len(operands)))


def _zeros(rng: Random, digits: int) -> tuple[str, ...]:
    ahead = rng.randint(0, digits - 1)
    numbers = ("0" * digits, "1" + "0" * (digits - 1), "0" * ahead + _number(rng, digits - ahead))
    return rng.choice(numbers), rng.choice(numbers)


def _repeated_blocks(rng: Random, digits: int) -> tuple[str, ...]:
    blocks = [_number(rng, rng.randint(1, 4)) for _ in range(2)]
    return tuple((block * digits)[:digits] for block in blocks)


FAMILIES: Mapping[str, Family] = {
    # Two numbers of random digits.
    "uniform": lambda rng, n: (_number(rng, n), _number(rng, n)),
    # `99…9 + 1`, either way round.
    "one-long-carry": lambda rng, n: _shuffled(rng, "9" * n, "1"),
    # A column that carries, one that takes the carry and ends it, and so on.
    "alternating-carries": lambda rng, n: _drawn(rng, ((CARRYING, ABSORBING)[place % 2] for place in range(n))),
    # Every column sums to nine: nothing ever carries.
    "sums-of-nine": lambda rng, n: _drawn(rng, [NINES] * n),
    # Every column sums to nine but the units, which carry: everything carries.
    "sums-of-nine-and-a-carry": lambda rng, n: _drawn(rng, [CARRYING] + [NINES] * (n - 1)),
    # Nines above nines, the second number of any length.
    "all-nines": lambda rng, n: _shuffled(rng, "9" * n, "9" * rng.randint(1, n)),
    # Powers of ten, zero itself, and numbers with leading zeros.
    "zeros": _zeros,
    # A long number and one of up to three digits.
    "unequal-lengths": lambda rng, n: _shuffled(rng, _number(rng, n), _number(rng, rng.randint(1, 3))),
    # A number and itself.
    "equal-operands": lambda rng, n: (_number(rng, n),) * 2,
    # Numbers that repeat a block of up to four digits.
    "repeated-blocks": _repeated_blocks,
}
