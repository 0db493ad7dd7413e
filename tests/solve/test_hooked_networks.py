"""A hook changes what every engine answers, what a trace shows and what a certificate says; nothing is certified."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from alga.network.hook_points import Hooked, Hooks
from alga.solve.calculator import Calculator
from alga.solve.solver import Solver

RUNS = [("addition", "sequential"), ("addition", "table"), ("addition-lookahead", "lookahead"), ("whole", "whole")]


def silent(activation: Tensor, where: Hooked) -> Tensor:
    return torch.zeros_like(activation)


def unchanged(activation: Tensor, where: Hooked) -> None:
    return None


LAST = "ln_final.hook_out"


@pytest.mark.parametrize(("name", "engine"), RUNS)
def test_a_hook_changes_solve_trace_and_certify_alike(name: str, engine: str) -> None:
    network = Solver.load(name)
    hooks: Hooks = [(LAST, silent)]
    right = network.solve("65785", "8765", engine=engine)
    assert (right.answer, right.certified) == ("74550", True)
    with network.hooked(hooks):
        assert not network.certified
        wrong = network.solve("65785", "8765", engine=engine)
        assert wrong.answer != "74550"
        assert not wrong.certified
        if engine in ("sequential", "whole"):
            traced = network.trace("65785", "8765", engine=engine)
            assert traced.answer == wrong.answer
            assert not traced.certified
        certificate = network.certify()
        assert not certificate.certified
        assert certificate.failures
        assert "hook" in certificate.altered
    again = network.solve("65785", "8765", engine=engine)
    assert (again.answer, again.certified, network.certified) == ("74550", True, True)


@pytest.mark.parametrize(("name", "engine"), RUNS)
def test_even_a_hook_that_only_watches_loses_the_word(name: str, engine: str) -> None:
    network = Solver.load(name)
    with network.hooked([("blocks.0.hook_resid_mid", unchanged)]):
        result = network.solve("65785", "8765", engine=engine)
        assert (result.answer, result.certified) == ("74550", False)
        assert not network.certified


def test_a_hook_put_on_by_torch_is_the_same() -> None:
    network = Solver.load()
    calculator = Calculator(models=[network])
    handle = network.run.model.layers[0].attention.pattern.register_forward_hook(lambda *args: args[-1].flip(-1))
    wrong = calculator.solve("65785", "8765", operation="add")
    with pytest.raises(AssertionError):
        assert wrong.answer == "74550"
    assert not wrong.certified
    handle.remove()
    assert calculator.solve("65785", "8765", operation="add").certified


def test_a_hook_sees_all_positions_at_every_token() -> None:
    network = Solver.load()
    lengths: list[tuple[int, ...]] = []
    with network.hooked([("blocks.1.hook_resid_post", lambda activation, _: lengths.append(tuple(activation.shape)))]):
        network.solve("9", "9", engine="sequential")
    assert lengths == [(1, 6, 64), (1, 7, 64), (1, 8, 64)]
