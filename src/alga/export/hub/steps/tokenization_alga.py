r"""The tokenizer of an ALGA network that answers prompts: one token a character, `15C7` becomes `15C7P\n`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

from transformers import PreTrainedTokenizer

VOCABULARY = "vocab.json"
START = "\n"  # after the prompt; the output follows


class AlgaStepTokenizer(PreTrainedTokenizer):
    r"""Pads every prompt with `P` to the network's input length and appends `\n`; refuses other characters."""

    vocab_files_names: ClassVar[dict[str, str]] = {"vocab_file": VOCABULARY}
    model_input_names: ClassVar[list[str]] = ["input_ids", "attention_mask"]

    def __init__(self, vocab_file: str, input_length: int = 0, **settings: Any) -> None:
        self.tokens: dict[str, int] = json.loads(Path(vocab_file).read_text(encoding="utf-8"))
        self.texts: dict[int, str] = {index: token for token, index in self.tokens.items()}
        self.input_length = input_length
        super().__init__(input_length=input_length, **settings)

    @property
    def vocab_size(self) -> int:
        """The number of tokens."""
        return len(self.tokens)

    def get_vocab(self) -> dict[str, int]:
        """Return the id of each token."""
        return dict(self.tokens)

    def build_inputs_with_special_tokens(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None
    ) -> list[int]:
        """Return a prompt as the network reads it."""
        missing = self.input_length - len(token_ids_0)
        if token_ids_1 is not None or missing < 0:
            given = len(token_ids_0) + len(token_ids_1 or [])
            raise ValueError(f"expected one prompt of up to {self.input_length} tokens, got {given}")
        return [*token_ids_0, *[self.pad_token_id] * missing, self.tokens[START]]

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        """Return the text of tokens."""
        return "".join(tokens)

    def save_vocabulary(self, save_directory: str, filename_prefix: str | None = None) -> tuple[str]:
        """Write the vocabulary; return its file."""
        prefix = f"{filename_prefix}-" if filename_prefix else ""
        path = Path(save_directory) / f"{prefix}{VOCABULARY}"
        path.write_text(json.dumps(self.tokens), encoding="utf-8")
        return (str(path),)

    def num_special_tokens_to_add(self, pair: bool = False) -> int:  # noqa: ARG002 - part of the contract
        r"""Return 1, the `\n`: padding depends on the prompt."""
        return 1

    def _tokenize(self, text: str, **_: Any) -> list[str]:
        return list(text)

    def _convert_token_to_id(self, token: str) -> int:
        if token not in self.tokens:
            raise ValueError(f"{token!r} is not in this network's vocabulary ({''.join(self.tokens)!r})")
        return self.tokens[token]

    def _convert_id_to_token(self, index: int) -> str:
        return self.texts[index]
