"""Torch's random state and thread count of one training, which leaves those of the caller as they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


class TorchSettings:
    """The random state, as it is between two uses, and the number of threads."""

    def __init__(self, seed: int, threads: int) -> None:
        self.state = torch.Generator().manual_seed(seed).get_state()
        self._threads = threads

    @contextmanager
    def set(self) -> Iterator[None]:
        """Set them, and restore the caller's afterwards."""
        state, threads = torch.get_rng_state(), torch.get_num_threads()
        torch.set_rng_state(self.state)
        torch.set_num_threads(self._threads)
        try:
            yield
        finally:
            self.state = torch.get_rng_state()
            torch.set_rng_state(state)
            torch.set_num_threads(threads)
