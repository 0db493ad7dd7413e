"""The paper's procedure to the letter: one network step per column, each reading the previous step's output.

Many problems run side by side: a round takes one column of each, and equal prompts are computed once *within* a round.
One problem goes on in blocks of columns, so that the loop over them is compiled. Nothing is cached across steps, so
every answer is the network's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from alga.base.cancellation import Cancellation
from alga.base.progress import Watch, unwatched
from alga.network.step import Step
from alga.solve.result import Result, failure_at
from alga.tasks import Procedure
from alga.trust.table import UNCERTAIN

if TYPE_CHECKING:
    from alga.network.step import Decode

Walk = Callable[[str | None, Sequence[str]], list[Step]]  # the output before, columns -> steps, at least one

COLUMNS_AT_ONCE: Final = 256  # between two looks at cancellation: some 7 ms


@dataclass
class _Walk:
    """A problem in progress."""

    operands: tuple[str, ...]
    columns: list[str]
    outputs: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    failed: Step | None = None
    uncertain: str | None = None

    @property
    def running(self) -> bool:
        """Whether there is a column to answer."""
        return self.failed is None and len(self.outputs) < len(self.columns)

    @property
    def before(self) -> str | None:
        """The output of the column before."""
        return self.outputs[-1] if self.outputs else None

    def take(self, step: Step) -> None:
        """Go on by one step."""
        if step.output is not None:
            self.outputs.append(step.output)
        else:
            self.failed = step
        if not step.margin > UNCERTAIN and self.uncertain is None:
            self.uncertain = step.prompt


def solve(
    procedure: Procedure,
    decode: Decode,
    problems: Sequence[tuple[str, ...]],
    *,
    walk: Walk | None = None,
    keep_steps: bool = False,
    tell: Callable[[Step], None] | None = None,
    watch: Watch = unwatched,
    cancel: Cancellation | None = None,
) -> list[Result]:
    """Solve problems side by side; `watch` counts steps, `tell` is called with each kept step.

    `walk` answers several columns of a problem at once; it is asked if there is one problem, whose prompts it can make.
    """
    walks = [_Walk(operands, procedure.columns(*operands)) for operands in problems]
    total, done = sum(len(each.columns) for each in walks), 0
    alone = walk if len(walks) == 1 and procedure.joins else None
    while running := [each for each in walks if each.running]:
        if cancel is not None:
            cancel.check()
        if alone is not None:
            at_once = 1 if tell is not None else COLUMNS_AT_ONCE  # a step is told before the next is taken
            taken = [(walks[0], step) for step in alone(walks[0].before, _next(procedure, walks[0], at_once))]
        else:
            prompts = [procedure.prompt(each.before, each.columns[len(each.outputs)]) for each in running]
            unique = list(dict.fromkeys(prompts))
            decoded = dict(zip(unique, decode(unique), strict=True))
            taken = [(each, decoded[prompt]) for each, prompt in zip(running, prompts, strict=True)]
        for each, step in taken:
            each.take(step)
            if keep_steps:
                each.steps.append(step)
                if tell is not None:
                    tell(step)
        done += len(taken)
        watch(done, total)
    return [_result(procedure, each) for each in walks]


def _next(procedure: Procedure, walk: _Walk, count: int) -> list[str]:
    """Return the next columns of a problem, as prompts show them."""
    done = len(walk.outputs)
    return [procedure.mark + column for column in walk.columns[done : done + count]]


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
