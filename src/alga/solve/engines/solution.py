"""What every engine gives: the answer, or the step at which the network wrote no output, and what it took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from alga.tasks import Procedure

_WORDS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True, slots=True)
class Step:
    """One greedy generation: the prompt, the text written for it with its `S`, and the margin."""

    prompt: str
    text: str
    margin: float


@dataclass(frozen=True, kw_only=True)
class Solution:
    """One problem's end; `answer` is None where the network failed at its last step."""

    operands: tuple[str, ...]
    answer: str | None
    steps: int
    rounds: int
    generated_tokens: int
    failed: Step | None = None
    uncertain: str | None = None  # the first prompt on the way that rounding might have decided
    trace: tuple[Step, ...] = ()

    @property
    def failure(self) -> str:
        """The failure in words; empty where there is none."""
        if self.failed is None:
            return ""
        return f"the network failed at step {self.steps}: it wrote {self.failed.text!r} for {self.failed.prompt}"


def as_table(procedure: Procedure, solution: Solution) -> str:
    """Return a kept trace as the paper prints it in section 4, line by line."""
    width = max(len(step.prompt) for step in solution.trace)
    lines = [f"      Autoregressive generation to compute: {procedure.expression(*solution.operands)}"]
    lines += [
        f"{i:>8}ª) INPUT: {step.prompt:<{width}} generates {_word(len(step.text)):<5} OUTPUTS: {step.text}"
        for i, step in enumerate(solution.trace, start=1)
    ]
    if solution.answer is None:
        return "\n".join([*lines, solution.failure])
    return "\n".join([*lines, procedure.reading(solution.steps), f"{'Final answer: ':>36}{solution.answer}"])


def _word(count: int) -> str:
    return _WORDS[count] if count < len(_WORDS) else str(count)
