"""A module that does more than its weights say runs in torch, and is never certified."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from alga.base.errors import AlgaError
from alga.network.alterations import alteration
from alga.network.decoder import Decoder
from alga.network.model import Attention, Transformer
from alga.runs import Weights
from alga.solve.solver import Solver
from alga.trust.certificate import Certificate


def shut(*arguments: object) -> object:
    """Silence a module, as an ablation does."""
    return torch.zeros_like(arguments[-1]) if isinstance(arguments[-1], Tensor) else None


class Halved(nn.Module):
    def forward(self, weight: Tensor) -> Tensor:
        return weight / 2


def forward_hook(model: Transformer, patch: pytest.MonkeyPatch) -> None:
    model.layers[0].feed_forward.register_forward_hook(lambda *_: torch.zeros(1))  # type: ignore[union-attr]


def pre_hook(model: Transformer, patch: pytest.MonkeyPatch) -> None:
    model.final_norm.register_forward_pre_hook(lambda _, inputs: (inputs[0] * 0,))


def global_hook(model: Transformer, patch: pytest.MonkeyPatch) -> None:
    handle = nn.modules.module.register_module_forward_hook(lambda m, _, out: out * 0 if m is model.final_norm else out)
    patch.setattr(model, "undo_for_the_test", handle.remove, raising=False)


def parametrization(model: Transformer, patch: pytest.MonkeyPatch) -> None:
    parametrize.register_parametrization(model.head, "weight", Halved())


def replaced_module(model: Transformer, patch: pytest.MonkeyPatch) -> None:
    model.layers[1].feed_forward = nn.Sequential(nn.Identity(), nn.Identity(), nn.Identity(), nn.Identity())


def activation(model: Transformer, patch: pytest.MonkeyPatch) -> None:
    model.layers[0].feed_forward[1] = nn.ReLU()  # type: ignore[operator]


def approximate_activation(model: Transformer, patch: pytest.MonkeyPatch) -> None:
    model.layers[0].feed_forward[1].approximate = "tanh"  # type: ignore[index, union-attr]


def heads(model: Transformer, patch: pytest.MonkeyPatch) -> None:
    model.layers[0].attention.heads, model.layers[0].attention.query_width = 1, 64  # type: ignore[union-attr]


def epsilon(model: Transformer, patch: pytest.MonkeyPatch) -> None:
    model.final_norm.eps = 1.0  # type: ignore[assignment]


def mask(model: Transformer, patch: pytest.MonkeyPatch) -> None:
    model.mask[-2, -3] = -torch.inf


def own_forward(model: Transformer, patch: pytest.MonkeyPatch) -> None:
    inner = model.forward
    model.forward = lambda *a, **k: -inner(*a, **k)  # type: ignore[method-assign]


def patched_class(model: Transformer, patch: pytest.MonkeyPatch) -> None:
    inner = Attention.forward

    def quieter(self: Attention, *arguments: Any) -> Any:
        mixed, *rest = inner(self, *arguments)
        return mixed * 0, *rest

    patch.setattr(Attention, "forward", quieter)


def another_shape(model: Transformer, patch: pytest.MonkeyPatch) -> None:
    model.config = dataclasses.replace(model.config, heads=1)
    for layer in model.layers:
        layer.attention.heads, layer.attention.query_width = 1, 64  # type: ignore[union-attr]


ALTERATIONS = [
    forward_hook, pre_hook, global_hook, parametrization, replaced_module, activation, approximate_activation, heads,
    epsilon, mask, own_forward, patched_class, another_shape,
]  # fmt: skip


@pytest.mark.parametrize("alter", ALTERATIONS)
def test_altered_network_runs_in_torch_and_is_not_certified(
    alter: Callable[[Transformer, pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    calculator = Solver.load()
    assert calculator.solve("15838", "9458", engine="sequential").certified
    model = calculator.run.model
    alter(model, monkeypatch)
    try:
        prompts = ["15C77", "99", "3C14"]
        altered = calculator.solve("15838", "9458", engine="sequential")
        steps = calculator.trace("15838", "9458")
        default = calculator.solve("15838", "9458")
        by_table = calculator.solve("15838", "9458", engine="table")
        alone = [calculator.decoder([prompt])[0] for prompt in prompts]
        expected = Decoder(Weights.of(calculator.run.config, model), calculator.run.config.tokens).by_torch(prompts)
        judged = calculator.certify()
    finally:
        vars(model).get("undo_for_the_test", lambda: None)()
    assert [step.text for step in alone] == [step.text for step in expected]
    assert [step.margin for step in alone] == pytest.approx([step.margin for step in expected], abs=1e-4)
    assert not calculator.certified or alter is global_hook
    assert not any(result.certified for result in (altered, steps, default, by_table))
    assert default.engine == "sequential"
    assert altered.answer == by_table.answer
    assert not judged.certified
    assert judged.altered


def test_hooks_change_small_batches_immediately() -> None:
    calculator = Solver.load()
    (before,) = calculator.decoder(["15C77"])
    asked: list[int] = []
    handle = calculator.run.model.final_norm.register_forward_hook(lambda *_: asked.append(1))
    (watched,) = calculator.decoder(["15C77"])
    assert watched.text == before.text
    assert len(asked) == 3  # 1, 5, S
    handle.remove()
    assert calculator.decoder(["15C77"]) == [before]
    assert len(asked) == 3


def test_answer_with_a_self_removing_hook_is_not_certified() -> None:
    calculator = Solver.load()
    model = calculator.run.model

    def once(*arguments: object) -> Tensor:
        handle.remove()
        return shut(*arguments)  # type: ignore[return-value]

    handle = model.final_norm.register_forward_hook(once)
    assert not calculator.solve("2", "2", engine="sequential").certified
    assert calculator.solve("2", "2", engine="sequential").certified


def test_network_right_only_through_a_hook_is_not_certified(tmp_path: Path) -> None:
    calculator = Solver.load()
    model = calculator.run.model
    with torch.no_grad():
        model.head.weight.neg_()
    model.register_forward_hook(lambda _m, _i, logits: -logits)
    judged = calculator.certify()
    assert judged.failures == ()
    assert (judged.certified, judged.altered) == (False, "forward hooks of the network")
    assert judged.statement == (
        "not certified: 2,300 of 2,300 prompts right; it was altered: forward hooks of the network"
    )
    Solver(calculator.run.judged()).save(tmp_path / "run")
    assert not (tmp_path / "run" / "certificate.json").exists()
    assert Solver.load(tmp_path / "run").solve("2", "2").answer != "4"
    with pytest.raises(AlgaError, match="claims to be certified with an altered network"):
        Certificate.from_json(judged.to_json().replace('"certified": false', '"certified": true'))


@pytest.mark.parametrize("model", ["addition", "smallest", "parity", "arithmetic"])
def test_train_and_eval_modes_are_not_alterations(model: str) -> None:
    calculator = Solver.load(model)
    network, shape = calculator.run.model, calculator.run.config.model
    for plain in (network, network.train(), network.requires_grad_(False), network.eval()):
        assert alteration(plain, shape) == ""
    network.requires_grad_(True)
    next(network.parameters()).register_hook(lambda gradient: gradient)  # a gradient hook: changes no answer
    assert calculator.certified


@pytest.mark.parametrize("batch", [1, 2300])
def test_autocast_and_lowered_precision_change_nothing(batch: int) -> None:
    calculator = Solver.load()
    decoder, prompts = calculator.decoder, list(calculator.trained.domain)[:batch]
    compiled, by_torch = decoder(prompts), decoder.by_torch(prompts)
    detail = decoder.detail("15C77", "15S")
    products = torch.backends.mkldnn.matmul
    try:
        torch.set_float32_matmul_precision("medium")
        with torch.autocast("cpu", torch.bfloat16):
            assert decoder(prompts) == compiled
            assert decoder.by_torch(prompts) == by_torch
            assert np.array_equal(decoder.detail("15C77", "15S").probabilities, detail.probabilities)
            assert torch.is_autocast_enabled("cpu")
        assert products.fp32_precision == "bf16"
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision("highest")


def test_seventy_pairs_use_no_torch_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch's threads spin while waiting; next to other work these pairs took 8 to 17 s."""
    calculator = Solver.load()
    pairs = [(str(7 * i), str(31 * i)) for i in range(70)]
    monkeypatch.setattr(Decoder, "by_torch", lambda *_: pytest.fail("torch was asked"))
    answers = calculator.solve_many(pairs, engine="sequential")
    assert [answer.answer for answer in answers] == [str(38 * i) for i in range(70)]
    assert all(answer.certified for answer in answers)
