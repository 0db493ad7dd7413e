"""The served networks by public name: a run folder is known by its last path component, never by its path."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeVar

from alga import runs
from alga.base.errors import AlgaError
from alga.runs import Run
from alga.serve.limits import RefusedError
from alga.solve.solver import DEFAULT_MODEL

T = TypeVar("T")
LOG: Final = logging.getLogger("alga.serve")
SLOW_TO_OPEN: Final = frozenset({"whole-of-three"})  # 200,202 situations: served only if it is named


class ModelRegistry:
    """The shipped networks and the given run folders, shared by all threads; shipped ones are loaded on first use."""

    def __init__(self, models: Sequence[str] = ()) -> None:
        self._places = {name: name for name in runs.shipped() if name not in SLOW_TO_OPEN or name in models}
        for model in models:
            name = model if model in self._places else Path(model).resolve().name
            if self._places.get(name, model) != model:
                raise AlgaError(f"two models are called {name}: rename the folder {model}")
            self._places[name] = model
        given = {place: name for name, place in self._places.items() if place in models}
        self.first = given[models[0]] if models else DEFAULT_MODEL  # what the page starts with
        self._runs = {name: self._read(name) for name in given.values()}
        self._cache: dict[tuple[str, str], tuple[str, Any]] = {}  # with the hash of the weights
        self._lock = Lock()
        self._making: dict[tuple[str, str], Lock] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The public names of all networks."""
        return tuple(self._places)

    def run(self, name: str) -> Run:
        """Return a network by its public name."""
        if name not in self._places:
            raise RefusedError(404, f"no model {name!r} is served here; /v1/models lists all models")
        with self._lock:
            if name not in self._runs:
                try:
                    self._runs[name] = self._read(name)
                except AlgaError as problem:  # its message names local files: it goes to the log, not to clients
                    LOG.error("cannot load the model %s: %s", name, problem)
                    raise RefusedError(500, f"the model {name} cannot be loaded") from None
            return self._runs[name]

    def _read(self, name: str) -> Run:
        return dataclasses.replace(runs.load(self._places[name]), name=name)

    def cached(self, kind: str, name: str, make: Callable[[], T]) -> T:
        """Return what `make` computes about a network: once, and again only if the weights have changed."""
        key, sha256 = (kind, name), self.run(name).sha256
        with self._lock:
            making = self._making.setdefault(key, Lock())
        with making:  # other threads wait for the result instead of computing it too
            if key not in self._cache or self._cache[key][0] != sha256:
                self._cache[key] = sha256, make()
            value: T = self._cache[key][1]
            return value

    def is_cached(self, kind: str, name: str) -> bool:
        """Return whether `cached` has computed this before."""
        return (kind, name) in self._cache
