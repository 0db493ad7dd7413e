"""The training loop: from a recipe and a seed to a certified run. It yields its measurements and prints nothing.

Everything a step depends on (weights, optimiser, both random states, step number) is in one checkpoint file that is
replaced atomically, so a kill at any moment leaves the previous good state. On a CPU, a resumed run ends in the same
bits as an uninterrupted one with the same seed and threads.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import torch

from alga import runs
from alga.base.errors import MALFORMED, AlgaError, Blaming
from alga.base.folders import Folder
from alga.network.kinds import decoder_of
from alga.network.texts import Texts
from alga.runs import CHECKPOINT, WEIGHTS, Run, Weights, checksums
from alga.runs import config as configs
from alga.runs.config import Config, Recipe
from alga.runs.verdicts import Verdict
from alga.training import checks
from alga.training.checkpoint import Checkpoint, settings_of
from alga.training.configuration import available, configuration
from alga.training.crowd.learner import CrowdLearner
from alga.training.initial_weights import initial_network
from alga.training.learner import GradientLearner, Learner
from alga.training.metrics import Progress
from alga.training.run_writer import RunWriter
from alga.training.sampling import Sampler
from alga.training.sums import SumSampler
from alga.training.torch_settings import TorchSettings
from alga.trust.certificate import Certificate
from alga.trust.table import Table

CHECKPOINT_SECONDS: Final = 5.0
MARGIN_NOISE: Final = 1e-3  # between batch sizes
MOST_SKIPPED: Final = 10  # of these checks one is made whatever the loss
DEFAULT_THREADS: Final = 1  # a second does not help so small a network, and hurts on a busy machine


class Training:
    """One training: `start` or `resume` it, then iterate over `run()`. Without a folder, nothing is written."""

    def __init__(self, folder: Path | None, config: Config, weights: Weights | None = None) -> None:
        self.folder, self.config = folder, config
        self.recipe = Recipe(**config.training["recipe"])
        self.threads, seed = config.training["threads"], config.training["seed"]
        self.device = torch.device(available(config.training["device"]))
        self.certificate: Certificate | None = None
        self._table: Table | None = None
        self.step, self.seconds = 0, 0.0
        self._losses: list[float] = []  # since the last check that was due
        self._fewest_wrong = len(config.task.domain)  # least over all checks
        self._end_reason = ""  # margin, steps or patience
        self._only_save = False  # the training had ended, but was killed before everything was written
        self._writer = RunWriter(folder)
        self._sampling = torch.Generator().manual_seed(seed)
        self._torch = TorchSettings(seed, self.threads)
        with self._torch.set():
            network = initial_network(config.model, self.recipe, weights).to(self.device)
            self._sampler: Sampler | SumSampler
            if isinstance(config.tokens, Texts):
                self._sampler = SumSampler(config.tokens, self.recipe, self.device)
            else:
                self._sampler = Sampler(config.task.domain, config.tokens, self.recipe, seed, self.device)
            self._learner: Learner
            if self.recipe.crowd:
                self._learner = CrowdLearner(network, self.recipe, seed)
            else:
                self._learner = GradientLearner(network, self.recipe, self._sampler, self._sampling)
        self.model = self._learner.checked  # what is checked, certified and saved
        self._decoder = decoder_of(Weights.of(config, self.model), config.tokens)

    @classmethod
    def start(
        cls,
        folder: Path | str | None,
        recipe: Recipe,
        *,
        seed: int = 0,
        threads: int = DEFAULT_THREADS,
        device: str = "auto",
        init: Run | None = None,
        checkpoints: int = 0,
    ) -> Training:
        """Start a new run in a new or empty folder, or without one.

        It begins from the weights of `init`, or from random ones. Every `checkpoints` steps the weights are kept.
        """
        config = configuration(recipe, seed, threads, device, init, checkpoints)
        training = cls(None if folder is None else Path(folder), config, None if init is None else init.weights)
        training._writer.create(config)
        if init is not None:
            training._writer.save_checkpoint(training._checkpoint())  # resuming needs no other folder
        return training

    @classmethod
    def resume(cls, folder: Path | str, *, steps: int | None = None) -> Training:
        """Continue the run in `folder` from its last checkpoint, optionally with another number of steps."""
        writer = RunWriter(runs.locate(folder))
        writer.lock()
        try:
            return cls._resumed(writer, steps)
        except BaseException:
            writer.unlock()
            raise

    @classmethod
    def _resumed(cls, writer: RunWriter, steps: int | None) -> Training:
        folder = writer.folder
        assert folder is not None
        config = configs.load(folder)
        if not config.training:
            raise AlgaError(f"{folder.path} was not trained by alga: there is nothing to resume")
        if folder.has(WEIGHTS) and not folder.has(CHECKPOINT):
            raise AlgaError(f"{folder.path} has finished training or lost its checkpoint: there is nothing to resume")
        if "init" in config.training and not folder.has(CHECKPOINT):
            raise AlgaError(f"{folder.path} was stopped before its first weights were written: start it again")
        if steps is not None:
            recipe = {**config.training["recipe"], "steps": steps}
            config = dataclasses.replace(config, training={**config.training, "recipe": recipe})
        with Blaming(f"{folder.path}/config.json does not describe a training", (*MALFORMED, RuntimeError)):
            training = cls(folder.path, config)
        training._writer = writer
        checks = training._load_checkpoint(folder)
        saved = checksums.sealed(folder)
        if training.step >= training.recipe.steps and saved:
            raise AlgaError(f"{folder.path} has done its {training.recipe.steps:,} steps; ask for more with --steps")
        ended = training._end_reason
        training._only_save = ended == "margin" or (ended != "" and steps is None and not saved)
        writer.reopen(config, checks)
        return training

    def run(self, should_stop: Callable[[], bool] = lambda: False) -> Iterator[Progress]:
        """Train until certified, out of steps, or `should_stop()` between steps; the run folder is then complete."""
        self._writer.lock()
        try:
            if not self._only_save:
                yield from self._train(should_stop)
            self._end()
        finally:
            self._writer.unlock()

    def _train(self, should_stop: Callable[[], bool]) -> Iterator[Progress]:
        saved = time.monotonic()
        self._end_reason = ""
        if self.step == 0:
            self._keep_weights()
        while self.step < self.recipe.steps and self.certificate is None and not should_stop():
            with self._torch.set():
                progress = self._until_next_check(should_stop)
            if progress is not None:
                self._writer.append_check(progress)
                if progress.wrong == 0 and progress.least_margin >= self.recipe.margin:
                    self._finish_if_certified("margin")
                self._fewest_wrong = min(self._fewest_wrong, progress.wrong)
                yield progress
                if 0 < self.recipe.patience <= self.step and self._fewest_wrong > len(self.config.task.domain) / 2:
                    self._end_reason = "patience"
                    break
            if time.monotonic() - saved > CHECKPOINT_SECONDS and self.certificate is None:
                self._writer.save_checkpoint(self._checkpoint())
                saved = time.monotonic()

    def _end(self) -> None:
        if self.certificate is None and self.step >= self.recipe.steps:
            self._finish_if_certified("steps")  # possibly certified with less margin than the recipe asks for
        elif self.certificate is None and self._end_reason == "margin":
            self._finish_if_certified("margin")  # again: it was killed before everything was written
        if self.certificate is None:
            self._writer.save_checkpoint(self._checkpoint())
            self._writer.save(self.as_run(), self._title)

    def wrong_prompts(self) -> list[str]:
        """Return the prompts that the network currently gets wrong."""
        self._decoder.refresh()
        domain = self.config.task.domain
        pairs = zip(domain.items(), self._decoder(list(domain)), strict=True)
        return [prompt for (prompt, instance), step in pairs if step.output != instance.output]

    @property
    def shown(self) -> frozenset[str]:
        """The prompts that may be drawn; the others are held out. Whole sums hold none out."""
        return self._sampler.shown if isinstance(self._sampler, Sampler) else frozenset(self.config.task.domain)

    @property
    def kept_steps(self) -> list[int]:
        """The steps whose weights were kept in the run folder."""
        return self._writer.kept_steps()

    @property
    def reached_aim(self) -> bool:
        """Whether the network is certified with the recipe's margin and strength."""
        found, recipe = self.certificate, self.recipe
        least = found.least_margin if found is not None and found.has(recipe.strength, recipe.margin) else None
        return least is not None and least >= recipe.margin - MARGIN_NOISE

    def _until_next_check(self, should_stop: Callable[[], bool]) -> Progress | None:
        began = time.monotonic()
        progress = None
        while not should_stop():
            self.step += 1
            self._losses.append(self._learner.learn(self.step))
            self._keep_weights()
            if self.step % self.recipe.check_every == 0 or self.step == self.recipe.steps:
                progress = self._check(began) if self._worth_a_check else None
                self._losses = []
                break
        self.seconds += time.monotonic() - began
        return progress

    @property
    def _worth_a_check(self) -> bool:
        """Whether the margin may be reached, as far as the last batches tell; and now and then, for the metrics."""
        regular = self.step % (self.recipe.check_every * MOST_SKIPPED) == 0 or self.step == self.recipe.steps
        below = self.recipe.check_below * math.exp(-self.recipe.margin / 2)  # as they fall together in `fast`
        return regular or not below or sum(self._losses) / len(self._losses) < below

    def _keep_weights(self) -> None:
        """Keep the current weights, and which prompts they answer right, if it is time to."""
        every = self.config.training.get("checkpoints", 0)
        if every and self.step % every == 0 and self.folder is not None:
            wrong, loss = {*self.wrong_prompts()}, sum(self._losses) / max(1, len(self._losses))
            right = tuple(prompt not in wrong for prompt in self.config.task.domain)
            verdict = Verdict(self.step, loss if self._losses and math.isfinite(loss) else None, right)
            self._writer.keep(Weights.of(self.config, self.model), verdict)

    def _check(self, began: float) -> Progress:
        domain = self.config.task.domain
        if self.recipe.check_below and isinstance(self._sampler, Sampler):
            measured = checks.measure_forced(domain, self._decoder, self._sampler)
        else:
            measured = checks.measure(domain, self._decoder, self._sampler)
        return Progress(
            **measured,
            step=self.step,
            loss=sum(self._losses) / len(self._losses),
            learning_rate=self._learner.rate(self.step),
            seconds=self.seconds + time.monotonic() - began,
        )

    def _finish_if_certified(self, ended: str) -> None:
        run = self.as_run().judged()
        if run.certified and self.recipe.strength == "proven":
            run = run.proven()
        assert run.certificate is not None
        enough = run.certificate.has("checked" if ended == "steps" else self.recipe.strength, self.recipe.margin)
        self._end_reason = ended if enough or ended == "steps" else ""
        if enough:
            self._writer.save_checkpoint(self._checkpoint())  # a kill while saving must not lose the run
            self._writer.save(run, self._title)
            self.certificate, self._table = run.certificate, run.table
            if self.reached_aim:
                self._writer.drop_checkpoint()

    @property
    def _title(self) -> str:
        return f"{self.recipe.name} recipe on {self.config.task.name}, seed {self.config.training['seed']}"

    def as_run(self) -> Run:
        """Return the current network, with its certificate if it has one."""
        return Run(
            name=f"{self.config.task.name}-{self.recipe.name}" if self.folder is None else str(self.folder),
            config=self.config,
            weights=Weights.of(self.config, self.model),
            certificate=self.certificate,
            table=self._table,
        )

    def _checkpoint(self) -> Checkpoint:
        random = {"sampling": self._sampling.get_state(), "dropout": self._torch.state}
        counters = {
            "step": self.step,
            "seconds": self.seconds,
            "losses": self._losses,
            "checks": self._writer.checks,
            "fewest": self._fewest_wrong,
            "ended": self._end_reason,
        }
        settings = settings_of(self.config, self.recipe)
        return Checkpoint(self._learner, random, counters, settings, self.recipe.check_every)

    def _load_checkpoint(self, folder: Folder) -> int:
        """Restore the last checkpoint if there is one; return its number of checks."""
        checkpoint = self._checkpoint()
        if folder.has(CHECKPOINT):
            checkpoint.load(folder, CHECKPOINT)
        self._sampling.set_state(checkpoint.random["sampling"])
        self._torch.state = checkpoint.random["dropout"]
        counters = checkpoint.counters
        self.step, self.seconds, self._losses = counters["step"], counters["seconds"], counters["losses"]
        self._fewest_wrong, self._end_reason = counters["fewest"], counters["ended"]
        return int(counters["checks"])
