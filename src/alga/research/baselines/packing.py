"""Batches of texts without padding: texts are packed into rows of one width, and attend only within themselves.

A batch is drawn first and packed afterwards, so every batch has the same mixture of lengths: sorting training examples
into batches by length made methods worse (docs/decisions.md).

Shapes: B rows, L positions, N positions whose next token is learned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class Text:
    """A text to learn from, as ids and positions; the tokens from `learned` on are in the loss."""

    ids: Sequence[int]
    places: Sequence[int]
    learned: int


@dataclass(frozen=True)
class Batch:
    """Packed texts: what is read, and the next token at each chosen position."""

    tokens: int  # of text; the rest of the rows is empty
    ids_BL: Tensor
    places_BL: Tensor
    mask: Tensor
    chosen_N: Tensor
    targets_N: Tensor
    texts_N: Tensor  # which text each target belongs to


def rows_of(lengths: Sequence[int], width: int) -> list[list[int]]:
    """Put texts into rows of at most `width` tokens, longest first, each into the first row that has room.

    >>> rows_of([3, 5, 2, 4], 7)
    [[1, 2], [3, 0]]
    """
    rows: list[list[int]] = []
    room: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        for row, free in enumerate(room):
            if free >= lengths[i]:
                rows[row].append(i)
                room[row] -= lengths[i]
                break
        else:
            rows.append([i])
            room.append(width - lengths[i])
    return rows


def packed(texts: Sequence[Text], device: str) -> Batch:
    """Pack texts; the last token of each is a target and not read."""
    lengths = [len(text.ids) - 1 for text in texts]
    width = max(lengths)
    rows = rows_of(lengths, width)
    ids, places, owners, targets = (np.zeros((len(rows), width), dtype=np.int64) for _ in range(4))
    learned = np.zeros((len(rows), width), dtype=bool)
    for row, members in enumerate(rows):
        at = 0
        for i in members:
            text, end = texts[i], at + lengths[i]
            ids[row, at:end] = text.ids[:-1]
            places[row, at:end] = text.places[:-1]
            targets[row, at:end] = text.ids[1:]
            owners[row, at:end] = i + 1
            learned[row, at + max(0, text.learned - 1) : end] = True
            at = end
    same = (owners[:, :, None] == owners[:, None, :]) & np.tri(width, dtype=bool)
    mask = np.where(same, np.float32(0), np.float32(-math.inf))[:, None]
    chosen = np.flatnonzero(learned)
    arrays = (ids, places, mask, chosen, targets.ravel()[chosen], owners.ravel()[chosen] - 1)
    return Batch(sum(lengths), *(torch.from_numpy(array).to(device) for array in arrays))
