"""The networks that arithmetic in one base is made of, by kind of step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from alga import runs
from alga.base.errors import AlgaError
from alga.solve.solver import Solver

USES: Final = {  # the kinds of steps that an operation may be made of
    "add": ("add", "add three", "sub", "cmp"),
    "sub": ("add", "sub", "cmp"),
    "mul": ("times", "add"),
    "divmod": ("divide", "times", "cmp", "sub", "add"),
    "cmp": ("cmp",),
}


class Networks:
    """Networks by kind of step: those given, and the shipped ones, opened when first needed."""

    def __init__(
        self, base: int, given: Sequence[Solver] = (), load_shipped: Callable[[str], Solver] = Solver.load
    ) -> None:
        self.base = base
        self._load_shipped, self._given = load_shipped, tuple(given)
        self._by_kind: dict[str, Solver] = {}
        for network in given:
            if network.procedure.layout.base != base and network.parts():
                raise AlgaError(f"the model {network.run.name} is for base {network.procedure.layout.base}, not {base}")
            self._by_kind |= network.parts()
        self.given = frozenset(self._by_kind)  # the kinds of steps that a given network is for

    def find(self, kind: str) -> Solver:
        """Return the network for one kind of step: the given one, or the one that ships."""
        if kind not in self._by_kind:
            name = runs.for_step(kind, self.base)
            if name not in runs.shipped():
                raise AlgaError(
                    f"no network for {name} ships; train one with alga train --task {name}, and name it with --model"
                )
            self._by_kind[kind] = self._load_shipped(name)
        return self._by_kind[kind]

    def given_for(self, operation: str) -> tuple[Solver, ...]:
        """Return the given networks; refuse one that the operation has no use for."""
        used = {self._by_kind[kind].run.name for kind in self.given if kind in USES[operation]}
        for network in self._given:
            if network.run.name not in used:
                what = "does no arithmetic" if not network.parts() else f"does not {operation}"
                raise AlgaError(f"the model {network.run.name} {what}: it computes {network.trained.summary}")
        return self._given
