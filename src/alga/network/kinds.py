"""The two kinds of networks, and all that depends on which one it is: one answers prompts, one reads whole texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from alga.base.errors import AlgaError
from alga.network.config import ModelConfig
from alga.network.reader_config import ReaderConfig
from alga.network.texts import Texts
from alga.network.tokens import Tokens
from alga.tasks import Task, Whole

if TYPE_CHECKING:
    from alga.network.decoder import Array, Decoder
    from alga.network.model import Transformer
    from alga.network.reader import Reader
    from alga.network.reader_decoder import ReaderDecoder

ALIGNED: Final = 16  # numbers in a cache line, where torch has every tensor begin

AnyShape = ModelConfig | ReaderConfig
AnyTokens = Tokens | Texts
AnyDecoder: TypeAlias = "Decoder | ReaderDecoder"


def tokens_of(task: Task) -> AnyTokens:
    """Return the tokens of the networks that learn a task."""
    return Texts.of(cast(Whole, task)) if task.engine == "whole" else Tokens.of(task.domain)


def shape_class(task: Task) -> type[AnyShape]:
    """Return the class of the shapes of networks that learn a task."""
    return ReaderConfig if task.engine == "whole" else ModelConfig


def shape_of(settings: Mapping[str, Any]) -> AnyShape:
    """Return the shape that stored settings describe."""
    others = {name: value for name, value in settings.items() if name != "kind"}
    if "kind" not in settings:
        return ModelConfig(**others)
    if settings["kind"] != ReaderConfig.kind:
        raise AlgaError(f"unknown kind of network {settings['kind']!r}; there is {ReaderConfig.kind}")
    return ReaderConfig(**others)


def decoder_of(source: Any, tokens: AnyTokens) -> AnyDecoder:
    """Return the greedy decoder of a network."""
    if isinstance(tokens, Texts):
        from alga.network.reader_decoder import ReaderDecoder

        return ReaderDecoder(source, tokens)
    from alga.network.decoder import Decoder

    return Decoder(source, tokens)


def new_module(shape: AnyShape) -> Transformer | Reader:
    """Return a torch module of a shape, with torch's initial weights."""
    from alga.network.model import Transformer
    from alga.network.reader import Reader

    return Reader(shape) if isinstance(shape, ReaderConfig) else Transformer(shape)


def module_of(weights: Mapping[str, Array], shape: AnyShape) -> Transformer | Reader:
    """Return a torch module with the given weights, which are copied.

    They lie side by side in one piece of memory, so that all of them are compared at once (`module_state.py`).
    """
    import torch

    with torch.inference_mode(False), torch.device("cpu"):  # whatever the caller has set
        network = new_module(shape).to(torch.float32)
        network.load_state_dict({name: torch.tensor(array) for name, array in weights.items()})
        parameters = [*network.parameters()]
        sizes = [-(-each.numel() // ALIGNED) * ALIGNED for each in parameters]
        for each, memory in zip(parameters, torch.split(torch.zeros(sum(sizes)), sizes), strict=True):
            each.data = memory[: each.numel()].view_as(each).copy_(each.data)
    return network.eval()
