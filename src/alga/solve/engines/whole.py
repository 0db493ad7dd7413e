"""Plain generation: a network that reads both numbers in one text continues it, token by token, to the sum.

Nothing is fed to it but the text and its own tokens. docs/whole.md has the theorem that makes it right at every length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from alga.base.cancellation import Cancellation
from alga.base.progress import Watch, unwatched
from alga.network.step import Step
from alga.solve.result import Result
from alga.tasks import Task, Whole
from alga.trust.table import UNCERTAIN

if TYPE_CHECKING:
    from alga.network.reader_decoder import Look, Written


class Continue(Protocol):
    """Continues a question for at most so many tokens."""

    def __call__(self, question: str, limit: int, watch: Callable[[int], None]) -> Written:
        """Return the continuation; `watch` is told how many tokens there are."""


def solve(
    trained: Task,
    continued: Continue,
    problems: Sequence[tuple[str, ...]],
    *,
    look: Callable[[str, int], Look] | None = None,
    tell: Callable[[Step], None] | None = None,
    watch: Watch = unwatched,
    cancel: Cancellation | None = None,
) -> list[Result]:
    """Solve problems one after the other; `watch` counts tokens.

    With `look` each token is kept as a step, with what it attended to; `tell` is called with each.
    """
    task = cast(Whole, trained)
    questions = [task.question(*operands) for operands in problems]
    limits = [task.longest_answer(question) for question in questions]
    results, before, total = [], 0, sum(limits)
    for operands, question, limit in zip(problems, questions, limits, strict=True):

        def watch_part(done: int, before: int = before) -> None:
            if cancel is not None:
                cancel.check()
            watch(before + done, total)

        if cancel is not None:
            cancel.check()
        written = continued(question, limit, watch_part)
        kept: dict[str, Any] = {}
        if look is not None:
            steps = tuple(_steps(task, question, written))
            if tell is not None:
                for step in steps:
                    tell(step)
            text = question + written.text
            kept = {"kept": steps, "details": tuple(look(text, at) for at in range(len(question) - 1, len(text) - 1))}
        results.append(_result(task, operands, question, written, kept))
        before += limit
        watch(before, total)
    return results


def _steps(task: Whole, question: str, written: Written) -> list[Step]:
    situations = task.situations(question, written.text)
    parts = zip(situations, written.text, written.margins.tolist(), strict=True)
    return [Step(prompt, token, token, margin) for prompt, token, margin in parts]


def _result(task: Whole, operands: tuple[str, ...], question: str, written: Written, kept: dict[str, Any]) -> Result:
    answer, text = task.read(written.text), written.text
    unsure = (written.margins <= UNCERTAIN) | (written.margins != written.margins)
    failure = ""
    if answer is None:
        shown = text if len(text) <= 20 else f"…{text[-20:]}"
        failure = f"the network wrote {shown!r} after {len(text):,} tokens, which is not a number and `S`"
    uncertain = None
    if unsure.any():
        at = int(unsure.argmax())
        uncertain = next(s for i, s in enumerate(task.situations(question, text)) if i == at)
    return Result(
        operation=task.serves.name,
        operands=operands,
        answer=answer,
        step_count=len(text),
        rounds=len(text),
        generated_tokens=len(text),
        failure=failure,
        uncertain=uncertain,
        **kept,
    )
