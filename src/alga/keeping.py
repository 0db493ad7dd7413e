"""What a training keeps: its run folder, held while it runs, and all that it writes there. Or nothing, without one."""

from __future__ import annotations

from pathlib import Path

from alga import config as configs
from alga import files, metrics, runs, seal
from alga.checkpoint import Checkpoint
from alga.config import Config
from alga.metrics import Progress
from alga.runs import CHECKPOINT, Run


class Keeper:
    """A run folder that is ours alone from `begin`, `reopen` or `hold` until `release`."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.checks = 0  # lines in metrics.jsonl
        self._held: files.Hold | None = None

    def begin(self, config: Config) -> None:
        """Make the folder of a new run."""
        if self.folder is not None:
            self._held = runs.claim(self.folder)
            configs.save(self.folder, config)

    def hold(self) -> None:
        """Keep other processes from writing to the folder, unless that is so already."""
        if self.folder is not None and self._held is None:
            self._held = files.Hold(self.folder)

    def release(self) -> None:
        """Let other processes have the folder."""
        if self._held is not None:
            self._held.release()
            self._held = None

    def reopen(self, config: Config, checks: int) -> None:
        """Go on in the folder of a run that has noted so many checks: what it wrote after its checkpoint is undone."""
        if self.folder is not None:
            self.checks = checks
            seal.unseal(self.folder)
            metrics.cut(self.folder, checks)
            configs.save(self.folder, config)

    def note(self, progress: Progress) -> None:
        """Add what a check measured."""
        if self.folder is not None:
            metrics.note(self.folder, progress)
            self.checks += 1

    def save(self, run: Run, title: str) -> None:
        """Write the network, its certificate and its figure, and seal them."""
        if self.folder is not None:
            metrics.draw(self.folder, title)
            runs.save(self.folder, run)

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint."""
        if self.folder is not None:
            checkpoint.save(self.folder / CHECKPOINT)

    def drop_checkpoint(self) -> None:
        """Remove the checkpoint of a training that has come to its end."""
        if self.folder is not None:
            (self.folder / CHECKPOINT).unlink(missing_ok=True)
