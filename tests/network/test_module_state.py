"""A module's state holds as long as nothing about the module has changed, and no longer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from alga.network.alterations import alteration
from alga.network.model import Transformer
from alga.network.module_state import ModuleState
from alga.solve.solver import Solver

Change = Callable[[Any], object]


def through_numpy(model: Any) -> None:
    model.head.weight.detach().numpy()[3, 4] += 1


def through_data(model: Any) -> None:
    model.head.weight.data[3, 4] += 1


def sign_of_zero(model: Any) -> None:
    model.token_embedding.weight.data[0, 0] *= -1  # padding's row is zero


def data_replaced(model: Any) -> None:
    model.head.weight.data = model.head.weight.data.clone()


def data_replaced_and_changed(model: Any) -> None:
    data_replaced(model)
    model.head.weight.data[3, 4] += 1


def data_of_another(model: Any) -> None:
    model.layers[0].attention.project_out.weight.data = model.layers[1].attention.project_out.weight.data


def transposed(model: Any) -> None:
    model.layers[0].attention.project_out.weight.data = model.layers[0].attention.project_out.weight.data.T


def reshaped(model: Any) -> None:
    model.head.weight.data = model.head.weight.data.view(64, 14)


def negated(model: Any) -> None:
    model.head.weight.data = torch._neg_view(model.head.weight.data)


def another_dtype(model: Any) -> None:
    model.head.weight.data = model.head.weight.data.double()


def same_bytes_as_integers(model: Any) -> None:
    model.rows = model.rows.view(torch.float64)


def parameter_replaced(model: Any) -> None:
    model.head.weight = nn.Parameter(model.head.weight.data)


def parameters_swapped(model: Any) -> None:
    norm = model.final_norm
    norm.weight, norm.bias = norm.bias, norm.weight


def parameters_in_another_dictionary(model: Any) -> None:
    norm = model.final_norm
    norm._parameters = dict(norm._parameters)
    norm.weight = nn.Parameter(norm.weight.data.clone())


def parameter_added(model: Any) -> None:
    model.final_norm.more = nn.Parameter(torch.zeros(1))


def buffer_changed(model: Any) -> None:
    model.mask[-2, -3] = -torch.inf


def buffer_persistent(model: Any) -> None:
    model._non_persistent_buffers_set.clear()


def submodule_replaced(model: Any) -> None:
    model.layers[1].feed_forward = nn.Identity()


def submodules_reordered(model: Any) -> None:
    parts = model.layers[0].feed_forward._modules
    parts["2"] = parts.pop("2")


def submodule_added(model: Any) -> None:
    model.layers[0].feed_forward.append(nn.ReLU())


def class_replaced(model: Any) -> None:
    model.layers[0].feed_forward[1].__class__ = nn.ReLU


def setting(model: Any) -> None:
    model.final_norm.eps = 1.0


def attribute_added(model: Any) -> None:
    model.layers[0].forward = lambda *_: 0


def attributes_replaced(model: Any) -> None:
    model.final_norm.__dict__ = {**vars(model.final_norm), "eps": 1.0}


def hook(model: Any) -> None:
    model.final_norm.register_forward_hook(lambda *_: None)


def pre_hook(model: Any) -> None:
    model.final_norm.register_forward_pre_hook(lambda *_: None)


def hook_in_another_dictionary(model: Any) -> None:
    model.final_norm._forward_hooks = type(model.final_norm._forward_hooks)()
    hook(model)


def state_dict_hook(model: Any) -> None:
    model.register_state_dict_post_hook(lambda *_: None)


CHANGES = [
    through_numpy, through_data, sign_of_zero, data_replaced, data_replaced_and_changed, data_of_another, transposed,
    reshaped, negated, another_dtype, same_bytes_as_integers, parameter_replaced, parameters_swapped,
    parameters_in_another_dictionary, parameter_added, buffer_changed, buffer_persistent, submodule_replaced,
    submodules_reordered, submodule_added, class_replaced, setting, attribute_added, attributes_replaced, hook,
    pre_hook, hook_in_another_dictionary, state_dict_hook,
]  # fmt: skip
# The same numbers: looked at closely, and found certified.
HARMLESS = [sign_of_zero, data_replaced, parameter_replaced, parameters_in_another_dictionary]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_state_does_not_hold_after_a_change(change: Change) -> None:
    solver = Solver.load()
    model = solver.run.model
    state = ModuleState.of(model)
    assert state is not None
    assert state.holds()
    assert solver.certified
    change(model)
    assert not state.holds()
    assert solver.certified == (change in HARMLESS)


class Watching(TorchFunctionMode):
    def __torch_function__(self, function: Any, kinds: Any, arguments: Any = (), named: Any = None) -> Any:
        return function(*arguments, **(named or {}))


def test_state_does_not_hold_under_a_mode_a_global_hook_or_a_patched_class(monkeypatch: pytest.MonkeyPatch) -> None:
    solver = Solver.load()
    state = ModuleState.of(solver.run.model)
    assert state is not None
    with Watching():
        assert not state.holds()
        assert not solver.certified
    handle = nn.modules.module.register_module_forward_pre_hook(lambda *_: None)
    assert not state.holds()
    handle.remove()
    with torch.device("meta"), torch.inference_mode():
        assert state.holds()
        assert solver.certified
    monkeypatch.setattr(nn.GELU, "forward", lambda _, x: x)
    assert not state.holds()
    assert not solver.certified


def test_what_was_certified_then_changed_and_restored_is_certified_again() -> None:
    solver = Solver.load()
    weight, sha256 = solver.run.model.head.weight.data, solver.run.sha256
    before = weight[3, 4].item()
    for _ in range(2):
        assert (solver.certified, solver.run.sha256) == (True, sha256)
        weight[3, 4] = 100.0
        assert solver.run.sha256 != sha256  # asked while they differ
        assert not solver.certified
        weight[3, 4] = before


def test_decoder_repacks_weights_that_only_their_bytes_show_changed() -> None:
    solver = Solver.load()
    _ = solver.run.model
    (before,) = solver.decoder(["15C77"])
    weight = solver.run.model.head.weight
    weight.detach().numpy()[:] *= 2  # no version counter sees this
    assert solver.decoder(["15C77"]) == [before]  # as `refresh` says
    solver.decoder.refresh()
    (after,) = solver.decoder(["15C77"])
    assert after.margin == pytest.approx(2 * before.margin)
    assert solver.trace("77", "88").certified is False


def test_opened_weights_lie_side_by_side_and_are_those_of_the_file() -> None:
    run = Solver.load().run
    stored = {name: array.copy() for name, array in run.weights.arrays.items()}
    model = run.model
    assert len({parameter.untyped_storage().data_ptr() for parameter in model.parameters()}) == 1
    assert all(parameter.data_ptr() % 64 == 0 and parameter.requires_grad for parameter in model.parameters())
    assert all(np.array_equal(tensor.numpy(), stored[name]) for name, tensor in model.state_dict().items())


def test_module_of_separate_tensors_has_a_state_too() -> None:
    shape = Solver.load().run.config.model
    model = Transformer(shape)  # type: ignore[arg-type]
    state = ModuleState.of(model)
    assert state is not None
    assert state.holds()
    with torch.no_grad():
        model.layers[1].feed_forward[0].bias[7] += 1  # type: ignore[index, operator]
    assert not state.holds()


def test_module_that_cannot_be_compared_quickly_has_no_state() -> None:
    assert ModuleState.of(nn.Linear(2, 2, device="meta")) is None
    part = nn.Linear(2, 2)
    part.weight.data = torch.zeros(10_000)[:4].view(2, 2)
    assert ModuleState.of(part) is None


def test_value_that_refuses_to_be_compared_counts_as_changed() -> None:
    model = Solver.load().run.model
    model.extra = torch.zeros(2)
    state = ModuleState.of(model)
    assert state is not None
    assert state.holds()
    model.extra = Tensor([1, 1])
    assert not state.holds()


def test_order_of_submodules_is_an_alteration() -> None:
    run = Solver.load().run
    submodules_reordered(run.model)
    assert alteration(run.model, run.config.model) == "the order of modules"
