"""The optimisers of a recipe: AdamW for every parameter, or Muon for the layers' matrices and AdamW for the rest.

Muon replaces the gradient of a matrix by its nearest orthogonal matrix, so that a step moves every direction equally
(Keller Jordan 2024, kellerjordan.github.io/posts/muon). `torch.optim.Muon` takes matrices one by one, and queries, keys
and values as one; here matrices of the same shape are computed together, which takes half the time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import torch
from torch import Tensor, nn

from alga.base.errors import AlgaError
from alga.network.model import Transformer
from alga.network.reader import Reader
from alga.runs.config import Recipe

ADAMW_SLOTS: Final = ("exp_avg", "exp_avg_sq", "step")  # what AdamW keeps of each parameter
MUON_SLOTS: Final = ("momentum",)
ITERATIONS: Final = 5
COEFFICIENTS: Final = (3.4445, -4.7750, 2.0315)  # of the polynomial that moves singular values towards 1
LIKE_ADAMW: Final = 0.2  # makes a step about as long as one of AdamW (Moonlight, arXiv 2502.16982)
QUERIES_KEYS_VALUES: Final = "project_in"  # the linear map that holds several matrices, one above the other


class Muon(torch.optim.Optimizer):
    """Momentum, then orthogonal steps. Each matrix comes with the number of equal blocks of rows it consists of."""

    def __init__(self, matrices: Sequence[tuple[Tensor, int]], lr: float, momentum: float) -> None:
        super().__init__([matrix for matrix, _ in matrices], {"lr": lr})
        self._momentum = momentum
        self._counts = [count for _, count in matrices]
        blocks = [block for matrix, count in matrices for block in matrix.detach().chunk(count)]
        self._blocks = [block.mT if len(block) > block.shape[1] else block for block in blocks]  # views: wide or square
        self._alike = {shape: [i for i, b in enumerate(self._blocks) if b.shape == shape] for shape in self._shapes}

    @property
    def _shapes(self) -> list[torch.Size]:
        return list(dict.fromkeys(block.shape for block in self._blocks))

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Take one step along the gradients."""
        assert closure is None
        (group,) = self.param_groups
        directions: list[Tensor] = []
        for matrix, count in zip(group["params"], self._counts, strict=True):
            state = self.state[matrix]
            if not state:
                state["momentum"] = torch.zeros_like(matrix)
            state["momentum"].lerp_(matrix.grad, 1 - self._momentum)
            directions += matrix.grad.lerp(state["momentum"], self._momentum).chunk(count)  # Nesterov
        for shape, places in self._alike.items():
            wide = [directions[i] if directions[i].shape == shape else directions[i].mT for i in places]
            length = group["lr"] * LIKE_ADAMW * math.sqrt(max(shape))
            for i, step in zip(places, orthogonal(torch.stack(wide)), strict=True):
                self._blocks[i].sub_(step, alpha=length)


def orthogonal(matrices_NRC: Tensor) -> Tensor:
    """Return about the nearest orthogonal matrix of each, by Newton-Schulz iterations: singular values near 1."""
    a, b, c = COEFFICIENTS
    x_NRC: Tensor = matrices_NRC / matrices_NRC.norm(dim=(1, 2), keepdim=True).clamp_min(1e-7)
    for _ in range(ITERATIONS):
        squares_NRR = x_NRC @ x_NRC.mT
        x_NRC = torch.baddbmm(
            x_NRC, torch.baddbmm(squares_NRR, squares_NRR, squares_NRR, beta=b, alpha=c), x_NRC, beta=a
        )
    return x_NRC


def optimisers(
    model: Transformer | Reader, recipe: Recipe, shared: Tensor | None = None
) -> list[torch.optim.Optimizer]:
    """Return the optimisers of a network, AdamW first; each group's `times` is its rate relative to the recipe's.

    If the network is made of `shared` trained numbers, AdamW moves those and nothing else is moved.
    """
    if shared is not None and recipe.matrix_rate:
        raise AlgaError("a network that shares trained numbers is trained by AdamW alone: matrix_rate must be 0")
    matrices = _matrices(model) if recipe.matrix_rate else []
    groups = _groups(model, recipe, [matrix for matrix, _ in matrices])
    adamw = torch.optim.AdamW(
        groups if shared is None else [{"params": [shared], "times": 1.0}],
        lr=recipe.learning_rate,
        betas=(recipe.beta1, recipe.beta2),
        weight_decay=recipe.weight_decay,
        fused=True,
    )
    if not matrices:
        return [adamw]
    muon = Muon(matrices, recipe.learning_rate, recipe.beta1)
    muon.param_groups[0]["times"] = recipe.matrix_rate
    return [adamw, muon]


def _matrices(model: Transformer | Reader) -> list[tuple[Tensor, int]]:
    """Return the matrices of the layers' linear maps, each with its number of blocks."""
    found = []
    for name, module in model.layers.named_modules():
        if isinstance(module, nn.Linear):
            rows, columns = module.weight.shape
            apart = name.endswith(QUERIES_KEYS_VALUES) and rows % columns == 0
            found.append((module.weight, rows // columns if apart else 1))
    return found


def _groups(model: Transformer | Reader, recipe: Recipe, taken: Sequence[Tensor]) -> list[dict[str, Any]]:
    """Return the other parameters; those that score distances, and a reader's values, have rates of their own.

    Distances do not decay.
    """
    apart: Sequence[Tensor] = model.by_distance if isinstance(model, Reader) else ()
    values: Sequence[Tensor] = model.by_content if isinstance(model, Reader) and recipe.value_rate != 1 else ()
    elsewhere = {id(each) for each in (*taken, *apart, *values)}
    groups: list[dict[str, Any]] = [{"params": [p for p in model.parameters() if id(p) not in elsewhere], "times": 1.0}]
    if apart:
        groups.append({"params": apart, "times": recipe.distance_rate, "weight_decay": 0.0})
    if values:
        groups.append({"params": values, "times": recipe.value_rate})
    return groups
