"""A network as a folder for TransformerLens 4: weights for its own architecture, and the code that opens it.

TransformerLens's native network has every part of ours but the mask, which is replaced on loading. Tied and omitted
parts are written out, shared positions are repeated, narrow queries are widened: the same function, with more weights.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from alga.base.errors import AlgaError
from alga.base.progress import Watch, unwatched
from alga.export.hugging_face import HUB
from alga.export.provenance import provenance
from alga.network.config import ModelConfig
from alga.runs.weights import WEIGHTS
from alga.solve.solver import Solver

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float32]

LAYOUT: Final = "alga-transformer-lens-1"
LOADER: Final = "load_lens.py"


def folder(solver: Solver, watch: Watch = unwatched) -> dict[str, bytes]:
    """Return the files of a folder that its `load_lens.py` opens as a TransformerBridge."""
    import safetensors.numpy  # noqa: PLC0415 - so that this file is quick to import

    shape, tokens = solver.run.config.model, solver.run.config.tokens
    if not isinstance(shape, ModelConfig):
        raise AlgaError(
            f"{solver.trained.name} reads whole texts: TransformerLens has no scores by coupled distance and no sinks; "
            "export it with --format hf"
        )
    solver.decode(list(solver.trained.domain))  # raises if an output contradicts the certified table
    settings = {
        "format": LAYOUT,
        "task": solver.trained.name,
        **provenance(solver),
        "vocabulary": tokens.vocabulary,
        "input_length": shape.input_length,
        "output_length": shape.output_length,
        "norms": shape.norms,
        "attention_divisor": math.sqrt(shape.query_width or shape.width // shape.heads),
        "bridge": _bridge(shape),
    }
    watch(1, 1)
    return {
        WEIGHTS: safetensors.numpy.save(_weights(solver, shape), {"format": "pt"}),
        LOADER: (HUB / "steps" / LOADER).read_bytes(),
        "config.json": (json.dumps(settings, indent=2) + "\n").encode(),  # last: half a folder does not open
    }


def _bridge(shape: ModelConfig) -> dict[str, Any]:
    """Return the settings of a TransformerBridgeConfig."""
    return {
        "d_model": shape.width,
        "d_head": shape.width // shape.heads,
        "n_heads": shape.heads,
        "n_layers": shape.layers,
        "d_mlp": shape.hidden,
        "d_vocab": shape.vocabulary,
        "n_ctx": shape.input_length + shape.output_length,  # the last output token is written and not read
        "act_fn": "gelu",
        "eps": 1e-5,
        "normalization_type": "LN" if shape.norms == "all" else None,
        "positional_embedding_type": "standard",
        "default_prepend_bos": False,
        "device": "cpu",
    }


def _weights(solver: Solver, shape: ModelConfig) -> dict[str, Array]:
    """Return the weights in full, by the names of TransformerLens's native network."""
    import numpy as np  # noqa: PLC0415

    from alga.network.generation import unfolded  # noqa: PLC0415 - it brings the compiler

    stored = solver.run.weights.arrays
    full = unfolded(stored, shape)
    named = {
        "tok_embed.weight": full["token_embedding.weight"],
        "pos.weight": full["position_embedding.weight"][: shape.input_length + shape.output_length],
        "head.weight": full["head.weight"],
    }
    norms = {"ln_out": "final_norm"} if shape.norms == "all" else {}
    linear: dict[str, str] = {}
    for i in range(shape.layers):
        layer = f"layers.{i}"  # here and there
        if shape.norms == "all":
            norms |= {f"{layer}.ln1": f"{layer}.attention_norm", f"{layer}.ln2": f"{layer}.feed_forward_norm"}
        linear |= {
            f"{layer}.attn.o": f"{layer}.attention.project_out",
            f"{layer}.mlp.fc_in": f"{layer}.feed_forward.0",
            f"{layer}.mlp.fc_out": f"{layer}.feed_forward.2",
        }
        for end in ("weight", "bias"):
            q, k, v = np.split(full[f"{layer}.attention.project_in.{end}"], 3)
            named |= {f"{layer}.attn.q.{end}": q, f"{layer}.attn.k.{end}": k, f"{layer}.attn.v.{end}": v}
            if shape.query_width:  # `unfolded` scales widened queries, which rounds; here the loader sets the divisor
                named[f"{layer}.attn.q.{end}"] = _queries(stored, f"{layer}.attention.project_in.{end}", shape)
    for name, ours in (norms | linear).items():
        named |= {f"{name}.{end}": full[f"{ours}.{end}"] for end in ("weight", "bias")}
    return {name: np.ascontiguousarray(array) for name, array in named.items()}


def _queries(stored: Mapping[str, Array], name: str, shape: ModelConfig) -> Array:
    """Return the rows of narrow queries, each head's filled up with zeros to the width of its values."""
    import numpy as np  # noqa: PLC0415

    if name not in stored:
        return np.zeros(shape.width, np.float32)
    rows = stored[name][: shape.heads * shape.query_width]
    parts = rows.reshape(shape.heads, shape.query_width, *rows.shape[1:])
    missing = shape.width // shape.heads - shape.query_width
    padding = [(0, 0), (0, missing), *[(0, 0)] * (rows.ndim - 1)]
    return np.pad(parts, padding).reshape(shape.width, *rows.shape[1:])
