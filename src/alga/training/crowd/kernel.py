"""The loss of many tiny networks on a batch, and its gradient, compiled: one layer of width 2, one head, no norms.

Written out, because a framework's step takes longer than the arithmetic of a network of fifty numbers. LANES networks
are computed side by side: every array has them innermost, each operation is a loop over them that vectorises, and no
lane looks at another. So a network's numbers do not depend on its neighbours, to the bit.

Weights are flat, in this order, LANES numbers each: tokens (V x 2), positions (L x 2), query (2), key (2), values
(2 x 2), into the hidden units (F x 2), their biases (F), out of them (2 x F). A gradient has the same order, and the
loss after it.

A row of a batch is one output token given the right ones before it: its keys are entries of the table of all pairs of a
token and a position, `token * L + position`.

Shapes: V tokens, L positions, F hidden units.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from alga.network.compiled import compiled

Floats = NDArray[np.float32]
Whole = NDArray[np.int32]

LANES: Final = 32
N: Final = LANES
LOWEST: Final = np.float32(-1e30)
ZERO, ONE, HALF = np.float32(0), np.float32(1), np.float32(0.5)
FLOOR: Final = np.float32(-80)  # exp of less is as good as zero
LOG2_E: Final = np.float32(1.4426950408889634)
BIASED, MANTISSA = np.int32(127), np.int32(23)  # of float32's exponent
INVERSE_ROOT_2: Final = np.float32(0.5**0.5)
DENSITY: Final = np.float32(1 / math.sqrt(2 * math.pi))
TWO_TO = tuple(map(np.float32, (0.6931471805, 0.2402265070, 0.0555041087, 0.0096181292, 0.0013333558, 0.0001540353)))
TAIL = tuple(map(np.float32, (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429, 0.3275911)))

# Places in a row's scratch memory; scores come after them, then logits, then hidden units.
Q, MOST, TOTAL, M0, M1, Y0, Y1, O0, O1, G0, G1, N0, N1, GQ, DOT, OTHER, RAISED = (N * i for i in range(17))
SCORES: Final = 17 * N


@compiled
def raise_all(s: Floats, at: int, powers: Whole, as_floats: Floats) -> None:
    """Replace the lanes at `at` by their exponentials, to 1e-7: a power of two by its bits, times a polynomial."""
    for i in range(N):
        t = max(s[at + i], FLOOR) * LOG2_E
        whole = np.floor(t)
        powers[i] = (np.int32(whole) + BIASED) << MANTISSA
        s[at + i] = t - whole
    a, b, c, d, e, f = TWO_TO
    for i in range(N):
        x = s[at + i]
        s[at + i] = as_floats[i] * (ONE + x * (a + x * (b + x * (c + x * (d + x * (e + x * f))))))


@compiled
def table_of(w: Floats, V: int, L: int) -> Floats:
    """Return, for each pair of a token and a position, both coordinates and the key: three blocks."""
    pairs = V * L
    table = np.empty(3 * pairs * N, np.float32)
    key = (2 * V + 2 * L + 2) * N
    for pair in range(pairs):
        token, position, at = 2 * (pair // L) * N, (2 * V + 2 * (pair % L)) * N, pair * N
        for i in range(N):
            x, y = w[token + i] + w[position + i], w[token + N + i] + w[position + N + i]
            table[at + i], table[pairs * N + at + i] = x, y
            table[2 * pairs * N + at + i] = w[key + i] * x + w[key + N + i] * y
    return table


@compiled
def attend(
    s: Floats, w: Floats, at: int, table: Floats, block: int, keys: Whole, count: int, own: int,
    powers: Whole, as_floats: Floats,
) -> None:  # fmt: skip
    """Attend from the pair `own` to `keys`: leave shares in the scores, the mix in M, the result in Y and O.

    `at` is where the query's weights begin; a block of the table has `block` numbers.
    """
    for i in range(N):
        s[Q + i] = w[at + i] * table[own + i] + w[at + N + i] * table[block + own + i]
        s[MOST + i] = LOWEST
    for j in range(count):
        key, score = 2 * block + keys[j] * N, SCORES + j * N
        for i in range(N):
            x = s[Q + i] * table[key + i]
            s[score + i] = x
            s[MOST + i] = max(s[MOST + i], x)
    for i in range(N):
        s[TOTAL + i] = s[M0 + i] = s[M1 + i] = ZERO
    for j in range(count):
        pair, score = keys[j] * N, SCORES + j * N
        for i in range(N):
            s[score + i] -= s[MOST + i]
        raise_all(s, score, powers, as_floats)
        for i in range(N):
            s[TOTAL + i] += s[score + i]
            s[M0 + i] += s[score + i] * table[pair + i]
            s[M1 + i] += s[score + i] * table[block + pair + i]
    v = at + 4 * N
    for i in range(N):
        share = ONE / s[TOTAL + i]
        a, b = s[M0 + i] * share, s[M1 + i] * share
        x = table[own + i] + w[v + i] * a + w[v + N + i] * b
        y = table[block + own + i] + w[v + 2 * N + i] * a + w[v + 3 * N + i] * b
        s[TOTAL + i], s[M0 + i], s[M1 + i] = share, a, b
        s[Y0 + i], s[Y1 + i], s[O0 + i], s[O1 + i] = x, y, x, y


@compiled
def feed(s: Floats, w: Floats, at: int, F: int, hidden: int, powers: Whole, as_floats: Floats) -> None:
    """Add the hidden units, whose weights are at `at`, to O; leave each unit and its slope at `hidden`."""
    a, b, c, d, e, p = TAIL
    for unit in range(F):
        into, bias, out = at + 2 * unit * N, at + (2 * F + unit) * N, at + (3 * F + unit) * N
        value, slope = hidden + 2 * unit * N, hidden + (2 * unit + 1) * N
        for i in range(N):
            u = w[into + i] * s[Y0 + i] + w[into + N + i] * s[Y1 + i] + w[bias + i]
            s[value + i], s[RAISED + i] = u, -HALF * u * u
        raise_all(s, RAISED, powers, as_floats)
        for i in range(N):
            u = s[value + i]
            t = ONE / (ONE + p * abs(u) * INVERSE_ROOT_2)
            half = HALF * t * (a + t * (b + t * (c + t * (d + t * e)))) * s[RAISED + i]
            below = half if u < 0 else ONE - half
            s[value + i], s[slope + i] = u * below, below + u * DENSITY * s[RAISED + i]
            s[O0 + i] += w[out + i] * u * below
            s[O1 + i] += w[out + F * N + i] * u * below


@compiled
def score_tokens(s: Floats, w: Floats, V: int, logits: int) -> None:
    """Write the logits of the row, and the largest to MOST."""
    for i in range(N):
        s[MOST + i] = LOWEST
    for token in range(V):
        at, row = logits + token * N, 2 * token * N
        for i in range(N):
            x = w[row + i] * s[O0 + i] + w[row + N + i] * s[O1 + i]
            s[at + i] = x
            s[MOST + i] = max(s[MOST + i], x)


@compiled
def margins(
    w: Floats, V: int, L: int, F: int, keys: Whole, counts: Whole, own: Whole, targets: Whole, found: Floats
) -> None:
    """Write how far the right token of each row leads every other, in each lane."""
    table, block = table_of(w, V, L), V * L * N
    logits = SCORES + L * N
    hidden = logits + V * N
    s = np.empty(hidden + 2 * F * N, np.float32)
    powers = np.empty(N, np.int32)
    as_floats = powers.view(np.float32)
    query = (2 * V + 2 * L) * N
    for r in range(len(targets)):
        attend(s, w, query, table, block, keys[r], counts[r], own[r] * N, powers, as_floats)
        feed(s, w, query + 8 * N, F, hidden, powers, as_floats)
        score_tokens(s, w, V, logits)
        for i in range(N):
            s[OTHER + i] = LOWEST
        for token in range(V):
            if token != targets[r]:
                at = logits + token * N
                for i in range(N):
                    s[OTHER + i] = max(s[OTHER + i], s[at + i])
        right = logits + targets[r] * N
        for i in range(N):
            found[r * N + i] = s[right + i] - s[OTHER + i]
