"""The paper's procedure to the letter: one network step per column, each reading the previous step's output.

Many problems run side by side: a round takes one column of each, and equal prompts are computed once *within* a round.
Nothing is cached across rounds, so every answer is the network's own.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from alga.base.cancellation import Cancellation
from alga.base.progress import Watch, unwatched
from alga.network.step import Step
from alga.solve.result import Result, failure_at
from alga.tasks import Procedure
from alga.trust.table import UNCERTAIN

if TYPE_CHECKING:
    from alga.network.step import Decode


@dataclass
class _Walk:
    """A problem in progress."""

    operands: tuple[str, ...]
    columns: list[str]
    outputs: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    failed: Step | None = None
    uncertain: str | None = None


def solve(
    procedure: Procedure,
    decode: Decode,
    problems: Sequence[tuple[str, ...]],
    *,
    keep_steps: bool = False,
    tell: Callable[[Step], None] | None = None,
    watch: Watch = unwatched,
    cancel: Cancellation | None = None,
) -> list[Result]:
    """Solve problems side by side; `watch` counts steps, `tell` is called with each kept step."""
    walks = [_Walk(operands, procedure.columns(*operands)) for operands in problems]
    total, done = sum(len(walk.columns) for walk in walks), 0
    running = walks
    for place in itertools.count():
        running = [walk for walk in running if walk.failed is None and place < len(walk.columns)]
        if not running:
            break
        if cancel is not None:
            cancel.check()
        if place == 0:
            prompts = [procedure.prompt(None, walk.columns[0]) for walk in running]
        else:
            prompts = [procedure.prompt(walk.outputs[-1], walk.columns[place]) for walk in running]
        unique = list(dict.fromkeys(prompts))
        decoded = dict(zip(unique, decode(unique), strict=True))
        outputs = {prompt: step.output for prompt, step in decoded.items()}
        uncertain = {prompt for prompt, step in decoded.items() if not step.margin > UNCERTAIN}
        for walk, prompt in zip(running, prompts, strict=True):
            output = outputs[prompt]
            if output is not None:
                walk.outputs.append(output)
            else:
                walk.failed = decoded[prompt]
            if prompt in uncertain and walk.uncertain is None:
                walk.uncertain = prompt
            if keep_steps:
                walk.steps.append(decoded[prompt])
                if tell is not None:
                    tell(walk.steps[-1])
        done += len(running)
        watch(done, total)
    return [_result(procedure, walk) for walk in walks]


def _result(procedure: Procedure, walk: _Walk) -> Result:
    steps, failed = len(walk.outputs) + (walk.failed is not None), walk.failed
    stops = len(walk.outputs)  # every output ended in one more token
    return Result(
        operation=procedure.name,
        operands=walk.operands,
        answer=None if failed else procedure.read(walk.outputs),
        step_count=steps,
        rounds=steps,
        generated_tokens=sum(map(len, walk.outputs)) + stops + len(failed.text if failed else ""),
        failure=failure_at(steps, failed.prompt, failed.text) if failed else "",
        uncertain=walk.uncertain,
        kept=tuple(walk.steps),
    )
