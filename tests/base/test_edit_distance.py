"""Levenshtein distance, compared with the textbook dynamic program."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from alga.base.edit_distance import edit_distance


def by_table(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        above, row[0] = row[0], i
        for j, y in enumerate(b, start=1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (x != y))
    return row[-1]


@given(st.text("012", max_size=90), st.text("012", max_size=90))
def test_distance_matches_the_dynamic_programming_table(a: str, b: str) -> None:
    assert edit_distance(a, b) == by_table(a, b)
