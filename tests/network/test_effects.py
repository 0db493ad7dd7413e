"""Effects of replaced activations on every prompt: the same as doing it by hand, nothing where nothing is replaced."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from alga.base.errors import AlgaError
from alga.network.effects import Effects
from alga.network.hook_points import Hooked
from alga.solve.solver import Solver


@pytest.fixture(scope="module")
def adder() -> Solver:
    return Solver.load()


@pytest.fixture(scope="module")
def effects(adder: Solver) -> Effects:
    return adder.effects


def test_nothing_replaced_changes_nothing(effects: Effects) -> None:
    assert effects.of([(lambda _: True, lambda activation, _: activation.clone())]).changes == ()
    itself = {prompt: prompt for prompt in [*effects.steps][::9]}
    for name in ("blocks.0.attn.hook_pattern", "blocks.1.attn.hook_z", "blocks.0.hook_resid_post", "embed.hook_out"):
        assert effects.patch(name, itself).changes == ()


def test_everything_of_another_prompt_gives_its_answer(effects: Effects) -> None:
    sources = dict(zip(["15C77", "55", "9C00"], ["14C77", "56", "9C01"], strict=True))
    effect = effects.patch("embed.hook_out", sources)
    assert {change.prompt: change.after for change in effect.changes} == {
        prompt: effects.steps[source].text for prompt, source in sources.items()
        if effects.steps[source].text != effects.steps[prompt].text
    }  # fmt: skip
    assert str(effect) == f"embed.hook_out is another prompt's: {len(effect.changes)} of 3 answers change"


def test_one_head_patched_by_hand_gives_the_same(adder: Solver, effects: Effects) -> None:
    target, source = "15C77", "9C77"
    name = "blocks.0.attn.hook_z"
    (patched,) = effects.patch(name, {target: source}, heads=[0]).changes or [None]
    text = ""
    for _ in range(3):  # the source's text is as long as the target's
        read = f"{source}\n{effects.steps[source].text[: len(text)]}"
        kept = adder.run_with_cache([read])[1][name]

        def put(activation: Tensor, where: Hooked, kept: Tensor = kept) -> Tensor:
            changed = activation.clone()
            changed[:, :, 0] = kept[:, :, 0]
            return changed

        logits = adder.run_with_hooks([f"{target}\n{text}"], [(name, put)])
        text += adder.run.config.tokens.vocabulary[int(logits[0, -1].argmax())]
    assert len(effects.steps[source].text) == len(effects.steps[target].text) == 3
    assert text == (patched.after if patched else effects.steps[target].text)


def test_positions_and_heads_choose_a_part(effects: Effects) -> None:
    digits = {f"{a}{b}": f"{9 - a}{b}" for a in range(10) for b in range(10)}
    whole = effects.patch("blocks.0.attn.hook_v", digits)
    first = effects.patch("blocks.0.attn.hook_v", digits, positions=[0, 6, 7])
    padding = effects.patch("blocks.0.attn.hook_in", digits, positions=[2, 3, 4, 5])
    assert len(whole.changes) > 50
    assert first.changes == whole.changes  # what is read differs there alone
    assert padding.changes == ()
    halves = [effects.patch("blocks.0.attn.hook_v", digits, heads=[head]) for head in (0, 1)]
    assert all(half.changes != whole.changes for half in halves)


def test_ablations_are_what_they_say(adder: Solver, effects: Effects) -> None:
    def zero_head(activation: Tensor, where: Hooked) -> Tensor:
        changed = activation.clone()
        changed[:, :, 1] = 0
        return changed

    by_hand = effects.of([("blocks.1.attn.hook_z", zero_head)])
    assert effects.ablate_head(1, 1, by="zero").changes == by_hand.changes != ()
    mean = effects.ablate_head(1, 1)
    assert mean.what == "head 1 of block 1 is set to its mean"
    assert mean.changes != by_hand.changes
    with adder.hooked([("blocks.1.attn.hook_z", zero_head)]):
        wrong = {change.prompt: change.after for change in by_hand.changes}
        found = {step.prompt: step.text for step in adder.decoder([*wrong][:50])}
    assert found.items() <= wrong.items()


def test_mean_is_taken_over_the_steps_that_read_a_position(adder: Solver, effects: Effects) -> None:
    effects.ablate_unit(0, 7)
    mean = effects._means["blocks.0.mlp.hook_post"]
    long = [step for step in effects.steps.values() if len(step.text) == 3]
    assert 0 < len(long) < len(effects.steps)
    texts = [f"{step.prompt}\n{step.text[:2]}" for step in long]
    by_hand = adder.run_with_cache(texts)[1]["blocks.0.mlp.hook_post"][:, 7].mean(0)
    assert torch.allclose(mean[7], by_hand, atol=1e-5)


def test_norm_ignores_the_direction_of_equal_numbers(effects: Effects) -> None:
    """A LayerNorm takes the mean off, so that this direction does nothing; a direction that matters does."""
    assert effects.ablate_direction("blocks.1.hook_resid_post", [1.0] * 64).changes == ()
    direction = effects.decoder.model.head.weight[5].detach()  # towards the digit 3
    assert len(effects.ablate_direction("blocks.1.hook_resid_post", direction, by="zero").changes) > 100


def test_lens_reads_the_answer_off_the_last_residual(effects: Effects) -> None:
    lens = effects.logit_lens()
    assert lens[0].what == "read off blocks.0.hook_resid_pre"
    assert lens[-1].changes == ()
    assert lens[0].share > 0.9
    assert lens[-1].as_dict() == {"what": "read off blocks.1.hook_resid_post", "prompts": 2300, "changes": []}


def test_readers_have_effects_on_their_situations() -> None:
    reader = Solver.load("whole")
    effects = Effects(reader.decoder, [*reader.trained.domain][::40])
    assert effects.ablate_head(0, 0, by="zero").share > 0.5
    assert effects.logit_lens()[-1].changes == ()
    itself = {prompt: prompt for prompt in effects.steps}
    assert effects.patch("blocks.0.attn.hook_attn_scores", itself).changes == ()


@pytest.mark.parametrize(
    ("ask", "problem"),
    [
        (lambda effects: effects.ablate_head(0, 2), r"numbers 0 to 1, not 2"),
        (lambda effects: effects.ablate_head(2, 0), r"no activation 'blocks.2.attn.hook_z'"),
        (lambda effects: effects.ablate_unit(0, 1, by="noise"), r"to its mean or to zero, got 'noise'"),
        (lambda effects: effects.ablate_direction("embed.hook_out", [1.0, 2.0]), r"has 64 numbers, .* has 2"),
        (lambda effects: effects.patch("embed.hook_out", {"15C77": "0"}), r"'0' is not one of the prompts"),
        (lambda effects: effects.patch("embed.hook_out", {"55": "56"}, heads=[0]), r"not split into heads"),
    ],
)  # fmt: skip
def test_mistakes_are_told(effects: Effects, ask: object, problem: str) -> None:
    with pytest.raises(AlgaError, match=problem):
        ask(effects)  # type: ignore[operator]
