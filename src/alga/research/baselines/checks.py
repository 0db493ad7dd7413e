"""When training ends: all validation sums right at three checks in a row, or the most tokens reached.

A method that extrapolates trains on after it has passed, as its authors do, to `on_tokens` or until its rate has
fallen to zero, whichever takes longer; the weights at the point where it passed are kept too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from alga.research.baselines.contract import Scale

IN_A_ROW: Final = 3


@dataclass
class Checks:
    """The checks of one training so far.

    >>> checks = Checks(Scale(check_tokens=100, tokens=1000), ends=True)
    >>> for tokens, right in ((100, 5), (200, 4), (300, 5), (400, 5), (500, 5)):
    ...     _ = checks.add(tokens, right, 5)
    >>> checks.passed, checks.ended(500), checks.due(550), checks.due(600)
    (500, True, False, True)
    >>> scale = Scale(check_tokens=100, tokens=4000, settle_tokens=1000, on_tokens=800)
    >>> [Checks(scale, ends=False, passed=passed).settling for passed in (None, 500, 900)]
    [(3000, 4000), (600, 800), (900, 1100)]
    """

    scale: Scale
    ends: bool  # whether training ends when it has passed
    curve: list[tuple[int, int, int]] = field(default_factory=list)  # tokens, right, of how many
    passed: int | None = None  # tokens after which it passed first

    def due(self, tokens: int) -> bool:
        """Whether it is time for another check."""
        return tokens >= min((len(self.curve) + 1) * self.scale.check_tokens, self.scale.tokens)

    def add(self, tokens: int, right: int, of: int) -> bool:
        """Record a check; return whether training has passed just now."""
        self.curve.append((tokens, right, of))
        last = self.curve[-IN_A_ROW:]
        now = self.passed is None and len(last) == IN_A_ROW and all(right == of for _, right, of in last)
        if now:
            self.passed = tokens
        return now

    @property
    def settling(self) -> tuple[int, int]:
        """The tokens between which the learning rate falls to zero, as far as is known; training ends there."""
        most, share = self.scale.tokens, self.scale.settle_tokens / self.scale.tokens
        if self.passed is None:
            return most - self.scale.settle_tokens, most
        length = round(share * self.scale.on_tokens)
        end = min(most, max(self.scale.on_tokens, self.passed + length))
        return end - length, end

    def ended(self, tokens: int) -> bool:
        """Whether training ends after so many tokens."""
        return tokens >= self.settling[1] or (self.ends and self.passed is not None)
