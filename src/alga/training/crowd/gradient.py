"""The gradient of the loss of many tiny networks, compiled; `kernel.py` has the forward pass and the layout.

Rows are taken one after another, forward and back, so that all of a row stays in the cache. Gradients of the pairs of a
token and a position are added up in a table, and given to tokens, positions and the key at the end.
"""

from __future__ import annotations

import math

import numpy as np

from alga.network.compiled import compiled
from alga.training.crowd.kernel import (
    DOT,
    G0,
    G1,
    GQ,
    M0,
    M1,
    MOST,
    N0,
    N1,
    O0,
    O1,
    OTHER,
    SCORES,
    TOTAL,
    Y0,
    Y1,
    ZERO,
    Floats,
    N,
    Q,
    Whole,
    attend,
    feed,
    raise_all,
    score_tokens,
    table_of,
)


@compiled
def add_gradient(
    w: Floats, V: int, L: int, F: int, rows: Whole, share: np.float32, keys: Whole, counts: Whole, own: Whole,
    targets: Whole, g: Floats,
) -> None:  # fmt: skip
    """Add to `g` the gradient of the cross-entropy of the given rows, each times `share`, and after it the loss."""
    table, block = table_of(w, V, L), V * L * N
    from_table = np.zeros(3 * block, np.float32)
    logits = SCORES + L * N
    hidden = logits + V * N
    s = np.empty(hidden + 2 * F * N, np.float32)
    powers = np.empty(N, np.int32)
    as_floats = powers.view(np.float32)
    query = (2 * V + 2 * L) * N
    units = query + 8 * N
    loss = units + 5 * F * N
    for r in rows:
        pair = own[r] * N
        attend(s, w, query, table, block, keys[r], counts[r], pair, powers, as_floats)
        feed(s, w, units, F, hidden, powers, as_floats)
        score_tokens(s, w, V, logits)
        back_to_output(s, w, g, V, logits, targets[r], share, loss, powers, as_floats)
        back_through_units(s, w, g, units, F, hidden)
        back_through_attention(s, w, g, query, table, from_table, block, keys[r], counts[r], pair)
    back_through_table(w, g, V, L, table, from_table)


@compiled
def back_to_output(
    s: Floats, w: Floats, g: Floats, V: int, logits: int, target: int, share: np.float32, loss: int, powers: Whole,
    as_floats: Floats,
) -> None:  # fmt: skip
    """Leave the gradient at the block's output in G, and add the tied head's and the loss."""
    right = logits + target * N
    for i in range(N):
        s[DOT + i], s[OTHER + i] = ZERO, s[right + i] - s[MOST + i]
    for token in range(V):
        at = logits + token * N
        for i in range(N):
            s[at + i] -= s[MOST + i]
        raise_all(s, at, powers, as_floats)
        for i in range(N):
            s[DOT + i] += s[at + i]
    for i in range(N):
        g[loss + i] += share * (math.log(s[DOT + i]) - s[OTHER + i])
    for i in range(N):
        s[DOT + i] = share / s[DOT + i]
        s[G0 + i] = s[G1 + i] = ZERO
    for token in range(V):
        at, row, less = logits + token * N, 2 * token * N, share if token == target else ZERO
        for i in range(N):
            d = s[at + i] * s[DOT + i] - less
            s[G0 + i] += d * w[row + i]
            s[G1 + i] += d * w[row + N + i]
            g[row + i] += d * s[O0 + i]
            g[row + N + i] += d * s[O1 + i]


@compiled
def back_through_units(s: Floats, w: Floats, g: Floats, at: int, F: int, hidden: int) -> None:
    """Leave the gradient at what the hidden units read in N."""
    for i in range(N):
        s[N0 + i], s[N1 + i] = s[G0 + i], s[G1 + i]
    for unit in range(F):
        into, bias, out = at + 2 * unit * N, at + (2 * F + unit) * N, at + (3 * F + unit) * N
        value, slope = hidden + 2 * unit * N, hidden + (2 * unit + 1) * N
        for i in range(N):
            a, b = s[G0 + i], s[G1 + i]
            u = (a * w[out + i] + b * w[out + F * N + i]) * s[slope + i]
            g[out + i] += a * s[value + i]
            g[out + F * N + i] += b * s[value + i]
            g[bias + i] += u
            g[into + i] += u * s[Y0 + i]
            g[into + N + i] += u * s[Y1 + i]
            s[N0 + i] += u * w[into + i]
            s[N1 + i] += u * w[into + N + i]


@compiled
def back_through_attention(
    s: Floats, w: Floats, g: Floats, at: int, table: Floats, from_table: Floats, block: int, keys: Whole, count: int,
    own: int,
) -> None:  # fmt: skip
    """Add the gradients of values and query, and those of the pairs that the row reads."""
    v = at + 4 * N
    for i in range(N):
        a, b, x, y = s[N0 + i], s[N1 + i], s[M0 + i], s[M1 + i]
        g[v + i] += a * x
        g[v + N + i] += a * y
        g[v + 2 * N + i] += b * x
        g[v + 3 * N + i] += b * y
        c, d = w[v + i] * a + w[v + 2 * N + i] * b, w[v + N + i] * a + w[v + 3 * N + i] * b
        s[G0 + i], s[G1 + i], s[DOT + i], s[GQ + i] = c, d, c * x + d * y, ZERO
    for j in range(count):
        pair, score = keys[j] * N, SCORES + j * N
        for i in range(N):
            part, x, y = s[score + i] * s[TOTAL + i], s[G0 + i], s[G1 + i]
            d = part * (x * table[pair + i] + y * table[block + pair + i] - s[DOT + i])
            from_table[pair + i] += part * x
            from_table[block + pair + i] += part * y
            from_table[2 * block + pair + i] += d * s[Q + i]
            s[GQ + i] += d * table[2 * block + pair + i]
    for i in range(N):
        x = s[GQ + i]
        g[at + i] += x * table[own + i]
        g[at + N + i] += x * table[block + own + i]
        from_table[own + i] += s[N0 + i] + x * w[at + i]
        from_table[block + own + i] += s[N1 + i] + x * w[at + N + i]


@compiled
def back_through_table(w: Floats, g: Floats, V: int, L: int, table: Floats, from_table: Floats) -> None:
    """Give the gradients of pairs to tokens, positions and the key."""
    block, key = V * L * N, (2 * V + 2 * L + 2) * N
    for pair in range(V * L):
        token, position, at = 2 * (pair // L) * N, (2 * V + 2 * (pair % L)) * N, pair * N
        for i in range(N):
            k = from_table[2 * block + at + i]
            g[key + i] += k * table[at + i]
            g[key + N + i] += k * table[block + at + i]
            x, y = from_table[at + i] + k * w[key + i], from_table[block + at + i] + k * w[key + N + i]
            g[token + i] += x
            g[token + N + i] += y
            g[position + i] += x
            g[position + N + i] += y
