"""When training ends: all validation sums right at three checks in a row, or the most tokens reached."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from alga.research.baselines.contract import Scale

IN_A_ROW: Final = 3


@dataclass
class Checks:
    """The checks of one training so far.

    >>> checks = Checks(Scale(check_tokens=100))
    >>> for tokens, right in ((100, 5), (200, 4), (300, 5), (400, 5), (500, 5)):
    ...     checks.add(tokens, right, 5)
    >>> checks.passed, checks.due(550), checks.due(600)
    (True, False, True)
    """

    scale: Scale
    curve: list[tuple[int, int, int]] = field(default_factory=list)  # tokens, right, of how many

    def due(self, tokens: int) -> bool:
        """Whether it is time for another check."""
        return tokens >= min((len(self.curve) + 1) * self.scale.check_tokens, self.scale.tokens)

    def add(self, tokens: int, right: int, of: int) -> None:
        """Record a check."""
        self.curve.append((tokens, right, of))

    @property
    def passed(self) -> bool:
        """Whether the last checks found everything right."""
        last = self.curve[-IN_A_ROW:]
        return len(last) == IN_A_ROW and all(right == of for _, right, of in last)
