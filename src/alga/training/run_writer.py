"""The run folder during training: its lock and everything written to it. Without a folder, nothing is written."""

from __future__ import annotations

from pathlib import Path

from alga import runs
from alga.base import files
from alga.base.folders import Folder
from alga.runs import CHECKPOINT, Run, Weights, checksums, intermediate, verdicts
from alga.runs import config as configs
from alga.runs.config import Config
from alga.runs.verdicts import Verdict
from alga.training import metrics
from alga.training.checkpoint import Checkpoint
from alga.training.metrics import Progress


class RunWriter:
    """Writes a run folder, locked from `create` or `lock` until `unlock`."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._folder: Folder | None = None
        self.checks = 0  # lines in metrics.jsonl
        self._lock: files.Lock | None = None

    @property
    def folder(self) -> Folder | None:
        """The run folder, opened on first use."""
        if self._folder is None and self.path is not None:
            self._folder = Folder(self.path)
        return self._folder

    def create(self, config: Config) -> None:
        """Create and lock the folder of a new run."""
        if self.path is not None:
            self._lock = runs.claim(self.path)
            self._write_config(config)

    def lock(self) -> None:
        """Lock the folder against other processes; idempotent."""
        if self.folder is not None and self._lock is None:
            self._lock = checksums.hold(self.folder)

    def unlock(self) -> None:
        """Release the lock; idempotent."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def reopen(self, config: Config, checks: int) -> None:
        """Prepare the folder for a resumed run: drop the metrics written after its checkpoint, and unseal it."""
        if self.folder is not None:
            for name in (*checksums.SEALED, checksums.CHECKSUMS, CHECKPOINT, *metrics.CURVES):
                self.folder.check(name)  # refuse now what could not be replaced at the end
            lines = metrics.first_lines(self.folder, checks)
            self.checks = checks
            checksums.unseal(self.folder)
            self.folder.write(metrics.METRICS, lines)
            self._write_config(config)

    def append_check(self, progress: Progress) -> None:
        """Append a check to metrics.jsonl."""
        if self.folder is not None:
            metrics.append(self.folder, progress)
            self.checks += 1

    def save(self, run: Run, title: str) -> None:
        """Write the network, its certificate and its curves, and seal the folder."""
        if self.folder is not None:
            metrics.draw(self.folder, title)
            runs.save(self.folder, run)

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint."""
        if self.folder is not None:
            checkpoint.save(self.folder, CHECKPOINT)

    def keep(self, weights: Weights, verdict: Verdict) -> None:
        """Keep the weights after so many steps, and which prompts they answer right."""
        if self.folder is not None:
            intermediate.write(self.folder, verdict.step, weights.data)
            verdicts.write(self.folder, verdict)

    def kept_steps(self) -> list[int]:
        """Return the steps whose weights were kept."""
        return [] if self.folder is None else intermediate.steps(self.folder)

    def drop_checkpoint(self) -> None:
        """Remove the checkpoint of a finished training."""
        if self.folder is not None:
            self.folder.remove(CHECKPOINT)

    def _write_config(self, config: Config) -> None:
        if self.folder is not None:
            self.folder.write(configs.CONFIG, configs.to_json(config).encode())
