"""The training loop: yields what it measures, prints nothing, stops when the network is certified, resumes exactly.

Everything a step depends on (weights, optimiser, both random states, the step's number) is in one checkpoint file that
is replaced whole, so a kill at any moment leaves the previous good state. On a CPU, a resumed run ends in the same
bits as one that was never interrupted, with the same seed and threads.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Final

import torch

from alga import config as configs
from alga import files, metrics, runs, seal, tasks
from alga.certificate import Certificate
from alga.checkpoint import Checkpoint
from alga.config import Config
from alga.decoding import Decoder
from alga.errors import AlgaError
from alga.keeping import Keeper
from alga.metrics import Progress, loss_of
from alga.recipes import Recipe
from alga.runs import CHECKPOINT, Run, Weights
from alga.sampling import Sampler
from alga.starting import start

DEVICES: Final = ("auto", "cpu", "cuda", "mps")
CHECKPOINT_SECONDS: Final = 5.0
NOISE: Final = 1e-3  # margins differ by less between batches of one and of all
THREADS: Final = 2  # so small a network gains nothing from more, and the number changes the rounding


class Training:
    """One training in its run folder: `start` or `resume` it, then iterate over `run()`.

    Without a folder it leaves nothing behind: for those who measure trainings, not networks.
    """

    def __init__(self, folder: Path | None, config: Config) -> None:
        self.folder, self.config = folder, config
        self.recipe = Recipe(**config.training["recipe"])
        self.threads, seed = config.training["threads"], config.training["seed"]
        for name, value, least, most in (("threads", self.threads, 1, 1024), ("seed", seed, 0, 2**63 - 1)):
            if type(value) is not int or not least <= value <= most:
                raise AlgaError(f"{name} must lie in {least} to {most:,}, got {value!r}")
        self.device = torch.device(_device(config.training["device"]))
        self.certificate: Certificate | None = None
        self.step, self.seconds = 0, 0.0
        self._losses: list[float] = []  # since the last check
        self._fewest = len(config.task.domain)  # prompts wrong at any check so far
        self._ended = ""  # why, once it has: margin, steps or patience
        self._only_save = False  # it had ended, and a kill came before all was written
        self._keeper = Keeper(folder)
        self._sampling = torch.Generator().manual_seed(seed)
        self._dropout_state = torch.Generator().manual_seed(seed).get_state()
        with self._our_settings():
            self.model = start(config.model, self.recipe).to(self.device)
        self._optimizer = torch.optim.AdamW(
            self.model.parameters(),
            lr=self.recipe.learning_rate,
            betas=(self.recipe.beta1, self.recipe.beta2),
            weight_decay=self.recipe.weight_decay,
            fused=True,
        )
        self._sampler = Sampler(
            config.task,
            config.tokens,
            contexts=self.recipe.contexts,
            second_type_share=self.recipe.second_type_share,
            shown=self.recipe.shown,
            seed=seed,
            device=self.device,
        )
        self._decoder = Decoder(self.model, config.tokens)

    @classmethod
    def start(
        cls, folder: Path | None, recipe: Recipe, *, seed: int = 0, threads: int = THREADS, device: str = "auto"
    ) -> Training:
        """Begin a new run in an empty or new folder, or in none."""
        settings = {"recipe": asdict(recipe), "seed": seed, "threads": threads, "device": _device(device)}
        config = Config(task=tasks.find(recipe.task), model=recipe.network(), training=settings)
        training = cls(folder, config)
        training._keeper.begin(config)
        return training

    @classmethod
    def resume(cls, folder: Path, *, steps: int | None = None) -> Training:
        """Continue the run in `folder` from its last checkpoint; `steps` may move its end."""
        folder = runs.locate(folder)
        keeper = Keeper(folder)
        keeper.hold()
        try:
            return cls._resumed(folder, steps, keeper)
        except BaseException:
            keeper.release()
            raise

    @classmethod
    def _resumed(cls, folder: Path, steps: int | None, keeper: Keeper) -> Training:
        config = configs.load(folder)
        if not config.training:
            raise AlgaError(f"{folder} was not trained here: there is nothing to resume")
        if (folder / "model.safetensors").exists() and not (folder / CHECKPOINT).exists():
            raise AlgaError(f"{folder} is trained to its end, or has lost its checkpoint: there is nothing to resume")
        if steps is not None:
            recipe = {**config.training["recipe"], "steps": steps}
            config = dataclasses.replace(config, training={**config.training, "recipe": recipe})
        try:
            training = cls(folder, config)
        except AlgaError:
            raise
        except (ValueError, TypeError, KeyError, RuntimeError) as problem:
            raise AlgaError(f"{folder}/config.json describes no training ({problem})") from None
        training._keeper = keeper
        files.sweep(folder)
        checks = training._load_checkpoint(folder)
        saved = seal.sealed(folder)
        if training.step >= training.recipe.steps and saved:
            raise AlgaError(f"{folder} has done its {training.recipe.steps:,} steps; ask for more with --steps")
        training._only_save = training._ended == "margin" or (training._ended != "" and steps is None and not saved)
        keeper.reopen(config, checks)
        return training

    def run(self, should_stop: Callable[[], bool] = lambda: False) -> Iterator[Progress]:
        """Train until certified, out of steps, or asked to stop between two steps; the run folder is left whole."""
        self._keeper.hold()
        try:
            if not self._only_save:
                yield from self._train(should_stop)
            self._end()
        finally:
            self._keeper.release()

    def _train(self, should_stop: Callable[[], bool]) -> Iterator[Progress]:
        saved = time.monotonic()
        self._ended = ""
        while self.step < self.recipe.steps and self.certificate is None and not should_stop():
            with self._our_settings():
                progress = self._until_next_check(should_stop)
            if progress is not None:
                self._keeper.note(progress)
                if progress.wrong == 0 and progress.least_margin >= self.recipe.margin:
                    self._finish_if_certified("margin")
                self._fewest = min(self._fewest, progress.wrong)
                yield progress
                if 0 < self.recipe.patience <= self.step and self._fewest > len(self.config.task.domain) / 2:
                    self._ended = "patience"
                    break
            if time.monotonic() - saved > CHECKPOINT_SECONDS and self.certificate is None:
                self._keeper.save_checkpoint(self._checkpoint())
                saved = time.monotonic()

    def _end(self) -> None:
        if self.certificate is None and self.step >= self.recipe.steps:
            self._finish_if_certified("steps")  # all may be right, if with less margin than the recipe asks for
        elif self.certificate is None and self._ended == "margin":
            self._finish_if_certified("margin")  # once more: a kill came before it was all written
        if self.certificate is None:
            self._keeper.save_checkpoint(self._checkpoint())
            self._keeper.save(self.as_run(), self._title)

    def wrong_prompts(self) -> list[str]:
        """Return the prompts that the network answers wrongly now."""
        self._decoder.refresh()
        domain = self.config.task.domain
        pairs = zip(domain.items(), self._decoder(list(domain)), strict=True)
        return [prompt for (prompt, instance), step in pairs if step.output != instance.output]

    @property
    def shown(self) -> frozenset[str]:
        """The prompts that this training may draw."""
        return self._sampler.shown

    @property
    def reached_margin(self) -> bool:
        """Whether the network is certified with the margin that its recipe asks for."""
        least = self.certificate.least_margin if self.certificate else None
        return least is not None and least >= self.recipe.margin - NOISE

    def _until_next_check(self, should_stop: Callable[[], bool]) -> Progress | None:
        began = time.monotonic()
        self.model.train()
        while not should_stop():
            self.step += 1
            self._losses.append(self._train_step())
            if self.step % self.recipe.check_every == 0 or self.step == self.recipe.steps:
                progress = self._check(began)
                self.seconds, self._losses = progress.seconds, []
                return progress
        self.seconds += time.monotonic() - began
        return None

    def _train_step(self) -> float:
        for group in self._optimizer.param_groups:
            group["lr"] = self.recipe.rate(self.step)
        loss = loss_of(self.model, self._sampler.draw(self.recipe.batch_size, self._sampling))
        self._optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        if self.recipe.clip:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip)
        self._optimizer.step()
        return loss.item()

    def _check(self, began: float) -> Progress:
        measured = metrics.measure(self.config.task, self._decoder, self._sampler)
        return Progress(
            **vars(measured),
            step=self.step,
            loss=sum(self._losses) / len(self._losses),
            learning_rate=self.recipe.rate(self.step),
            seconds=self.seconds + time.monotonic() - began,
        )

    def _finish_if_certified(self, ended: str) -> None:
        run = self.as_run().judged()
        self._ended = ended if run.certified or ended == "steps" else ""
        if run.certified:
            self._keeper.save_checkpoint(self._checkpoint())  # a kill while saving must not lose the run
            self._keeper.save(run, self._title)
            self.certificate = run.certificate
            if self.reached_margin:
                self._keeper.drop_checkpoint()

    @property
    def _title(self) -> str:
        return f"{self.recipe.name} recipe on {self.config.task.name}, seed {self.config.training['seed']}"

    def as_run(self) -> Run:
        """Return the network as it is now."""
        return Run(name=str(self.folder), config=self.config, weights=Weights.of(self.config, self.model))

    @contextlib.contextmanager
    def _our_settings(self) -> Iterator[None]:
        """Lend torch our random state and thread count, and give back what was there: others may use it meanwhile."""
        state, threads = torch.get_rng_state(), torch.get_num_threads()
        torch.set_rng_state(self._dropout_state)
        torch.set_num_threads(self.threads)
        try:
            yield
        finally:
            self._dropout_state = torch.get_rng_state()
            torch.set_rng_state(state)
            torch.set_num_threads(threads)

    # --- the checkpoint -----------------------------------------------------------------------------------------------

    def _checkpoint(self) -> Checkpoint:
        random = {"sampling": self._sampling.get_state(), "dropout": self._dropout_state}
        counters = {
            "step": self.step,
            "seconds": self.seconds,
            "losses": self._losses,
            "checks": self._keeper.checks,
            "fewest": self._fewest,
            "ended": self._ended,
        }
        return Checkpoint(self.model, self._optimizer, random, counters, self._settings())

    def _settings(self) -> str:
        """Return what decides every step of this training, in one text: all but where it ends."""
        recipe = {key: value for key, value in asdict(self.recipe).items() if key != "steps"}
        return json.dumps([self.config.identity, self.config.training | {"recipe": recipe}], sort_keys=True)

    def _load_checkpoint(self, folder: Path) -> int:
        """Restore the state of the last checkpoint, if there is one; return how many checks had been noted."""
        checkpoint = self._checkpoint()
        if (folder / CHECKPOINT).is_file():
            checkpoint.load(folder / CHECKPOINT)
        try:
            self._sampling.set_state(checkpoint.random["sampling"])
            torch.Generator().set_state(checkpoint.random["dropout"])
        except (RuntimeError, TypeError) as problem:
            raise AlgaError(f"{folder / CHECKPOINT} is damaged: {problem}") from None
        self._dropout_state = checkpoint.random["dropout"]
        self.step, self.seconds, self._losses, checks, self._fewest, self._ended = checkpoint.counters.values()
        return int(checks)


def _device(name: str) -> str:
    if name not in DEVICES:
        raise AlgaError(f"unknown device {name!r}; there are {', '.join(DEVICES)}")
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        return next(device for device in ("cuda", "mps", "cpu") if there[device])
    if not there[name]:
        raise AlgaError(f"the device {name} is not available here; cpu always is")
    return name
