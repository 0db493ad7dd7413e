"""The tokenizer of an ALGA network that reads whole texts: one token a character, `12+3=` has five."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from transformers import PreTrainedTokenizer

VOCABULARY = "vocab.json"
EQUALS = "="


class AlgaReaderTokenizer(PreTrainedTokenizer):
    """Pads on the left, by tokens that the attention mask hides; refuses characters that are no tokens."""

    vocab_files_names: ClassVar[dict[str, str]] = {"vocab_file": VOCABULARY}
    model_input_names: ClassVar[list[str]] = ["input_ids", "attention_mask"]

    def __init__(self, vocab_file: str, **settings: Any) -> None:
        self.tokens: dict[str, int] = json.loads(Path(vocab_file).read_text(encoding="utf-8"))
        self.texts: dict[int, str] = {index: token for token, index in self.tokens.items()}
        super().__init__(**settings)

    @property
    def vocab_size(self) -> int:
        """The number of tokens."""
        return len(self.tokens)

    def get_vocab(self) -> dict[str, int]:
        """Return the id of each token."""
        return dict(self.tokens)

    def number(self, ids: Iterable[int]) -> str:
        """Return the number that the network wrote after `=`, as people write it: `…=05547S` is 74550."""
        text = self.convert_tokens_to_string(self.convert_ids_to_tokens([int(each) for each in ids]))
        written, stop, _ = text.partition(EQUALS)[2].partition(self.eos_token)
        if not written or not stop or not set(written) <= set("0123456789abcdefghijklmnopqrstuvwxyz"):
            raise ValueError(f"expected digits and {self.eos_token} after {EQUALS}, got {text!r}")
        return written[::-1].lstrip("0") or "0"

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        """Return the text of tokens."""
        return "".join(tokens)

    def save_vocabulary(self, save_directory: str, filename_prefix: str | None = None) -> tuple[str]:
        """Write the vocabulary; return its file."""
        prefix = f"{filename_prefix}-" if filename_prefix else ""
        path = Path(save_directory) / f"{prefix}{VOCABULARY}"
        path.write_text(json.dumps(self.tokens), encoding="utf-8")
        return (str(path),)

    def build_inputs_with_special_tokens(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None
    ) -> list[int]:
        """Return the tokens as they are: nothing is added."""
        return [*token_ids_0, *(token_ids_1 or [])]

    def _tokenize(self, text: str, **_: Any) -> list[str]:
        return list(text)

    def _convert_token_to_id(self, token: str) -> int:
        if token not in self.tokens:
            raise ValueError(f"{token!r} is not in this network's vocabulary ({''.join(self.tokens)!r})")
        return self.tokens[token]

    def _convert_id_to_token(self, index: int) -> str:
        return self.texts[index]
