"""Golden files: shipped networks, command outputs and resumed trainings are unchanged."""

from __future__ import annotations

import pytest

from alga import tasks
from tests import golden


@pytest.mark.parametrize("command", golden.COMMANDS)
def test_command_output_is_unchanged(command: str) -> None:
    assert golden._run(command.split()) == golden.golden("commands")[command]


def test_shipped_networks_and_domains_keep_their_hashes() -> None:
    known = golden.golden("networks")
    known.pop(f"task {golden.LARGE}")
    assert golden.networks(large=False) == known


@pytest.mark.slow
def test_two_million_prompt_domain_keeps_its_hash() -> None:
    assert golden._domain(tasks.find(golden.LARGE)) == golden.golden("networks")[f"task {golden.LARGE}"]


def test_resumed_training_ends_in_the_same_bits() -> None:
    ((processor, found),) = golden.training().items()
    known = golden.golden("training")
    if processor not in known:
        pytest.skip(f"no golden training for {processor}")
    assert found == known[processor]
