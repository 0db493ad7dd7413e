"""`alga.Arithmetic` of version 0.1, kept for one release: use `alga.Calculator`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partialmethod

from alga.solve.calculator import Calculator
from alga.solve.solver import Solver


class Arithmetic(Calculator):
    """A calculator whose `add`, `sub`, `mul`, `divmod` and `cmp` return results instead of answers."""

    def __init__(self, base: int = 10, *, models: Sequence[str | Solver] = (), engine: str | None = None) -> None:
        super().__init__(base, models=models, engine=engine)

    add = partialmethod(Calculator.solve, operation="add")  # type: ignore[assignment]
    sub = partialmethod(Calculator.solve, operation="sub")  # type: ignore[assignment]
    mul = partialmethod(Calculator.solve, operation="mul")  # type: ignore[assignment]
    divmod = partialmethod(Calculator.solve, operation="divmod")  # type: ignore[assignment]
    cmp = partialmethod(Calculator.solve, operation="cmp")  # type: ignore[assignment]
