"""A torch module as it was when someone looked closely: whether anything has changed since, in some 50 µs.

Comparing a module with its configuration (`alterations.py`) and its weights tensor by tensor takes five times as long.
Nearly always nothing has changed. So a state remembers every object of the module by identity and every tensor by its
bytes; whoever asks `holds` looks closely again if the answer is no. What differs in any way, cannot be compared or is
not on the CPU counts as changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import itemgetter, methodcaller
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from alga.network.alterations import computing, globally_altered

CONTENTS: Final = ("_parameters", "_buffers", "_modules")
_contents_of: Final = itemgetter(*CONTENTS)
_values_of: Final = methodcaller("values")
MOST_MEMORY: Final = 4  # bytes of memory held, for each byte of a tensor: more would be slow to compare


class ModuleState:
    """The modules, settings, hooks and tensors of one module at one time."""

    def __init__(self, model: nn.Module) -> None:
        self._modules = [*model.modules()]
        self._types = [*map(type, self._modules)]
        self._kinds = [*dict.fromkeys(self._types)]
        self._computing = [*map(computing, self._kinds)]
        self._settings = [dict(vars(module)) for module in self._modules]
        # A container is the same object after it was changed, so its content is compared too.
        containers = [
            value for each in self._settings for value in each.values() if isinstance(value, dict | set | list)
        ]
        self._empty = [each for each in containers if not each]
        inside = [id(each[name]) for each in self._settings for name in CONTENTS]
        self._others = [(each, each.copy()) for each in containers if each and id(each) not in inside]
        self._names, self._held = _contents(self._settings)
        self._ids = [*map(id, self._held)]
        self._tensors = [each for each in self._held if isinstance(each, Tensor)]
        self._layouts = _layouts(self._tensors)
        storages = {each.untyped_storage().data_ptr(): each.untyped_storage() for each in self._tensors}
        self._memory = [(memory, memory.copy()) for memory in map(_memory, storages.values())]

    @classmethod
    def of(cls, model: nn.Module) -> ModuleState | None:
        """Return a module's state; None if it cannot be compared quickly."""
        try:
            state = cls(model)
        except Exception:  # a module may hold anything
            return None
        memory = sum(each.nbytes for each, _ in state._memory)
        return state if memory <= MOST_MEMORY * sum(each.nbytes for each in state._tensors) else None

    def holds(self) -> bool:
        """Return whether nothing has changed since."""
        try:
            return not globally_altered() and self._same_modules() and self._same_tensors()
        except Exception:  # what was set from outside may refuse to be compared
            return False

    def _same_modules(self) -> bool:
        settings = [vars(module) for module in self._modules]
        if [*map(type, self._modules)] != self._types or settings != self._settings or any(self._empty):
            return False
        names, held = _contents(settings)
        return (
            names == self._names
            and [*map(id, held)] == self._ids
            and all(now == before for now, before in self._others)
            and [*map(computing, self._kinds)] == self._computing
        )

    def _same_tensors(self) -> bool:
        # No other memory can have the addresses, because this keeps hold of it.
        if _layouts(self._tensors) != self._layouts:
            return False
        return all(bool((now == before).all()) for now, before in self._memory)


def _contents(settings: Sequence[dict[str, Any]]) -> tuple[list[str], list[Any]]:
    """Return the names and the objects of all modules' parameters, buffers and submodules, in order."""
    inside = [*chain.from_iterable(map(_contents_of, settings))]
    return [*chain.from_iterable(inside)], [*chain.from_iterable(map(_values_of, inside))]


def _layouts(tensors: Sequence[Tensor]) -> list[tuple[Any, ...]]:
    """Return how each tensor reads its memory."""
    return [(type(t), t.data_ptr(), t.dtype, t.shape, t.stride(), t.is_neg()) for t in tensors]


def _memory(storage: torch.UntypedStorage) -> NDArray[Any]:
    """Return a storage's bytes, shared; refuses one that is not in the CPU's memory."""
    shared = torch.empty(0, dtype=torch.uint8, device="cpu").set_(storage).numpy()
    return shared if len(shared) % 8 else shared.view(np.int64)
