"""Sums that break neural adders: families of problems for evaluation, each drawn with an explicit generator.

Uniform digits almost never carry far, so a network may be right on them and wrong on `99…9 + 1`.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from alga.tasks.numbers import DIGITS
from alga.tasks.procedure import Family

CARRYING = tuple(a + b for a in DIGITS for b in DIGITS if int(a) + int(b) >= 10)
NINES = tuple(a + b for a in DIGITS for b in DIGITS if int(a) + int(b) == 9)
ABSORBING = tuple(a + b for a in DIGITS for b in DIGITS if int(a) + int(b) < 9)


def uniform(rng: Random, digits: int) -> tuple[str, ...]:
    """Two numbers of random digits."""
    return _number(rng, digits), _number(rng, digits)


def one_long_carry(rng: Random, digits: int) -> tuple[str, ...]:
    """`99…9 + 1`, either way round."""
    return _shuffled(rng, "9" * digits, "1")


def alternating_carries(rng: Random, digits: int) -> tuple[str, ...]:
    """A column that carries, one that takes the carry and ends it, and so on."""
    return _from_columns([rng.choice((CARRYING, ABSORBING)[place % 2]) for place in range(digits)])


def sums_of_nine(rng: Random, digits: int) -> tuple[str, ...]:
    """Every column sums to nine: nothing ever carries."""
    return _from_columns([rng.choice(NINES) for _ in range(digits)])


def sums_of_nine_and_a_carry(rng: Random, digits: int) -> tuple[str, ...]:
    """Every column sums to nine but the units, which carry: everything carries."""
    return _from_columns([rng.choice(CARRYING)] + [rng.choice(NINES) for _ in range(digits - 1)])


def all_nines(rng: Random, digits: int) -> tuple[str, ...]:
    """Nines above nines, the second number of any length."""
    return _shuffled(rng, "9" * digits, "9" * rng.randint(1, digits))


def zeros(rng: Random, digits: int) -> tuple[str, ...]:
    """Powers of ten, zero itself, and numbers behind leading zeros."""
    ahead = rng.randint(0, digits - 1)
    numbers = ("0" * digits, "1" + "0" * (digits - 1), "0" * ahead + _number(rng, digits - ahead))
    return rng.choice(numbers), rng.choice(numbers)


def unequal_lengths(rng: Random, digits: int) -> tuple[str, ...]:
    """A long number and one of up to three digits."""
    return _shuffled(rng, _number(rng, digits), _number(rng, rng.randint(1, 3)))


def equal_operands(rng: Random, digits: int) -> tuple[str, ...]:
    """A number and itself."""
    number = _number(rng, digits)
    return number, number


def repeated_blocks(rng: Random, digits: int) -> tuple[str, ...]:
    """Numbers that repeat a block of up to four digits."""
    blocks = [_number(rng, rng.randint(1, 4)) for _ in range(2)]
    first, second = ((block * digits)[:digits] for block in blocks)
    return first, second


FAMILIES: Mapping[str, Family] = {
    family.__name__.replace("_", "-"): family
    for family in (
        uniform, one_long_carry, alternating_carries, sums_of_nine, sums_of_nine_and_a_carry, all_nines, zeros,
        unequal_lengths, equal_operands, repeated_blocks,
    )
}  # fmt: skip


def _number(rng: Random, digits: int) -> str:
    return rng.choice(DIGITS[1:]) + "".join(rng.choices(DIGITS, k=digits - 1))


def _from_columns(columns: list[str]) -> tuple[str, ...]:
    """Return the operands that have these columns, units first."""
    return tuple("".join(column[i] for column in reversed(columns)) for i in range(2))


def _shuffled(rng: Random, *operands: str) -> tuple[str, ...]:
    return tuple(rng.sample(operands, len(operands)))
