"""One step: a prompt, and what the network wrote for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Step:
    """One greedy generation: the prompt, the text written for it with its `S`, and the output if that is well formed.

    The margin is the chosen token's logit minus the largest other, least over every token generated, `S` included.
    """

    prompt: str
    text: str
    output: str | None
    margin: float

    def as_dict(self) -> dict[str, Any]:
        """Return the step as plain values; a margin that overflowed is None."""
        return {
            "prompt": self.prompt, "output": self.text, "margin": self.margin if math.isfinite(self.margin) else None,
        }  # fmt: skip


Decode = Callable[[Sequence[str]], list[Step]]
