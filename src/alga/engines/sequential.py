"""The paper's procedure to the letter: one network step per column, each reading the previous step's output.

Many problems run side by side: a round takes one column of each, and equal prompts are computed once *within* a round.
Nothing is remembered from one round to the next, so every answer is the network's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from alga.engines.solution import Solution, Step
from alga.progress import Watch, unwatched
from alga.tasks import Task

if TYPE_CHECKING:
    from alga.decoding import Decode


@dataclass
class _Walk:
    """One problem on its way."""

    operands: tuple[str, ...]
    columns: list[str]
    outputs: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    generated_tokens: int = 0
    taken: int = 0
    failed: Step | None = None

    def prompt(self, task: Task) -> str:
        return task.prompt(self.outputs[-1] if self.outputs else None, self.columns[self.taken])


def solve(
    task: Task,
    decode: Decode,
    problems: Sequence[tuple[str, ...]],
    *,
    keep_steps: bool = False,
    watch: Watch = unwatched,
) -> list[Solution]:
    """Solve problems side by side; `watch` is told of steps done and steps there are."""
    walks = [_Walk(operands, task.columns(*operands)) for operands in problems]
    total, done = sum(len(walk.columns) for walk in walks), 0
    running = walks
    while running:
        prompts = [walk.prompt(task) for walk in running]
        unique = list(dict.fromkeys(prompts))
        answers = dict(zip(unique, decode(unique), strict=True))
        for walk, prompt in zip(running, prompts, strict=True):
            decoded = answers[prompt]
            step = Step(prompt, decoded.text, decoded.margin)
            walk.taken += 1
            walk.generated_tokens += len(decoded.text)
            if keep_steps:
                walk.steps.append(step)
            if decoded.output is None:
                walk.failed = step
            else:
                walk.outputs.append(decoded.output)
        done += len(running)
        watch(done, total)
        running = [walk for walk in running if walk.failed is None and walk.taken < len(walk.columns)]
    return [
        Solution(
            operands=walk.operands,
            answer=None if walk.failed else task.read(walk.outputs),
            steps=walk.taken,
            rounds=walk.taken,
            generated_tokens=walk.generated_tokens,
            failed=walk.failed,
            trace=tuple(walk.steps),
        )
        for walk in walks
    ]
