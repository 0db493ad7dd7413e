"""Every bound of the second method on small cases, pinned: they detect a change, they do not show that it is right.

If you change one, say in docs/rounding.md why the new bound holds.
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
    "two layers": [4.4227851946, 1.3288192911e-09, 1.3350284908e-09, 0.003340904779],
    "two layers, large": [28.038060466, 1.0927566193e-08, 1.0956796125e-08, 0.015751917816],
    "one layer": [17.646513505, 1.3718588412e-09, 1.3754490725e-09, 0.0019305066815],
    "one head": [7.7204384128, 1.335205538e-09, 1.341555525e-09, 0.0034099956707],
    "no norms": [-18.724952874, 1.3572033272e-09, 1.3958978561e-09, 0.020826407352],
    "one norm": [-472.27509361, 1.3241560126e-08, 1.3521547576e-08, 0.15017796228],
}
SINGLE = {
    "mean": 3.421322934e-06, "root": 2.3550696034e-05, "sum": 1.966953928e-06, "scaling": 1.0728838009e-06,
    "logs": 3.6090612515e-06, "shares": 7.7479006619e-06, "gelu": 4.8029720873e-06,
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
