"""Levenshtein's distance between two texts, by Myers' bit vectors: a whole column of the table in one integer.

G. Myers, "A fast bit-vector algorithm for approximate string matching based on dynamic programming", J. ACM 46 (1999),
in the form of H. Hyyrö (2003). Python's integers have any length, so texts may too.
"""

from __future__ import annotations


def edit_distance(a: str, b: str) -> int:
    """Return the fewest insertions, deletions and substitutions that make `b` of `a`.

    >>> edit_distance("kitten", "sitting"), edit_distance("", "12")
    (3, 2)
    """
    if not a or not b:
        return len(a) + len(b)
    places: dict[str, int] = {}
    for i, char in enumerate(a):
        places[char] = places.get(char, 0) | 1 << i
    last, every = 1 << len(a) - 1, (1 << len(a)) - 1
    up, down, distance = every, 0, len(a)  # where the column rises and falls by one, from row to row
    for char in b:
        match = places.get(char, 0)
        diagonal = (((match & up) + up) ^ up) | match | down
        right_up, right_down = down | (every & ~(diagonal | up)), diagonal & up
        distance += bool(right_up & last) - bool(right_down & last)
        right_up, right_down = right_up << 1 | 1, right_down << 1
        up, down = every & (right_down | ~(diagonal | right_up)), every & diagonal & right_up
    return distance
