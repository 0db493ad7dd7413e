"""Texts and situations <-> token ids, parts and places, for networks that read whole texts.

A token's *kind* is its id in the question, or its id plus the size of the vocabulary in the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from alga.base.errors import AlgaError
from alga.tasks.whole import ANSWER, END, EQUALS, PLUS, Whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Texts:
    """The vocabulary of a task's texts.

    >>> from alga.tasks import find
    >>> texts = Texts.of(find("addition-whole"))
    >>> "".join(texts.vocabulary), texts.kinds("12+3=").tolist()
    ('0123456789+=S', [1, 2, 10, 3, 24])
    """

    vocabulary: tuple[str, ...]
    task: Whole = field(repr=False)

    @classmethod
    def of(cls, task: Whole) -> Texts:
        """Return the vocabulary of a task: its digits, the two signs, the stop token."""
        return cls(vocabulary=(*task.digits, PLUS, EQUALS, END), task=task)

    @property
    def sizes(self) -> dict[str, int]:
        """The settings of a network that follow from the vocabulary."""
        return {"vocabulary": len(self.vocabulary)}

    @property
    def longest_entry(self) -> int:
        """The most characters of a situation and its token."""
        return max(map(len, self.task.domain)) + 1

    @cached_property
    def ids(self) -> dict[str, int]:
        """The id of each token."""
        return {token: i for i, token in enumerate(self.vocabulary)}

    @property
    def stop(self) -> int:
        """The id of the stop token."""
        return self.ids[END]

    def output(self, text: str) -> str | None:
        """Return what one generation wrote: its token, whatever it is."""
        return text if text in self.ids else None

    def written(self, output: str) -> str:
        """Return the text of one generation: the token itself."""
        return output

    def kinds(self, text: str) -> Ids:
        """Return the kind of each token of a text."""
        import numpy as np

        try:
            ids = [self.ids[char] for char in text]
        except KeyError as stranger:
            raise AlgaError(f"{text[:50]!r} holds {stranger.args[0]!r}, which is not in the vocabulary") from None
        kinds = np.array(ids, dtype=np.int64)
        kinds[text.find(EQUALS) if EQUALS in text else len(text) :] += len(self.vocabulary)
        return kinds

    def places(self, text: str) -> Ids:
        """Return the place of each token of a text."""
        import numpy as np

        return np.array(self.task.places(text), dtype=np.int64)

    @cached_property
    def most_seen(self) -> int:
        """The most tokens of a situation."""
        return max(len(self.task.seen(prompt)) for prompt in self.task.domain)

    def situations(self, prompts: Sequence[str], width: int = 1) -> tuple[Ids, Ids]:
        """Return the kinds and distances of the tokens of situations, filled up in front with kind -1.

        The token that writes is the last of each row; a row has at least `width`.
        """
        import numpy as np

        seen = [self.task.seen(prompt) for prompt in prompts]
        longest = max(width, *map(len, seen))
        kinds = np.full((len(seen), longest), -1, dtype=np.int64)
        distances = np.zeros((len(seen), longest), dtype=np.int64)
        for row, tokens in enumerate(seen):
            known = [self.ids[token] + len(self.vocabulary) * (part == ANSWER) for token, part, _ in tokens]
            kinds[row, longest - len(tokens) :] = known
            distances[row, longest - len(tokens) :] = [distance for _, _, distance in tokens]
        return kinds, distances
