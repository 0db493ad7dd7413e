"""Families of hard sums: each has the carries its name promises."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from alga.tasks.hard_sums import FAMILIES

Claim = Callable[[str, str], bool]


def totals(a: str, b: str) -> list[int]:
    """Return the sums of digits, units first."""
    return [int(x) + int(y) for x, y in zip(reversed(a), reversed(b), strict=True)]


def repeats(text: str) -> bool:
    return any(text == (text[:size] * len(text))[: len(text)] for size in range(1, 5))


CLAIMS: dict[str, Claim] = {
    "uniform": lambda a, b: len(a) == len(b) == 12 and "0" not in (a[0], b[0]),
    "one-long-carry": lambda a, b: {a, b} == {"9" * 12, "1"},
    "alternating-carries": lambda a, b: [
        total >= 10 if place % 2 == 0 else total < 9 for place, total in enumerate(totals(a, b))
    ] == [True] * 12,
    "sums-of-nine": lambda a, b: totals(a, b) == [9] * 12,
    "sums-of-nine-and-a-carry": lambda a, b: totals(a, b)[1:] == [9] * 11 and totals(a, b)[0] >= 10,
    "all-nines": lambda a, b: set(a + b) == {"9"} and max(len(a), len(b)) == 12 and min(len(a), len(b)) >= 1,
    "zeros": lambda a, b: len(a) == len(b) == 12,
    "unequal-lengths": lambda a, b: sorted([len(a), len(b)])[1] == 12 and 1 <= min(len(a), len(b)) <= 3,
    "equal-operands": lambda a, b: a == b and len(a) == 12 and a[0] != "0",
    "repeated-blocks": lambda a, b: repeats(a) and repeats(b) and len(a) == len(b) == 12,
}  # fmt: skip


def drawn(name: str, digits: int = 12) -> list[tuple[str, ...]]:
    rng = Random(1)
    return [FAMILIES[name](rng, digits) for _ in range(300)]


def test_every_family_has_a_claim() -> None:
    assert list(FAMILIES) == list(CLAIMS)


@pytest.mark.parametrize("name", CLAIMS)
def test_family_has_the_carries_it_is_named_for(name: str) -> None:
    assert all(CLAIMS[name](*operands) for operands in drawn(name))
    assert all(set("".join(operands)) <= set("0123456789") for operands in drawn(name, 1))


def test_families_cover_their_full_range() -> None:
    assert {first for first, _ in drawn("one-long-carry")} == {"9" * 12, "1"}
    assert {len(b) for a, b in drawn("all-nines")} == set(range(1, 13))
    assert {min(len(a), len(b)) for a, b in drawn("unequal-lengths")} == {1, 2, 3}
    assert {totals(a, b)[0] for a, b in drawn("sums-of-nine-and-a-carry")} == set(range(10, 19))
    assert {a[0] for a, _ in drawn("uniform")} == set("123456789")
    assert {a[1] for a, _ in drawn("uniform")} == set("0123456789")
    ahead = {len(a) - len(a.lstrip("0")) for a, _ in drawn("zeros")}
    assert ahead == set(range(13))  # from no leading zeros to zero itself
    assert ("1" + "0" * 11) in {a for a, _ in drawn("zeros")} & {b for _, b in drawn("zeros")}
    assert {next(size for size in range(1, 5) if a == (a[:size] * 12)[:12]) for a, _ in drawn("repeated-blocks")} == {
        1, 2, 3, 4,
    }  # fmt: skip
    assert {totals(a, b)[1] for a, b in drawn("alternating-carries")} == set(range(9))
