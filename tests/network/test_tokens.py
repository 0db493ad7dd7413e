"""Prompts and outputs as token ids."""

from __future__ import annotations

import pytest

from alga import tasks
from alga.base.errors import AlgaError
from alga.network.kinds import tokens_of
from alga.network.tokens import Tokens
from tests.conftest import ALL_TASKS

PAPER = [
    ("69", "15", "69PPP", "15S"), ("11C71", "9", "11C71", "9SP"), ("83", "11", "83PPP", "11S"),
    ("18C98", "18", "18C98", "18S"), ("3C14", "5", "3C14P", "5SP"), ("99", "18", "99PPP", "18S"),
    ("15C29", "12", "15C29", "12S"), ("12", "3", "12PPP", "3SP"),
]  # fmt: skip


@pytest.mark.parametrize(("prompt", "output", "padded_input", "padded_target"), PAPER)
def test_papers_training_examples_are_padded_as_printed(
    prompt: str, output: str, padded_input: str, padded_target: str
) -> None:
    tokens = Tokens.of(tasks.find("addition").domain)
    (ids,), (targets,) = tokens.prompts([prompt]), tokens.outputs([output])
    assert "".join(tokens.vocabulary[i] for i in ids) == padded_input
    assert "".join(tokens.vocabulary[i] for i in targets) == padded_target


@pytest.mark.parametrize("name", ALL_TASKS)
def test_every_output_of_the_domain_round_trips(name: str) -> None:
    task = tasks.find(name)
    tokens = tokens_of(task)
    outputs = [instance.output for instance in task.domain.values()]
    if isinstance(tokens, Tokens):
        assert [tokens.output(tokens.text(ids)) for ids in tokens.outputs(outputs)] == outputs
    else:  # each output is one token
        assert [tokens.output(tokens.written(output)) for output in outputs] == outputs


@pytest.mark.parametrize("prompt", ["1x", "１C11", "1 2"])
def test_unknown_character_is_refused_not_padded(prompt: str) -> None:
    with pytest.raises(AlgaError, match="not in the vocabulary"):
        Tokens.of(tasks.find("addition").domain).prompts([prompt])


def test_too_long_prompt_is_refused() -> None:
    with pytest.raises(AlgaError, match="'123C45' has 6 tokens, this network takes up to 5"):
        Tokens.of(tasks.find("addition").domain).prompts(["123C45"])


@pytest.mark.parametrize("text", ["15", "155", "S", "P", "1PS", "\nS", "CS", "1\nS"])
def test_output_must_be_symbols_and_a_stop(text: str) -> None:
    assert Tokens.of(tasks.find("addition").domain).output(text) is None
