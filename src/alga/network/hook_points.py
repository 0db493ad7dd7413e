"""Where the activations of a torch module can be read and replaced, by the names that TransformerLens uses.

Every name stands for a submodule whose output is the activation: a part of the network itself, or a `HookPoint`.
A hook is called with all positions present, whatever runs the network.

Shapes: B batch, L positions, D width, H heads, E width of a head, F hidden units, V vocabulary.

    embed.hook_out, pos_embed.hook_out      BLD    token and position embeddings (a reader's: which part of the text)
    blocks.0.hook_resid_pre                 BLD    what enters a block
    blocks.0.attn.hook_in                   BLD    the same after the LayerNorm
    blocks.0.attn.hook_q, hook_k, hook_v    BLHE   queries, keys, values
    blocks.0.attn.hook_attn_scores          BHLL   before the softmax (a reader's sink last)
    blocks.0.attn.hook_pattern              BHLL   after it
    blocks.0.attn.hook_z                    BLHE   each head's mix of values
    blocks.0.attn.hook_out                  BLD    what attention adds
    blocks.0.hook_resid_mid                 BLD    between attention and feed-forward network
    blocks.0.mlp.hook_in                    BLD    the same after the LayerNorm
    blocks.0.mlp.hook_pre, hook_post        BLF    hidden units before and after GELU
    blocks.0.mlp.hook_out                   BLD    what the feed-forward network adds
    blocks.0.hook_resid_post                BLD    what leaves a block
    ln_final.hook_out                       BLD    after the last LayerNorm
    unembed.hook_out                        BLV    logits
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any, Final, TypeAlias

from torch import Tensor, nn

from alga.base.errors import AlgaError

AROUND: Final = {  # name -> submodule; a reader has no positions but parts of the text
    "embed.hook_out": "token_embedding",
    "pos_embed.hook_out": "position_embedded",
    "ln_final.hook_out": "final_norm",
    "unembed.hook_out": "logits",
}
IN_A_BLOCK: Final = {
    "hook_resid_pre": "before",
    "attn.hook_in": "attention_norm",
    "attn.hook_q": "attention.queries",
    "attn.hook_k": "attention.keys",
    "attn.hook_v": "attention.values",
    "attn.hook_attn_scores": "attention.scores",
    "attn.hook_pattern": "attention.pattern",
    "attn.hook_z": "attention.mixed",
    "attn.hook_out": "attention.project_out",
    "hook_resid_mid": "between",
    "mlp.hook_in": "feed_forward_norm",
    "mlp.hook_pre": "feed_forward.0",
    "mlp.hook_post": "feed_forward.1",
    "mlp.hook_out": "feed_forward",
    "hook_resid_post": "after",
}


class HookPoint(nn.Module):
    """A place that an activation passes unchanged, unless it is hooked."""

    def forward(self, activation: Tensor) -> Tensor:
        """Return what was given."""
        return activation


@dataclass(frozen=True)
class Hooked:
    """What a hook is told of the place where it is."""

    name: str


Hook: TypeAlias = "Callable[[Tensor, Hooked], Tensor | None]"  # what it returns goes on; None: the activation
Hooks = Sequence[tuple[str | Callable[[str], bool], Hook]]  # a name, or whether a name is meant


def hook_names(layers: int) -> list[str]:
    """Return the names of all activations of a network, in the order in which they are computed."""
    first, position, *last = AROUND
    return [first, position, *(f"blocks.{i}.{name}" for i in range(layers) for name in IN_A_BLOCK), *last]


@contextmanager
def hooked(model: nn.Module, hooks: Hooks) -> Iterator[None]:
    """Put hooks on a module, and take them off at the end."""
    names = hook_names(len(model.layers))  # type: ignore[arg-type] # every network has layers
    with ExitStack() as stack:
        for where, hook in hooks:
            chosen = [where] if isinstance(where, str) else [name for name in names if where(name)]
            for name in chosen:
                if name not in names:
                    raise AlgaError(f"there is no activation {name!r}; {_advice(name, names)}")
                called = partial(_call, hook, Hooked(name))
                stack.enter_context(_removed(model.get_submodule(_path(name)).register_forward_hook(called)))
        yield


def _call(hook: Hook, where: Hooked, _module: nn.Module, _inputs: Any, activation: Tensor) -> Tensor | None:
    return hook(activation, where)


@contextmanager
def _removed(handle: Any) -> Iterator[None]:
    try:
        yield
    finally:
        handle.remove()


def _path(name: str) -> str:
    """Return the submodule whose output is the named activation."""
    if name in AROUND:
        return AROUND[name]
    _, layer, rest = name.split(".", maxsplit=2)
    return f"layers.{layer}.{IN_A_BLOCK[rest]}"


def _advice(name: str, names: Sequence[str]) -> str:
    close = get_close_matches(name, names)
    return f"did you mean {' or '.join(close)}?" if close else f"they are {', '.join(names)}"
