"""Random sums for training and tests, by length and by the length of the carry chain."""

from __future__ import annotations

from random import Random
from typing import Final

from alga.research.baselines.contract import Problem
from alga.tasks.hard_sums import ABSORBING, CARRYING, NINES
from alga.tasks.numbers import DIGITS

EQUAL: Final = 0.5  # share of sums that are drawn with numbers of one length
VALIDATED: Final = 400
VALIDATION_SEED: Final = 2_000_000


def added(first: str, second: str) -> str:
    """Return the exact sum, to teach and to check."""
    return str(int(first) + int(second))


def draw(rng: Random, digits: int) -> Problem:
    """Draw a sum for training, of numbers of up to `digits` digits: half of one length, half of any two lengths."""
    first, second = rng.randint(1, digits), rng.randint(1, digits)
    return (number(rng, first), number(rng, first if rng.random() < EQUAL else second))


def validation(seed: int, digits: int) -> list[Problem]:
    """Draw the sums that end a training once they are all right, by a generator of their own."""
    rng = Random(seed + VALIDATION_SEED)
    return [draw(rng, digits) for _ in range(VALIDATED)]


def of_length(rng: Random, digits: int) -> Problem:
    """Draw a sum of two numbers of exactly `digits` digits."""
    return number(rng, digits), number(rng, digits)


def with_chain(rng: Random, digits: int, chain: int) -> Problem:
    """Draw a sum of two numbers of `digits` digits whose longest carry passes through exactly `chain` columns."""
    start = rng.randint(0, digits - chain)
    columns = [rng.choice(ABSORBING) for _ in range(digits)]
    if chain:
        columns[start] = rng.choice(CARRYING)
        for place in range(start + 1, start + chain):
            columns[place] = rng.choice(NINES)
    kind = ABSORBING
    if chain and start + chain == digits:  # the carry leaves the leading column
        kind = NINES if chain > 1 else CARRYING
    columns[-1] = rng.choice([column for column in kind if "0" not in column])  # numbers have no leading zeros
    first, second = ("".join(column[i] for column in reversed(columns)) for i in range(2))
    return first, second


def number(rng: Random, digits: int) -> str:
    """Draw a number of `digits` digits without a leading zero, except 0 itself."""
    first = rng.choice(DIGITS if digits == 1 else DIGITS[1:])
    return first + "".join(rng.choices(DIGITS, k=digits - 1))
