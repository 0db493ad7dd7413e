"""`alga.Arithmetic` of version 0.1, kept for one release: use `alga.Calculator`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from alga.solve.calculator import Calculator
from alga.solve.result import Result
from alga.solve.solver import Solver


class Arithmetic(Calculator):
    """A calculator whose `add`, `sub`, `mul`, `divmod` and `cmp` return results instead of answers."""

    def __init__(self, base: int = 10, *, models: Sequence[str | Solver] = (), engine: str | None = None) -> None:
        super().__init__(base, models=models, engine=engine)

    def add(self, *numbers: Any) -> Result:  # type: ignore[override]
        """Add two or more numbers."""
        return self.solve(*numbers, operation="add")

    def sub(self, a: Any, b: Any) -> Result:  # type: ignore[override]
        """Subtract the second number from the first."""
        return self.solve(a, b, operation="sub")

    def mul(self, a: Any, b: Any) -> Result:  # type: ignore[override]
        """Multiply two numbers."""
        return self.solve(a, b, operation="mul")

    def divmod(self, a: Any, b: Any) -> Result:  # type: ignore[override]
        """Divide, rounding down."""
        return self.solve(a, b, operation="divmod")

    def cmp(self, a: Any, b: Any) -> Result:  # type: ignore[override]
        """Compare two numbers."""
        return self.solve(a, b, operation="cmp")
