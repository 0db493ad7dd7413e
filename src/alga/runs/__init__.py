"""Run folders: configuration, weights, table, certificate and model card of one network.

They are not trusted when read, and are written atomically. The room also imports weights from elsewhere, and has the
shipped networks (`models/`).
"""

from alga.runs.folder import CHECKPOINT, SHIPPED, check_no_run, claim, holds_run, keep, load, locate, save, shipped
from alga.runs.run import Run
from alga.runs.weights import WEIGHTS, Weights

__all__ = [
    "CHECKPOINT", "SHIPPED", "WEIGHTS", "Run", "Weights", "check_no_run", "claim", "holds_run", "keep", "load",
    "locate", "save", "shipped",
]  # fmt: skip
