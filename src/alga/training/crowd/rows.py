"""A domain as rows: one for each output token, given the right ones before it. What `kernel.py` computes with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from alga.network.tokens import START, STOP_ID, Tokens
from alga.tasks import Domain
from alga.training.crowd.kernel import Whole

Shares = NDArray[np.float64]
BATCHES: Final = 0  # the first part of the seeds of batches; evolution has another


@dataclass(frozen=True)
class Rows:
    """The rows of a domain's prompts, in order, with the prompt that each belongs to."""

    keys: Whole  # of each row, padded: pairs of a token and a position, token * positions + position
    counts: Whole  # how many of them count
    own: Whole  # the pair of the token that is read last
    targets: Whole
    prompts: Whole
    positions: int
    shares: Shares  # how often each row is drawn

    @classmethod
    def of(cls, domain: Domain, tokens: Tokens, second_type_share: float) -> Rows:
        """Return the rows of a domain.

        Half of the draws are even over prompts, of which a given share have a context. The other half are even over
        kinds of rows (how long a context, which output, which of its tokens), because some kinds are rare.
        """
        positions = tokens.input_length + tokens.output_length
        found: list[tuple[list[int], int, int, int, int]] = []
        kinds: list[tuple[int, str, int]] = []
        for place, (prompt, instance) in enumerate(domain.items()):
            written = [*(tokens.ids[char] for char in instance.output), STOP_ID]
            read = [*tokens.prompts([prompt])[0], tokens.ids[START], *written]
            for at, target in enumerate(written):
                end = tokens.input_length + 1 + at
                pairs = [token * positions + position for position, token in enumerate(read[:end])]
                found.append((pairs + [0] * (positions - end), end, pairs[-1], target, place))
                kinds.append((len(instance.context or ""), instance.output, at))
        number = {kind: i for i, kind in enumerate(sorted(set(kinds)))}
        numbers = np.array([number[kind] for kind in kinds])
        even = 1 / np.bincount(numbers)[numbers] / len(number)
        second = np.array([kind[0] > 0 for kind in kinds])
        prompts = np.where(second, second_type_share / max(1, second.sum()), (1 - second_type_share) / (~second).sum())
        keys, counts, own, targets, of = (np.array(column, np.int32) for column in zip(*found, strict=True))
        return cls(keys, counts, own, targets, of, positions, (even + prompts / prompts.sum()) / 2)

    def batch(self, size: int, step: int) -> Whole:
        """Return the batch of a step, the same for every network; it is spread evenly over the rows' shares.

        Its generator is seeded by the step, so that a resumed training needs no random state.
        """
        generator, edges = np.random.default_rng((BATCHES, step)), np.cumsum(self.shares)
        drawn = (np.arange(size) + generator.random(size)) / size * edges[-1]
        found: Whole = np.minimum(np.searchsorted(edges, drawn), len(edges) - 1).astype(np.int32)
        return found
