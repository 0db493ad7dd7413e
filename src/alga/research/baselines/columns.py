"""ALGA itself and two variants that the paper rejects; all share its outer loop over columns.

They train on columns, not on sums: on every prompt that a sum of any length can lead to, except for `FirstType`, which
only sees prompts without a context.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property

from alga import tasks
from alga.network.step import Decode, Step
from alga.network.tokens import START, STOP
from alga.network.tokens import Tokens as TaskTokens
from alga.research.baselines.contract import Attempt, Baseline, Learned, Problem
from alga.research.baselines.language import END, Language, Tokens
from alga.solve import engines
from alga.solve.solver import Solver
from alga.training import recipes
from alga.training.trainer import Training

TASK = tasks.find("addition").procedure
TOKENS = TaskTokens.of(TASK.domain)
BOTH_TYPES = [[i for i in TASK.domain.values() if (i.context is None) is first] for first in (True, False)]
POSITIONS = sum(map(len, (TASK.prompt("19", "99"), START, "19", STOP)))  # tokens of a column's whole text


class Alga(Baseline):
    """The paper's method by `fast` of 0.1, with the scale's heads and rate; training ends at the certificate."""

    title = "ALGA"
    source = "Patriota 2024; the recipe `fast` but for heads and rate"
    given = "an outer loop that feeds it columns one by one; it learns from columns"
    published = "up to 1,000 digits, 100 % of 1,000 sums (paper)"
    second_type_share = recipes.fast_by_adamw().second_type_share
    looped = True
    version = 2  # with more steps

    @cached_property
    def _training(self) -> Training:
        fast, scale = recipes.fast_by_adamw(), self.scale
        recipe = dataclasses.replace(
            fast, learning_rate=self.rate, final_rate=self.rate / 4, second_type_share=self.second_type_share,
            steps=max(1, scale.tokens // (fast.batch_size * POSITIONS)),
            width=scale.width, heads=scale.heads, layers=scale.layers, hidden=scale.hidden,
        )  # fmt: skip
        return Training.start(None, recipe, seed=self.seed, threads=1, device=scale.device)

    @property
    def parameters(self) -> int:
        return self._training.model.parameter_count

    def train(self) -> Learned:
        training, curve = self._training, []
        tokens = training.recipe.batch_size * POSITIONS  # of a step
        for progress in training.run():
            prompts = len(TASK.domain)
            curve.append((progress.step * tokens, prompts - progress.wrong, prompts))
        passed = None if training.certificate is None else training.step * tokens
        kept = curve[-1 :: -max(1, len(curve) // 100)][::-1]  # enough for a picture
        return Learned(training.step * training.recipe.batch_size, training.step * tokens, training.step, passed, kept)

    @property
    def certified(self) -> bool:
        return self._training.certificate is not None

    def answer(self, problems: Sequence[Problem]) -> list[Attempt]:
        return _column_by_column(Solver(self._training.as_run()).decoder, problems)


class FirstType(Alga):
    """The same without contexts in training: it learns 9+9, and must fail from the second column on."""

    title = "first type only"
    source = "Patriota 2024, not adopted there"
    given = f"{Alga.given}; but all after the first have a context, of which it saw none: it must fail"
    published = "does not generalise (section 2.1)"
    second_type_share = 0.0


class Concatenated(Language):
    """Prompt and output are one string, and the next token is learned at every position of it."""

    title = "concatenated"
    source = "Patriota 2024, not adopted there"
    given = Alga.given
    published = '"not guaranteed to work effectively" (section 2.2)'
    vocabulary = TOKENS.vocabulary
    whole = True
    looped = True

    def held_out(self) -> list[tuple[Tokens, Tokens]]:
        """Return every column there is: what it must know to add any numbers."""
        return [([*instance.prompt, START], [*instance.output]) for instance in TASK.domain.values()]

    def example(self) -> tuple[Tokens, Tokens]:
        """Draw from the whole domain; half of the instances have a context, as in the paper."""
        instance = self.rng.choice(self.rng.choice(BOTH_TYPES))
        return [*instance.prompt, START], [*instance.output]

    def answer(self, problems: Sequence[Problem]) -> list[Attempt]:
        return _column_by_column(self._decode, problems)

    def _decode(self, prompts: Sequence[str]) -> list[Step]:
        replies = self.generate([[*prompt, START] for prompt in prompts], TOKENS.output_length + 1)
        outputs = ["".join(reply[:-1]) if reply[-1:] == [END] else "" for reply in replies]
        valid = [output if output and set(output) <= set(TASK.symbols) else None for output in outputs]
        found = zip(prompts, replies, valid, strict=True)
        return [Step(prompt, "".join(reply), output, 1.0) for prompt, reply, output in found]


def _column_by_column(decode: Decode, problems: Sequence[Problem]) -> list[Attempt]:
    """Answer with the outer loop; the generated text lists every prompt with its output."""
    solutions = engines.sequential.solve(TASK, decode, list(problems), keep_steps=True)
    written = [" ".join(f"{step.prompt}:{step.text}" for step in solution.kept) for solution in solutions]
    return [Attempt(solution.answer, text) for solution, text in zip(solutions, written, strict=True)]
