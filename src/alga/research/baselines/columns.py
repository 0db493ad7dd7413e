"""ALGA itself and two variants that the paper rejects; all share its outer loop over columns.

They train on columns, not on sums: on every prompt that a sum of any length can lead to, except for `FirstType`, which
only sees prompts without a context.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from alga import tasks
from alga.base.progress import Watch, unwatched
from alga.network.decoder import Decode, Decoded
from alga.network.tokens import START, STOP
from alga.network.tokens import Tokens as TaskTokens
from alga.research.baselines.contract import Attempt, Baseline, Learned, Problem
from alga.research.baselines.language import END, Language, Tokens
from alga.solve import engines
from alga.solve.solver import Solver
from alga.training import recipes
from alga.training.trainer import Training

if TYPE_CHECKING:
    from alga.runs.recipe import Recipe

TASK = tasks.find("addition").procedure
POSITIONS = sum(map(len, (TASK.prompt("19", "99"), START, "19", STOP)))  # tokens of a column's whole text


class Alga(Baseline):
    """The paper's method by the recipe `fast`, with the scale's heads and rate; training ends at the certificate."""

    title: ClassVar = "ALGA"
    source: ClassVar = "Patriota 2024; the recipe `fast` but for heads and rate"
    given: ClassVar = "an outer loop that feeds it columns one by one; it learns from columns"
    published: ClassVar = "up to 1,000 digits, 100 % of 1,000 sums (paper)"
    second_type_share: ClassVar[float | None] = None

    @cached_property
    def _training(self) -> Training:
        return Training.start(None, self.recipe, seed=self.seed, threads=1, device=self.scale.device)

    @property
    def recipe(self) -> Recipe:
        """The recipe, within the scale's compute."""
        fast, scale = recipes.fast(), self.scale
        each = fast.batch_size * POSITIONS
        share = fast.second_type_share if self.second_type_share is None else self.second_type_share
        return dataclasses.replace(
            fast, learning_rate=self.rate, final_rate=self.rate / 4, steps=max(1, scale.tokens // each),
            second_type_share=share, width=scale.width, heads=scale.heads, layers=scale.layers, hidden=scale.hidden,
        )  # fmt: skip

    @property
    def parameters(self) -> int:
        return self._training.model.parameter_count

    def train(self, watch: Watch = unwatched) -> Learned:
        training = self._training
        for progress in training.run():
            watch(progress.step, training.recipe.steps)
        examples = training.step * training.recipe.batch_size
        return Learned(examples, examples * POSITIONS, training.step)

    def answer(self, problems: Sequence[Problem]) -> list[Attempt]:
        return _column_by_column(Solver(self._training.as_run()).decoder, problems)


class FirstType(Alga):
    """The same without contexts in training: it learns 9+9, and must fail from the second column on."""

    title: ClassVar = "first type only"
    source: ClassVar = "Patriota 2024, not adopted there"
    given: ClassVar = f"{Alga.given}; but all after the first have a context, of which it saw none: it must fail"
    published: ClassVar = "does not generalise (section 2.1)"
    second_type_share: ClassVar[float | None] = 0.0


class Concatenated(Language):
    """Prompt and output are one string, and the next token is learned at every position of it."""

    title: ClassVar = "concatenated"
    source: ClassVar = "Patriota 2024, not adopted there"
    given: ClassVar = Alga.given
    published: ClassVar = '"not guaranteed to work effectively" (section 2.2)'
    vocabulary: ClassVar = TaskTokens.of(TASK.domain).vocabulary
    whole: ClassVar = True

    def question(self, first: str, second: str) -> Tokens:
        raise NotImplementedError("it is asked columns, not sums")

    def reply(self, first: str, second: str) -> Tokens:
        raise NotImplementedError("it answers columns, not sums")

    def read(self, reply: Tokens) -> str | None:
        return "".join(reply) or None

    def example(self) -> tuple[Tokens, Tokens]:
        """Draw from the whole domain; half of the instances have a context, as in the paper."""
        first, second = self._instances
        instance = self.rng.choice(self.rng.choice((first, second)))
        return [*instance.prompt, START], [*instance.output]

    @cached_property
    def _instances(self) -> tuple[list[tasks.Instance], list[tasks.Instance]]:
        every = list(TASK.domain.values())
        return [i for i in every if i.context is None], [i for i in every if i.context is not None]

    def answer(self, problems: Sequence[Problem]) -> list[Attempt]:
        longest = TaskTokens.of(TASK.domain).output_length + 1

        def decode(prompts: Sequence[str]) -> list[Decoded]:
            replies = self.generate([[*prompt, START] for prompt in prompts], longest)
            outputs = ["".join(reply[:-1]) if reply[-1:] == [END] else None for reply in replies]
            good = [output if output and set(output) <= set(TASK.symbols) else None for output in outputs]
            return [Decoded("".join(reply), output, 1.0) for reply, output in zip(replies, good, strict=True)]

        return _column_by_column(decode, problems)


def _column_by_column(decode: Decode, problems: Sequence[Problem]) -> list[Attempt]:
    """Answer with the outer loop; the generated text lists every prompt with its output."""
    solutions = engines.sequential.solve(TASK, decode, list(problems), keep_steps=True)
    written = [" ".join(f"{step.prompt}:{step.text}" for step in solution.kept) for solution in solutions]
    return [Attempt(solution.answer, text) for solution, text in zip(solutions, written, strict=True)]
