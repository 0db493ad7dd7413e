"""The configuration of an ALGA network that answers prompts."""

from __future__ import annotations

from typing import Any

from transformers import PreTrainedConfig


class AlgaStepConfig(PreTrainedConfig):
    """The shape of the network; names are those of ALGA, and the usual ones of transformers mean the same."""

    model_type = "alga-steps"
    attribute_map = {  # noqa: RUF012 - what is annotated here is the shape
        "vocab_size": "vocabulary",
        "hidden_size": "width",
        "num_attention_heads": "heads",
        "num_hidden_layers": "layers",
        "intermediate_size": "hidden",
    }

    vocabulary: int = 14
    input_length: int = 5
    output_length: int = 3
    width: int = 64
    heads: int = 2
    layers: int = 2
    hidden: int = 256
    dropout: float = 0.0
    tied: bool = False
    norms: str = "all"
    biases: str = "all"
    query_width: int = 0
    shared_keys: bool = False
    out: bool = True
    positions: str = ""
    task: str = ""
    weights_sha256: str = ""

    def shape(self) -> dict[str, Any]:
        """Return the settings that `StepNetwork` takes."""
        others = ("task", "weights_sha256")
        return {name: getattr(self, name) for name in AlgaStepConfig.__annotations__ if name not in others}
