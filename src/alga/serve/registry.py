"""The networks that are served, by public names: a run folder is known by its last part, never by its path."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Final

from alga import runs
from alga.base.errors import AlgaError
from alga.runs import Run
from alga.serve import content
from alga.serve.limits import RefusedError
from alga.solve.calculator import Calculator
from alga.solve.solver import DEFAULT_MODEL, Solver

LOG: Final = logging.getLogger("alga.serve")


class Shelf:
    """Every shipped network and the run folders that were named, each read when it is first asked for."""

    def __init__(self, models: Sequence[str] = ()) -> None:
        self._places = {name: name for name in runs.shipped()}
        self.first = DEFAULT_MODEL  # what the page begins with
        for model in models:
            name = model if model in self._places else Path(model).resolve().name
            if self._places.get(name, model) != model:
                raise AlgaError(f"two models are called {name}: rename the folder {model}")
            self._places[name] = model
        if models:
            self.first = next(name for name, place in self._places.items() if place == models[0])
        self._runs: dict[str, Run] = {}
        self._contents: dict[tuple[str, str], Any] = {}
        self._lock = Lock()
        self._making: dict[tuple[str, str], Lock] = {}
        self._open = False  # to the public, who are not told of files
        for name, place in self._places.items():
            if place in models:
                self.run(name)
        self._open = True

    @property
    def names(self) -> tuple[str, ...]:
        """The public names of all networks."""
        return tuple(self._places)

    def run(self, name: str) -> Run:
        """Return a network by its public name, as often as wanted."""
        if name not in self._places:
            raise RefusedError(404, f"no model {name!r} is served here; /v1/models lists those that are")
        with self._lock:
            if name not in self._runs:
                self._runs[name] = self._read(name)
            return self._runs[name]

    def _read(self, name: str) -> Run:
        try:
            return dataclasses.replace(runs.load(self._places[name]), name=name)
        except AlgaError as problem:
            if not self._open:
                raise
            LOG.error("the model %s cannot be read: %s", name, problem)  # it names files of this machine
            raise RefusedError(500, f"the model {name} cannot be read here") from None

    def once(self, kind: str, name: str, make: Any) -> Any:
        """Return what `make` says of a network: made on first use, and again where the weights have changed since."""
        key = (kind, name)
        sha256 = self.run(name).sha256
        with self._lock:
            making = self._making.setdefault(key, Lock())
        with making:  # others wait for it instead of making it too
            if key not in self._contents or self._contents[key][0] != sha256:
                self._contents[key] = sha256, make()
            return self._contents[key][1]

    def has(self, kind: str, name: str) -> bool:
        """Tell whether that has been made of a network."""
        return (kind, name) in self._contents


class Desk:
    """One worker's own solvers over the shared networks: their counters and buffers are not for two at once."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self._calculators: dict[str, Solver] = {}

    def solver(self, name: str) -> Solver:
        """Return this desk's solver for a network."""
        run = self.shelf.run(name)
        if name not in self._calculators:
            self._calculators[name] = Solver(run)
            if name in runs.shipped() and (ahead := runs.LOOKAHEADS.get(name)) in self.shelf.names:
                self._calculators[name].companion = self.solver(str(ahead))
        return self._calculators[name]

    def described(self, name: str) -> dict[str, Any]:
        """Return what a network is, in plain values."""
        made: dict[str, Any] = self.shelf.once("model", name, lambda: content.model(self.solver(name)))
        return made

    def domain(self, name: str) -> bytes:
        """Return a network's domain as JSON, computed once."""
        made: bytes = self.shelf.once("domain", name, lambda: content.as_json(content.domain(self.solver(name))))
        return made

    def calculator(
        self, base: int | None, model: str | None, engine: str | None = None, *, instead: Solver | None = None
    ) -> Calculator:
        """Return a calculator of these networks; a model determines the base if none is given.

        `instead` takes the place of the network of its name, as a damaged copy does.
        """
        given = [] if model is None or (instead and instead.run.name == model) else [self.solver(model)]
        given += [instead] if instead else []
        return Calculator(base, models=given, engine=engine, load_shipped=self.solver)
