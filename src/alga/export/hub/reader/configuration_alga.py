"""The configuration of an ALGA network that reads whole texts."""

from __future__ import annotations

from typing import Any

from transformers import PreTrainedConfig


class AlgaReaderConfig(PreTrainedConfig):
    """The shape of the network; names are those of ALGA, and the usual ones of transformers mean the same."""

    model_type = "alga-reader"
    attribute_map = {  # noqa: RUF012 - what is annotated here is the shape
        "vocab_size": "vocabulary",
        "hidden_size": "width",
        "num_attention_heads": "heads",
        "num_hidden_layers": "layers",
        "intermediate_size": "hidden",
    }

    vocabulary: int = 13
    width: int = 64
    heads: int = 2
    layers: int = 1
    hidden: int = 256
    reach: int = 2
    keys: bool = True
    window: bool = False
    tied: bool = False
    norms: str = "all"
    biases: str = "all"
    parts: bool = True
    out: bool = True
    curve: str = ""
    signs: bool = True
    plus_token_id: int = 10
    equals_token_id: int = 11
    task: str = ""
    weights_sha256: str = ""

    def shape(self) -> dict[str, Any]:
        """Return the settings that `ReaderNetwork` takes."""
        others = ("plus_token_id", "equals_token_id", "task", "weights_sha256")
        return {name: getattr(self, name) for name in AlgaReaderConfig.__annotations__ if name not in others}
