"""Training the numbers that a network's weights are made of (`network/sharing.py`).

A network keeps its whole matrices as torch parameters, and gradients reach them as always. Here they are gathered into
the gradient of the trained numbers, and after a step the matrices are written again: a linear map and its transpose.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from alga.network.model import Transformer
from alga.network.sharing import Sharing, sharing


class SharedNumbers:
    """The trained numbers of one network."""

    def __init__(self, model: Transformer) -> None:
        self._model, self._shared = model, sharing(model.config)
        shared = self._shared
        self._matrix_EN = torch.tensor(shared.matrix())
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in model.state_dict().items()}
        self.trained_N = nn.Parameter(torch.tensor(shared.trained(arrays), dtype=torch.float32))
        self.write()

    def gather(self) -> None:
        """Set the gradient of the trained numbers to what the gradients of the weights add up to."""
        weights = dict(self._model.named_parameters())
        flat_E = torch.cat([_gradient(weights[name]).flatten() for name in self._shared.shapes])
        self.trained_N.grad = (flat_E.double().cpu() @ self._matrix_EN).float()

    @torch.no_grad()
    def restore(self, trained_N: Tensor) -> None:
        """Set the trained numbers to those of a checkpoint; the weights do not tell them exactly."""
        if trained_N.shape != self.trained_N.shape or trained_N.dtype != torch.float32:
            raise ValueError(f"expected {len(self.trained_N)} trained numbers in float32, got {trained_N}")
        self.trained_N.copy_(trained_N)
        self.write()

    @torch.no_grad()
    def write(self) -> None:
        """Write the weights that the trained numbers make."""
        weights = dict(self._model.named_parameters())
        for name, array in self._shared.weights(self.trained_N.detach().double().numpy()).items():
            weights[name].copy_(torch.tensor(array))


def draw(shared: Sharing, deviation: float) -> dict[str, Tensor]:
    """Return the weights of trained numbers that are drawn from a normal distribution by torch's global generator."""
    trained_N = torch.randn(len(shared.numbers)) * deviation
    return {name: torch.tensor(array) for name, array in shared.weights(trained_N.double().numpy()).items()}


def _gradient(weight: Tensor) -> Tensor:
    return torch.zeros_like(weight) if weight.grad is None else weight.grad
