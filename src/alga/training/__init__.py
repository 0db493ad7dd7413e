"""From a recipe and a seed to a certified run folder.

Named recipes, initial weights, sampling, metrics, checkpoints and the trainer. Only this room and the torch module of
`network` need torch.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from alga.training.trainer import Training

__all__ = ["Training"]


def __getattr__(name: str) -> Any:
    """Import the trainer on first use, so that recipes need no torch."""
    if name != "Training":
        raise AttributeError(f"module 'alga.training' has no attribute {name!r}")
    from alga.training.trainer import Training  # noqa: PLC0415 - it takes torch

    return Training
