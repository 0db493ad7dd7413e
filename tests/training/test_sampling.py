"""Training batches as the paper draws them, and over the whole domain."""

from __future__ import annotations

import pytest
import torch

from alga import tasks
from alga.network.tokens import PAD_ID, Tokens
from alga.training.sampling import Sampler
from tests.conftest import ALL_TASKS, tiny

CPU = torch.device("cpu")


def drawn(name: str, contexts: str, share: float, size: int) -> list[tuple[str, str]]:
    """Return prompts and outputs of one batch, decoded from its ids."""
    task = tasks.find(name)
    tokens = Tokens.of(task.domain)
    sampler = Sampler(task.domain, tokens, tiny(contexts=contexts, second_type_share=share), 0, CPU)
    batch = sampler.draw(size, torch.Generator().manual_seed(0))

    def text(ids: list[int]) -> str:
        return "".join(tokens.vocabulary[i] for i in ids if i != PAD_ID)

    prompts = [text(row[: tokens.input_length]) for row in batch.ids_BL.tolist()]
    return list(zip(prompts, map(text, batch.targets_BO.tolist()), strict=True))


@pytest.mark.parametrize("contexts", ["paper", "domain"])
@pytest.mark.parametrize("name", ALL_TASKS)
def test_every_drawn_instance_is_in_the_domain(name: str, contexts: str) -> None:
    domain = tasks.find(name).domain
    assert all(output == f"{domain[prompt].output}S" for prompt, output in drawn(name, contexts, 0.5, 2000))


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_second_type_share_is_exact(share: float) -> None:
    seconds = sum("C" in prompt for prompt, _ in drawn("addition", "paper", share, 400))
    assert seconds == 400 * share


def test_papers_sampling_never_shows_context_19() -> None:
    assert not any(prompt.startswith("19C") for prompt, _ in drawn("addition-padded", "paper", 1.0, 100_000))
    assert any(prompt.startswith("19C") for prompt, _ in drawn("addition-padded", "domain", 1.0, 2_000))


def test_papers_contexts_are_sums_of_two_uniform_digits() -> None:
    prompts = [prompt for prompt, _ in drawn("addition-padded", "paper", 1.0, 100_000)]
    nines = sum(prompt.startswith("9C") for prompt in prompts) / len(prompts)
    zeros = sum(prompt.startswith("0C") for prompt in prompts) / len(prompts)
    assert nines == pytest.approx(0.10, abs=0.01)
    assert zeros == pytest.approx(0.01, abs=0.003)


def test_whole_domain_is_drawn() -> None:
    prompts = {prompt for prompt, _ in drawn("addition", "domain", 1.0, 40_000)}
    assert len(prompts) == 2200


def test_input_is_the_target_shifted_by_one() -> None:
    task = tasks.find("addition")
    tokens = Tokens.of(task.domain)
    sampler = Sampler(task.domain, tokens, tiny(second_type_share=0.5), 0, CPU)
    batch = sampler.draw(64, torch.Generator().manual_seed(1))
    assert bool((batch.ids_BL[:, 5] == tokens.ids["\n"]).all())
    assert torch.equal(batch.ids_BL[:, 6:], batch.targets_BO[:, :-1])
