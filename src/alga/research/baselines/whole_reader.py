"""The reader of whole sums (docs/whole.md) as a baseline: the same sums, batches, schedule and end as the others.

Network, price, optimiser and the rates of its parts are those of the recipe `whole`.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from random import Random
from typing import ClassVar, Final

import torch
from torch import Tensor

from alga import tasks
from alga.network.reader import Reader
from alga.network.texts import Texts
from alga.research.baselines.checks import Checks
from alga.research.baselines.contract import Attempt, Baseline, Learned, Problem, Scale
from alga.research.baselines.language import MEASURED, schedule
from alga.research.baselines.problems import draw, validation
from alga.solve.solver import Solver
from alga.tasks.whole import Whole
from alga.training import recipes
from alga.training.optimisers import optimisers
from alga.training.sums import SumBatch, SumSampler
from alga.training.trainer import Training

SIZES: Final = ("layers", "width", "heads", "hidden")  # that the recipe has, whatever the setting's scale is


class WholeReader(Baseline):
    """Coupled places as distances, a sink, and a price on attention outside two columns."""

    title = "reader of whole sums"
    source = "this package, the recipe `whole`"
    given = "which digits belong to one column, as distances; a price in training on attention outside two columns"
    published = "proven at every length for the shipped weights (whole.md)"
    extrapolates = True
    shape: ClassVar[Mapping[str, int]] = {size: getattr(recipes.whole(), size) for size in SIZES}

    def __init__(self, scale: Scale, rate: float, seed: int) -> None:
        super().__init__(scale, rate, seed)
        task = tasks.find(recipes.whole().task)
        assert isinstance(task, Whole)
        self.task = task
        self.recipe = dataclasses.replace(recipes.whole(), learning_rate=rate, digits=scale.digits)
        self._training = Training.start(None, self.recipe, seed=seed, threads=1, device=scale.device)
        self._sampler = SumSampler(Texts.of(self.task), self.recipe, torch.device(scale.device))
        rng = Random(-1)
        lengths = [len(self._text(draw(rng, scale.digits))) for _ in range(MEASURED)]
        self.batch_size = max(1, round(scale.batch_tokens * MEASURED / sum(lengths)))
        self._at_pass: dict[str, Tensor] | None = None

    @property
    def parameters(self) -> int:
        return self._training.model.parameter_count

    def train(self) -> Learned:
        scale, rng, model = self.scale, Random(self.seed), self._training.model
        assert isinstance(model, Reader)
        steppers = optimisers(model, self.recipe)
        checks = Checks(scale, ends=not self.trains_on)
        held_out = self._sampler.encoded([self._text(problem) for problem in validation(self.seed, scale.digits)])
        examples = tokens = steps = 0
        model.train()
        while not checks.ended(tokens):
            texts = [self._text(draw(rng, scale.digits)) for _ in range(self.batch_size)]
            loss = self._sampler.loss(model, self._sampler.encoded(texts))
            for stepper in steppers:
                for group in stepper.param_groups:
                    group["lr"] = self.rate * schedule(tokens, checks.settling) * group["times"]
                stepper.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(model.parameters(), self.recipe.clip)
            for stepper in steppers:
                stepper.step()
            model.keep_slopes_positive()
            examples, tokens, steps = examples + len(texts), tokens + sum(map(len, texts)), steps + 1
            if checks.due(tokens) and checks.add(tokens, _right(model, held_out), len(held_out.ids_BL)):
                self._at_pass = copy.deepcopy(model.state_dict())
        model.eval()
        return Learned(examples, tokens, steps, checks.passed, checks.curve)

    def rewind(self) -> bool:
        if self._at_pass is None or not self.trains_on:
            return False
        self._training.model.load_state_dict(self._at_pass)
        return True

    @property
    def certified(self) -> bool:
        """Whether the trained network is proven right at every length, in float32."""
        return self._training.as_run().judged().certified

    def answer(self, problems: Sequence[Problem]) -> list[Attempt]:
        solved = Solver(self._training.as_run()).solve_many(problems)
        return [Attempt(result.answer, result.answer or "") for result in solved]

    def _text(self, problem: Problem) -> str:
        return self.task.question(*problem) + self.task.answer(*problem)


@torch.inference_mode()
def _right(model: Reader, batch: SumBatch) -> int:
    """Count the texts of which every token of the answer has the largest logit."""
    written_BL = model(batch.ids_BL, batch.parts_BL, batch.places_BL).argmax(dim=-1)
    wrong_BL = (written_BL != batch.targets_BL) & (batch.targets_BL >= 0)
    return int((~wrong_BL.any(dim=1)).sum())
