"""The leaderboard's test of ten-digit adders, passed by `smallest-whole`: 10,000 random sums and 10 edge cases."""

from __future__ import annotations

from random import Random

import pytest

from alga.solve.solver import Solver
from alga.tasks.whole import END

DIGITS = 10
MOST = 10**DIGITS - 1
EDGES = (
    (0, 0), (0, 1), (1, MOST), (MOST, MOST), (5 * 10**9, 5 * 10**9), (1234567890, 9876543210), (MOST, 0),
    (1111111111, 8888888889), (9090909090, 909090909), (5193798811, 1806201129),
)  # fmt: skip


def sums(count: int) -> list[tuple[int, int]]:
    rng = Random(2025)
    return [*EDGES, *((rng.randint(0, MOST), rng.randint(0, MOST)) for _ in range(count))]


def wrong(pairs: list[tuple[int, int]], padded: bool) -> list[tuple[int, int]]:
    """Return the sums that greedy decoding of the text gets wrong; nothing but the network sees the digits."""
    reader, found = Solver.load("smallest-whole").reader, []
    for a, b in pairs:
        texts = [f"{number:0{DIGITS if padded else 1}d}" for number in (a, b)]
        written = reader.continued(f"{texts[0]}+{texts[1]}=", DIGITS + 2).text
        least = DIGITS if padded else 1
        if written != f"{a + b:0{least}d}"[::-1] + END:
            found.append((a, b))
    return found


@pytest.mark.parametrize("padded", [True, False])
def test_some_of_the_leaderboards_sums_are_right(padded: bool) -> None:
    assert wrong(sums(200), padded) == []


@pytest.mark.slow
@pytest.mark.parametrize("padded", [True, False])
def test_all_of_the_leaderboards_sums_are_right(padded: bool) -> None:
    pairs = sums(10_000)
    assert len(pairs) == 10_010
    assert wrong(pairs, padded) == []


def test_the_test_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.solve.test_leaderboard.EDGES", ((1, 2),))
    monkeypatch.setattr("tests.solve.test_leaderboard.END", "=")
    assert wrong(sums(0), padded=True) == [(1, 2)]
