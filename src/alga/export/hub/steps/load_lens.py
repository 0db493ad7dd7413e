r"""Open this folder in TransformerLens 4: `load(folder)` is a TransformerBridge, `tokens(folder, prompts)` its input.

The network is TransformerLens's own, with the weights of this folder. Its causal mask is replaced: the prompt and `\n`
attend to each other, output tokens attend to them and to earlier ones. So is the number that scores are divided by.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from transformer_lens import TransformerBridge
from transformer_lens.config import TransformerBridgeConfig
from transformer_lens.model_bridge.sources import build_bridge_from_module
from transformer_lens.model_bridge.sources.native import NativeModel

ARCHITECTURE = "TransformerLensNative"


def load(folder: str | Path) -> TransformerBridge:
    r"""Return the network; its logits are those of every position, and have a meaning from `\n` on."""
    settings = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
    config = TransformerBridgeConfig(**settings["bridge"])
    model = NativeModel(config)
    if settings["norms"] == "feed-forward":  # without any norm, TransformerLens has an identity here
        for block in model.layers:
            block.ln2 = nn.LayerNorm(config.d_model, eps=config.eps, elementwise_affine=False)
    model.load_state_dict(load_file(Path(folder) / "model.safetensors"))
    hidden = torch.ones(config.n_ctx, config.n_ctx, dtype=torch.bool).triu(1)
    hidden[:, : settings["input_length"] + 1] = False
    for block in model.layers:
        block.attn.causal_mask, block.attn.scale = hidden, settings["attention_divisor"]
    return build_bridge_from_module(model.eval(), ARCHITECTURE, tl_config=config, model_name=f"alga-{settings['task']}")


def tokens(folder: str | Path, prompts: Sequence[str]) -> Tensor:
    r"""Return the ids of prompts, padded with `P` and followed by `\n`."""
    settings = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
    ids = {token: index for index, token in enumerate(settings["vocabulary"])}
    length = settings["input_length"]
    for prompt in prompts:
        if len(prompt) > length or not set(prompt) <= ids.keys():
            raise ValueError(f"expected a prompt of up to {length} of the tokens {''.join(ids)!r}, got {prompt!r}")
    return torch.tensor([[ids[token] for token in prompt.ljust(length, "P") + "\n"] for prompt in prompts])
