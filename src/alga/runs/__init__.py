"""Run folders: configuration, weights, table, certificate and model card of one network.

They are not trusted when read, and are written atomically. The room also imports weights from elsewhere, and has the
shipped networks (`models/`) with the registry of what each one does.
"""

from alga.runs.folder import CHECKPOINT, check_no_run, claim, holds_run, keep, load, save
from alga.runs.registry import LOOKAHEADS, SHIPPED, STEPS, for_step, locate, shipped, step_of
from alga.runs.run import Run
from alga.runs.weights import WEIGHTS, Weights

__all__ = [
    "CHECKPOINT", "LOOKAHEADS", "SHIPPED", "STEPS", "WEIGHTS", "Run", "Weights", "check_no_run", "claim", "for_step",
    "holds_run", "keep", "load", "locate", "save", "shipped", "step_of",
]  # fmt: skip
