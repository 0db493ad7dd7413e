"""Every bound of the second method on small cases, pinned: they detect a change, they do not show that it is right.

If you change one, say in docs/proof.md why the new bound holds.
"""

from __future__ import annotations

import numpy as np
import pytest

from alga.network.config import ModelConfig
from alga.trust.proof import adjoint
from alga.trust.proof import adjoint_errors as errors
from alga.trust.proof.adjoint_errors import Moments, Units
from alga.trust.proof.bounds import FORMATS
from tests.sloppy import Array

UNITS = Units.of(FORMATS)


def wave(*shape: int, phase: float = 0.0) -> Array:
    """Return random-looking numbers of both signs that are the same on every machine."""
    return np.sin(1.7 * np.arange(1, np.prod(shape) + 1) ** 1.1 + phase).reshape(shape)


def near(expected: object) -> object:
    """Match a number up to a relative error, however small the number."""
    return pytest.approx(expected, rel=1e-8, abs=0)


def network(size: float = 1.0, **options: object) -> tuple[Array, Array]:
    """Return the margins and bounds of a small network, on three prompts and their outputs."""
    shape = ModelConfig(vocabulary=5, input_length=2, output_length=2, width=4, hidden=6, **options)  # type: ignore[arg-type]
    weights = {name: wave(*of, phase=i) * size for i, (name, of) in enumerate(shape.tensors().items())}
    ids, right = np.array([[0, 1, 2, 3], [4, 1, 0, 2], [3, 3, 1, 1]]), np.array([[1, 2], [0, 4], [3, 0]])
    with np.errstate(all="ignore"):
        return adjoint.bounded(shape, weights, ids, right, UNITS)


NETWORKS = {
    "two layers": network,
    "two layers, large": lambda: network(2.0),
    "one layer": lambda: network(layers=1),
    "one head": lambda: network(heads=1),
    "no norms": lambda: network(0.7, norms="none", biases="hidden", tied=True, out=False, query_width=1),
    "one norm": lambda: network(norms="feed-forward", shared_keys=True, positions="01.1"),
}
PINNED = {
    "two layers": [4.4227851946, 1.3288010838e-09, 1.3349781784e-09, 0.0033262763469],
    "two layers, large": [28.038060466, 1.0927525808e-08, 1.0956737855e-08, 0.0157358348],
    "one layer": [17.646513505, 1.3718482253e-09, 1.3754172295e-09, 0.0019216312464],
    "one head": [7.7204384128, 1.3351837301e-09, 1.3414632304e-09, 0.0033866932181],
    "no norms": [-18.724952874, 1.3568946123e-09, 1.3951953299e-09, 0.02062614099],
    "one norm": [-472.27509361, 1.3240723892e-08, 1.3519419093e-08, 0.14950581105],
}
SINGLE = {
    "mean": 3.421322934e-06, "root": 2.3550696034e-05, "sum": 1.966953928e-06, "scaling": 1.0728838009e-06,
    "logs": 2.7060508805e-06, "shares": 6.6191279668e-06, "gelu": 4.8029720873e-06,
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_bounds_of_networks_are_unchanged(name: str) -> None:
    mid, off = NETWORKS[name]()
    flat = off.reshape(len(off), -1)
    assert [float(mid.sum()), *(float(each) for each in flat @ (1 + np.arange(flat.shape[1]) / 7))] == near(
        PINNED[name]
    )


def column(*values: float) -> Array:
    return np.array(values)[:, None]


def test_bounds_of_single_operations_are_unchanged() -> None:
    x = Moments(
        size=column(1.2, 3), apart=column(0.7, 1), spread=column(0.9, 1), square=column(1.5, 4), root=column(0.8, 1)
    )
    off_mean, off_root = errors.moment_errors(x, 16, UNITS)
    found = {
        "mean": off_mean, "root": off_root,
        "sum": errors.sum_error(8, column(2, 3), UNITS, 3), "scaling": errors.scaling_error(column(2, 3), UNITS),
        "logs": errors.weight_logs(column(0, 5), 4, UNITS),
        "shares": errors.mix_shares(errors.weight_logs(column(0, 5), 4, UNITS), column(0.75, 0.25), 4, UNITS),
        "gelu": errors.gelu_error(column(1, 7), UNITS),
    }  # fmt: skip
    assert {name: each[1, 2] for name, each in found.items()} == near(SINGLE)
