r"""Prompts and outputs <-> token ids. Unknown characters are refused, never turned into padding.

The prompt `3C14` of addition becomes `3C14P`, the output `5` becomes `5SP`; generation begins with `\n`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from alga.base.errors import AlgaError
from alga.tasks import Domain

PAD: Final = "P"
STOP: Final = "S"
START: Final = "\n"
PAD_ID: Final = 0
STOP_ID: Final = 1


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """A domain's vocabulary, in the paper's order, and the lengths that its prompts and outputs are padded to.

    >>> from alga.tasks import find
    >>> tokens = Tokens.of(find("addition").domain)
    >>> "".join(tokens.vocabulary).replace(START, "|"), tokens.input_length, tokens.output_length
    ('PS0123456789|C', 5, 3)
    >>> tokens.prompts(["3C14"]), list(tokens.packed(["3C14"])), tokens.outputs(["5"]), tokens.text([3, 7, 1])
    ([[5, 13, 3, 6, 0]], [5, 13, 3, 6, 0, 12], [[7, 1, 0]], '15S')
    >>> tokens.output("15S"), tokens.output("15"), tokens.output("S"), tokens.output("1CS")
    ('15', None, None, None)
    """

    vocabulary: tuple[str, ...]
    input_length: int
    output_length: int

    @classmethod
    def of(cls, domain: Domain) -> Tokens:
        """Derive vocabulary and lengths from a domain."""
        others = {char for prompt in domain for char in prompt} - set(domain.symbols)
        return cls(
            vocabulary=(PAD, STOP, *domain.symbols, START, *sorted(others)),
            input_length=max(map(len, domain)),
            output_length=max(len(instance.output) for instance in domain.values()) + 1,
        )

    @property
    def sizes(self) -> dict[str, int]:
        """The settings of a network that follow from the domain."""
        return {
            "vocabulary": len(self.vocabulary),
            "input_length": self.input_length,
            "output_length": self.output_length,
        }

    @property
    def longest_entry(self) -> int:
        """The most characters of a prompt and its output."""
        return self.input_length + self.output_length

    @cached_property
    def ids(self) -> dict[str, int]:
        """The id of each token."""
        return {token: i for i, token in enumerate(self.vocabulary)}

    @cached_property
    def symbols(self) -> frozenset[str]:
        """The tokens that an output may have before its stop token."""
        return frozenset(self.vocabulary[2 : self.vocabulary.index(START)])

    def prompts(self, prompts: Iterable[str]) -> list[list[int]]:
        """Encode prompts, padded to the input length."""
        return [self._encode(prompt, self.input_length) for prompt in prompts]

    def packed(self, prompts: Sequence[str]) -> bytes:
        r"""Encode prompts as `prompts` does, each followed by `\n`, one byte per id: the fast way into a tensor."""
        joined = "".join([prompt.ljust(self.input_length, PAD) + START for prompt in prompts])
        if len(joined) != len(prompts) * (self.input_length + 1) or not self.ids.keys() >= set(joined):
            self.prompts(prompts)  # raises the right error
        return joined.translate(self._codes).encode("latin-1")

    def texts(self, texts: Sequence[str]) -> list[list[int]]:
        r"""Encode texts, each a prompt alone or a prompt, `\n` and the output so far; all have as many tokens.

        >>> Tokens(vocabulary=tuple("PS01\nC"), input_length=3, output_length=2).texts(["10", "0\n"])
        [[3, 2, 0, 4], [2, 0, 0, 4]]
        """
        rows = []
        for text in texts:
            prompt, _, written = text.partition(START)
            rows.append(
                [*self._encode(prompt, self.input_length), self.ids[START], *self._encode(written, len(written))]
            )
        if len({*map(len, rows)}) > 1:
            raise AlgaError("expected texts that have written equally many tokens, got different numbers")
        if rows and len(rows[0]) > self.input_length + self.output_length:
            raise AlgaError(f"this network reads up to {self.output_length - 1} tokens of its output")
        return rows

    def coded(self, text: str) -> bytes | None:
        """Return the ids of a text's tokens, one byte each; None if a character is not in the vocabulary."""
        return text.translate(self._codes).encode("latin-1") if self.ids.keys() >= set(text) else None

    @property
    def limits(self) -> tuple[int, int, int]:
        r"""The ids of `\n`, of the first symbol and of the last: an output's tokens lie between the last two.

        >>> Tokens(vocabulary=tuple("PS01\nC"), input_length=4, output_length=2).limits
        (4, 2, 3)
        """
        start = self.ids[START]
        return start, STOP_ID + 1, start - 1

    @cached_property
    def _codes(self) -> dict[int, str]:
        return {ord(token): chr(i) for token, i in self.ids.items()}

    def outputs(self, outputs: Iterable[str]) -> list[list[int]]:
        """Encode outputs with their stop token, padded to the output length."""
        return [self._encode(output + STOP, self.output_length) for output in outputs]

    def written(self, output: str) -> str:
        """Return the text that a network writes for an output."""
        return output + STOP

    def text(self, ids: Sequence[int]) -> str:
        """Write generated ids as text, up to the first stop token."""
        end = ids.index(STOP_ID) + 1 if STOP_ID in ids else len(ids)
        return "".join(self.vocabulary[i] for i in ids[:end])

    def output(self, text: str) -> str | None:
        """Return the output of a generated text, or None if it is not symbols followed by `S`."""
        body = text[:-1]
        # Interned, because a long number's outputs are the same few texts a million times.
        return sys.intern(body) if body and text.endswith(STOP) and self.symbols.issuperset(body) else None

    def _encode(self, text: str, length: int) -> list[int]:
        if len(text) > length:
            raise AlgaError(f"{text!r} has {len(text)} tokens, this network takes up to {length}")
        try:
            encoded = [self.ids[char] for char in text]
        except KeyError as stranger:
            raise AlgaError(f"{text!r} holds {stranger.args[0]!r}, which is not in the vocabulary") from None
        return encoded + [PAD_ID] * (length - len(text))
