"""ALGA itself, and two ways that the paper rejects: both know one column at a time, and share its outer loop."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from alga import engines, recipes, tasks
from alga.calculator import Calculator
from alga.decoding import Decoded
from alga.progress import Watch, unwatched
from alga.rivals.contract import Attempt, Learned, Problem, Rival
from alga.rivals.language import END, Language, Tokens
from alga.tokens import START, STOP
from alga.tokens import Tokens as TaskTokens
from alga.training import Training

if TYPE_CHECKING:
    from alga.recipes import Recipe

TASK = tasks.find("addition")
POSITIONS = sum(map(len, (TASK.prompt("19", "99"), START, "19", STOP)))  # tokens of a column's whole text


class Alga(Rival):
    """The paper's method by the recipe `fast`; training ends at the certificate."""

    name: ClassVar = "alga"
    title: ClassVar = "ALGA"
    source: ClassVar = "Patriota 2024, recipe `fast`"
    given: ClassVar = "an outer loop that feeds it columns one by one"
    published: ClassVar = "up to 1,000 digits, 100 % of 1,000 sums (paper)"
    second_type_share: ClassVar[float | None] = None

    @cached_property
    def _training(self) -> Training:
        return Training.start(None, self.recipe, seed=self.seed, threads=1, device="cpu")

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
        answers = Calculator(self._training.as_run()).solve_many(problems, engine="sequential")
        return [Attempt(answer.answer, answer.failure or f"{answer.solutions[-1].steps} steps") for answer in answers]


class FirstType(Alga):
    """The same without contexts in training: it learns 9+9, and must fail from the second column on."""

    name: ClassVar = "first-type"
    title: ClassVar = "first type only"
    source: ClassVar = "Patriota 2024, rejected there"
    given: ClassVar = f"{Alga.given}; but all after the first have a context, of which it saw none: it must fail"
    published: ClassVar = "does not generalise (section 2.1)"
    second_type_share: ClassVar[float | None] = 0.0


class Concatenated(Language):
    """Prompt and output are one string, and the next token is learned at every position of it."""

    name: ClassVar = "concatenated"
    title: ClassVar = "concatenated"
    source: ClassVar = "Patriota 2024, rejected there"
    given: ClassVar = Alga.given
    vocabulary: ClassVar = TaskTokens.of(TASK).vocabulary
    whole: ClassVar = True

    def question(self, first: str, second: str) -> Tokens:
        raise NotImplementedError("it is asked columns, not sums")

    def reply(self, first: str, second: str) -> Tokens:
        raise NotImplementedError("it answers columns, not sums")

    def read(self, reply: Tokens) -> str | None:
        return "".join(reply) or None

    def example(self) -> tuple[Tokens, Tokens]:
        """Draw as the paper does: half of the instances have a context."""
        first, second = self._instances
        instance = self.rng.choice(self.rng.choice((first, second)))
        return [*instance.prompt, START], [*instance.output]

    @cached_property
    def _instances(self) -> tuple[list[tasks.Instance], list[tasks.Instance]]:
        every = list(TASK.domain.values())
        return [i for i in every if i.context is None], [i for i in every if i.context is not None]

    def answer(self, problems: Sequence[Problem]) -> list[Attempt]:
        longest = TaskTokens.of(TASK).output_length + 1

        def decode(prompts: Sequence[str]) -> list[Decoded]:
            replies = self.generate([[*prompt, START] for prompt in prompts], longest)
            outputs = ["".join(reply[:-1]) if reply[-1:] == [END] else None for reply in replies]
            good = [output if output and set(output) <= set(TASK.symbols) else None for output in outputs]
            return [Decoded("".join(reply), output, 1.0) for reply, output in zip(replies, good, strict=True)]

        solutions = engines.sequential.solve(TASK, decode, list(problems))
        return [Attempt(solution.answer, solution.failure or f"{solution.steps} steps") for solution in solutions]
