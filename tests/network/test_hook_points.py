"""Activations by name: all of them, all positions, the same numbers as the network's own, replaced on request."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from alga.base.errors import AlgaError
from alga.network.hook_points import AROUND, IN_A_BLOCK, Hooked, hook_names
from alga.solve.solver import Solver

SHAPES = {
    "hook_q": (2, 8, 2, 32), "hook_k": (2, 8, 2, 32), "hook_v": (2, 8, 2, 32), "hook_z": (2, 8, 2, 32),
    "hook_attn_scores": (2, 2, 8, 8), "hook_pattern": (2, 2, 8, 8), "hook_pre": (2, 8, 256), "hook_post": (2, 8, 256),
}  # fmt: skip


@pytest.fixture(scope="module")
def adder() -> Solver:
    return Solver.load()


def test_every_activation_has_all_positions(adder: Solver) -> None:
    logits, cache = adder.run_with_cache(["15C77\n15", "55\n10"])
    assert set(cache) == set(hook_names(2))
    assert len(cache) == len(AROUND) + 2 * len(IN_A_BLOCK)
    for name, activation in cache.items():
        last = (2, 8, 14) if name == "unembed.hook_out" else SHAPES.get(name.split(".")[-1], (2, 8, 64))
        assert tuple(activation.shape) == last, name
    assert torch.equal(cache["unembed.hook_out"], logits)


def test_names_are_listed_in_the_order_of_the_computation(adder: Solver) -> None:
    seen: list[str] = []
    adder.run_with_hooks(["55"], [(lambda _: True, lambda _, where: seen.append(where.name))])
    assert seen == hook_names(2)


def test_activations_add_up_to_the_networks_logits(adder: Solver) -> None:
    """The residual stream, the heads and the patterns are what their names say, checked by computing them again."""
    logits, cache = adder.run_with_cache(["15C77\n1", "9C00\n9"])
    model = adder.run.model
    assert torch.equal(cache["embed.hook_out"] + cache["pos_embed.hook_out"], cache["blocks.0.hook_resid_pre"])
    for i, layer in enumerate(model.layers):
        at = {name: cache[f"blocks.{i}.{name}"] for name in IN_A_BLOCK}
        q, k, v = (at[f"attn.hook_{part}"].transpose(1, 2) for part in "qkv")
        scores = q @ k.transpose(2, 3) / math.sqrt(32) + model.mask[:7, :7]
        assert torch.allclose(scores, at["attn.hook_attn_scores"], atol=1e-4)
        assert torch.allclose(at["attn.hook_attn_scores"].softmax(-1), at["attn.hook_pattern"])
        assert torch.allclose((at["attn.hook_pattern"] @ v).transpose(1, 2), at["attn.hook_z"], atol=1e-5)
        assert torch.allclose(layer.attention.project_out(at["attn.hook_z"].flatten(2)), at["attn.hook_out"], atol=1e-4)
        assert torch.allclose(at["hook_resid_pre"] + at["attn.hook_out"], at["hook_resid_mid"], atol=1e-4)
        assert torch.allclose(torch.nn.functional.gelu(at["mlp.hook_pre"]), at["mlp.hook_post"], atol=1e-5)
        assert torch.allclose(at["hook_resid_mid"] + at["mlp.hook_out"], at["hook_resid_post"], atol=1e-4)
    assert torch.allclose(cache["ln_final.hook_out"] @ model.head.weight.T, logits, atol=1e-4)
    texts = adder.run.config.tokens
    assert [texts.vocabulary[i] for i in logits[:, -1].argmax(-1)] == ["5", "S"]


def test_a_hook_replaces_an_activation_and_is_gone_afterwards(adder: Solver) -> None:
    plain, _ = adder.run_with_cache(["15C77"])

    def shut(activation: Tensor, where: Hooked) -> Tensor:
        assert where.name == "blocks.1.mlp.hook_post"
        return torch.zeros_like(activation)

    changed = adder.run_with_hooks(["15C77"], [("blocks.1.mlp.hook_post", shut)])
    assert not torch.allclose(changed, plain, atol=0.1)
    assert torch.equal(adder.run_with_cache(["15C77"])[0], plain)
    assert adder.certified


def test_hooks_are_gone_after_one_that_fails(adder: Solver) -> None:
    def fail(activation: Tensor, where: Hooked) -> None:
        raise KeyError(where.name)

    with pytest.raises(KeyError):
        adder.run_with_hooks(["55"], [("embed.hook_out", fail)])
    with pytest.raises(
        AlgaError, match=r"no activation 'blocks.0.hook_attn_out'; did you mean .*blocks.0.attn.hook_out"
    ):
        adder.run_with_hooks(["55"], [("embed.hook_out", fail), ("blocks.0.hook_attn_out", fail)])
    assert adder.certified


def test_a_cache_can_be_differentiated(adder: Solver) -> None:
    logits, cache = adder.run_with_cache(["15C77"], lambda name: name == "blocks.0.hook_resid_post", gradients=True)
    (gradient,) = torch.autograd.grad(logits[0, -1, 3], [cache["blocks.0.hook_resid_post"]])
    assert gradient.shape == (1, 6, 64)
    assert bool(gradient.abs().sum() > 0)
    assert not adder.run_with_cache(["15C77"])[0].requires_grad


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        (["15C77\n1", "55"], "equally many tokens"),
        (["15C77\n155"], "reads up to 2 tokens"),
        (["15C777"], "takes up to 5"),
        (["15?77"], "not in the vocabulary"),
    ],
)
def test_texts_that_cannot_be_read_are_refused(adder: Solver, texts: list[str], problem: str) -> None:
    with pytest.raises(AlgaError, match=problem):
        adder.run_with_cache(texts)


def test_small_networks_have_the_same_names() -> None:
    logits, cache = Solver.load("smallest").run_with_cache(["15C77"])
    assert set(cache) == set(hook_names(1))
    assert tuple(cache["blocks.0.mlp.hook_post"].shape) == (1, 6, 3)
    assert tuple(logits.shape) == (1, 6, 14)


def test_reader_shows_a_whole_text() -> None:
    reader = Solver.load("whole")
    logits, cache = reader.run_with_cache(["65785+8765=0554", "11111+2222=3333"])
    assert set(cache) == set(hook_names(1))
    vocabulary = reader.run.config.tokens.vocabulary
    assert [vocabulary[i] for i in logits[:, -1].argmax(-1)] == ["7", "1"]
    pattern = cache["blocks.0.attn.hook_pattern"]
    assert pattern.shape[-1] == 15 + 1  # and the sink
    assert torch.allclose(pattern.sum(-1), torch.ones(1))
    with pytest.raises(AlgaError, match="one length"):
        reader.run_with_cache(["1+2=", "10+2="])
