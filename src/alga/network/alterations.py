"""Whether a torch module still computes what its configuration and weights say, and nothing else.

A certificate is for weights. Hooks, parametrizations, replaced submodules and changed settings make a module compute
something else with the same weights: then the module itself runs, in torch, and no certificate holds.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn.modules import module as torch_module
from torch.overrides import _get_current_function_mode_stack
from torch.utils._device import DeviceContext
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from alga.network.hook_points import HookPoint
from alga.network.kinds import AnyShape, new_module
from alga.network.model import Attention, Layer, Transformer, attention_mask, position_rows
from alga.network.reader import CurveEmbedding, Reader, ReaderAttention, ReaderLayer
from alga.network.reader_canonical import parabola
from alga.network.reader_config import SIGNS, ReaderConfig

HELD_APART: Final = ("_parameters", "_buffers", "_modules", "training")  # compared separately, or without effect
GLOBAL_HOOKS: Final = ("_global_forward_hooks", "_global_forward_pre_hooks")
KINDS: Final = (
    Transformer, Layer, Attention, nn.Linear, nn.Embedding, nn.LayerNorm, nn.GELU, nn.Dropout, nn.Identity,
    nn.Sequential, nn.ModuleList, Reader, ReaderLayer, ReaderAttention, CurveEmbedding, HookPoint,
)  # fmt: skip


def computing(kind: Any) -> tuple[Any, ...]:
    """Return the functions by which a class computes."""
    return kind.forward, kind.__call__, getattr(kind, "score", None), getattr(kind, "weight", None)


# As they were when this was imported.
FORWARDS: Final[dict[Any, Any]] = {kind: computing(kind) for kind in KINDS}

Settings = dict[str, Any]


def alteration(model: nn.Module, config: AnyShape) -> str:
    """Describe the first way in which the module differs from its configuration; empty if there is none."""
    if everywhere := globally_altered():
        return everywhere
    expected = _modules(config)
    found = dict(model.named_modules(remove_duplicate=False))
    if found.keys() != expected.keys():
        name = min(found.keys() ^ expected.keys())
        return f"the module {name!r} is {'extra' if len(found) > len(expected) else 'gone'}"
    if [*found] != [*expected]:  # nn.Sequential runs its submodules in their order
        return "the order of modules"
    changed = next(filter(None, (_changed(name, module, *expected[name]) for name, module in found.items())), "")
    return changed or ("" if _same_buffers(model, config) else "a buffer of the network")


def globally_altered() -> str:
    """Describe what changes every module of this process: hooks and modes; empty if there is nothing."""
    if any(getattr(torch_module, hooks, {}) for hooks in GLOBAL_HOOKS):
        return "a hook on every module"
    mode = next((mode for mode in _modes() if type(mode) is not DeviceContext), None)
    return "" if mode is None else f"torch runs in the mode {type(mode).__name__}"


def _modes() -> list[object]:
    """Return the active modes that watch or change torch's operations, such as a TorchFunctionMode."""
    functions: list[object] = _get_current_function_mode_stack()  # type: ignore[no-untyped-call]
    return [*functions, *_get_current_dispatch_mode_stack()]


def _changed(name: str, module: nn.Module, kind: Any, settings: Settings, shapes: Settings) -> str:
    where = name or "the network"
    if type(module) is not kind:
        return f"{where} is a {type(module).__name__}"
    if computing(kind) != FORWARDS[kind]:
        return f"{kind.__name__} computes something else"
    if (now := _settings(module)) != settings:
        changed = min(key for key in now.keys() | settings.keys() if now.get(key) != settings.get(key))
        return f"{changed.strip('_').replace('_', ' ')} of {where}"
    return "" if _shapes(module) == shapes else f"parameters of {where}"


def hooks_of(model: nn.Module) -> list[dict[int, Any]]:
    """Return the dictionaries in which torch keeps forward hooks: if any is not empty, the network is altered."""
    own = [hooks for module in model.modules() for hooks in (module._forward_hooks, module._forward_pre_hooks)]
    return [*own, *(getattr(torch_module, hooks, {}) for hooks in GLOBAL_HOOKS)]


@lru_cache(maxsize=64)
def _modules(config: AnyShape) -> dict[str, tuple[Any, Settings, Settings]]:
    # Not on the meta device, whose first use costs a second; drawing weights must not move the caller's generator.
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        plain = new_module(config)
    return {name: (type(module), _settings(module), _shapes(module)) for name, module in plain.named_modules()}


def _settings(module: nn.Module) -> Settings:
    """Return everything in a module but weights: sizes, hooks, methods set on the instance."""
    return {name: value for name, value in vars(module).items() if name not in HELD_APART}


def _shapes(module: nn.Module) -> Settings:
    parameters = module._parameters.items()
    return {name: value if value is None else (type(value), value.shape) for name, value in parameters}


@lru_cache(maxsize=64)
def _buffers(config: AnyShape) -> dict[str, Tensor]:
    if isinstance(config, ReaderConfig):
        parts = parabola(config.vocabulary - SIGNS) if config.curve else ()
        names = ("token_embedding.shares", "token_embedding.squares")
        return {name: torch.from_numpy(part) for name, part in zip(names, parts, strict=False)}
    with torch.device("cpu"):
        return {"mask": attention_mask(config), "rows": torch.tensor(position_rows(config))}


def _same_buffers(model: nn.Module, config: AnyShape) -> bool:
    expected, found = _buffers(config), dict(model.named_buffers())
    return found.keys() == expected.keys() and all(
        buffer.dtype == expected[name].dtype and torch.equal(buffer.cpu(), expected[name])
        for name, buffer in found.items()
    )
