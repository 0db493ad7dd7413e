"""The greedy decoder."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import alga
from alga import tasks
from alga.network.config import ModelConfig
from alga.network.decoder import CHUNK, Decoder
from alga.network.model import Transformer
from alga.network.tokens import START, STOP_ID, Tokens
from alga.runs import Weights
from alga.runs.config import Config
from alga.solve.solver import Solver

TASK = tasks.find("addition")
TOKENS = Tokens.of(TASK.domain)


@pytest.fixture
def untrained() -> Decoder:
    torch.manual_seed(3)
    shape = ModelConfig(vocabulary=14, input_length=5, output_length=3)
    return Decoder(Weights.of(Config(task=TASK, model=shape), Transformer(shape)), TOKENS)


def plainly(model: Transformer, prompt: str) -> tuple[str, float]:
    """Decode one prompt naively: recompute everything for each token."""
    written: list[int] = []
    margin = float("inf")
    while len(written) < 3 and STOP_ID not in written:
        ids = torch.tensor([[*TOKENS.prompts([prompt])[0], TOKENS.ids[START], *written]])
        logits = model.eval()(ids)[0, -1].tolist()
        best = max(range(14), key=logits.__getitem__)
        margin = min(margin, logits[best] - max(logits[:best] + logits[best + 1 :]))
        written.append(best)
    return TOKENS.text(written), margin


@pytest.mark.parametrize("network", ["shipped", "untrained"])
def test_decoder_matches_naive_greedy_decoding(network: str, adder: Solver, untrained: Decoder) -> None:
    decoder = adder.decoder if network == "shipped" else untrained
    prompts = list(TASK.domain)[::30]
    for decode in (decoder, decoder.by_torch):
        for prompt, decoded in zip(prompts, decode(prompts), strict=True):
            text, margin = plainly(decoder.model, prompt)
            assert decoded.text == text
            assert decoded.margin == pytest.approx(margin, abs=1e-4)


def test_batching_does_not_change_an_answer(adder: Solver) -> None:
    prompts = list(TASK.domain)[::23]
    together = adder.decoder.by_torch(prompts)
    alone = [adder.decoder([prompt])[0] for prompt in prompts]
    assert [step.text for step in together] == [step.text for step in alone]
    assert all(abs(a.margin - b.margin) < 1e-3 for a, b in zip(together, alone, strict=True))


def test_batch_larger_than_a_chunk_keeps_its_order(adder: Solver) -> None:
    prompts = [prompt for prompt in TASK.domain for _ in range(2)]
    assert len(prompts) > CHUNK
    assert [step.output for step in adder.decoder.by_torch(prompts)] == [
        TASK.domain[prompt].output for prompt in prompts
    ]


def test_decoding_keeps_a_network_in_training_mode(untrained: Decoder) -> None:
    untrained.model.train()
    prompts = list(TASK.domain)[:65]
    first, second = untrained.by_torch(prompts), untrained.by_torch(prompts)
    assert untrained.model.training
    assert first == second  # no dropout while decoding


def test_network_that_never_stops_is_cut_at_the_output_length(untrained: Decoder) -> None:
    with torch.no_grad():
        untrained.model.head.weight.zero_()
        untrained.model.head.weight[7] = untrained.model.final_norm.weight  # the same symbol for every prompt
        untrained.model.final_norm.bias += 1.0
    (decoded,) = untrained(["55"])
    assert decoded.text == "555"
    assert decoded.output is None


def test_overlong_prompt_has_an_empty_answer(adder: Solver) -> None:
    first, long, last = adder.decoder(["55", "155C77", "12"])
    assert (first.output, last.output) == ("10", "3")
    assert (long.text, long.output) == ("", None)


def test_network_calls_are_counted(adder: Solver) -> None:
    before = adder.decoder.network_calls
    adder.decoder(["12", "99"])
    assert adder.decoder.network_calls - before == 5  # 3, S and 1, 8, S: one prompt at a time
    before = adder.decoder.network_calls
    adder.decoder.by_torch(list(adder.trained.domain))
    assert adder.decoder.network_calls - before == 3  # torch batches them: as many calls as the longest output


def test_compiled_code_and_torch_agree_on_every_prompt(adder: Solver) -> None:
    domain = list(adder.trained.domain)
    compiled, by_torch = adder.decoder(domain), adder.decoder.by_torch(domain)
    assert [step.text for step in compiled] == [step.text for step in by_torch]
    assert [step.margin for step in compiled] == pytest.approx([step.margin for step in by_torch], abs=1e-3)


def test_small_batches_see_changed_weights() -> None:
    calculator = Solver.load()
    (before,) = calculator.decoder(["15C77"])
    with torch.no_grad():
        calculator.run.model.head.weight *= 0.5
    (after,) = calculator.decoder(["15C77"])
    assert after.margin == pytest.approx(before.margin / 2, rel=1e-3)
    calculator.run.model.head.weight.data[7] = -100.0  # without torch noticing: seen from the next problem on
    assert calculator.solve("7", "8", engine="sequential").answer != "15"
    assert not calculator.certified


def test_explained_step_agrees_with_the_step(adder: Solver) -> None:
    detail = adder.decoder.detail("15C77", "15S")
    assert detail.tokens == (*"15C77", "\n", "1", "5")
    assert detail.generated == ("1", "5", "S")
    chosen = [TOKENS.vocabulary[i] for i in detail.probabilities.argmax(axis=-1).tolist()]
    assert tuple(chosen) == detail.generated
    assert np.allclose(detail.probabilities.sum(axis=-1), 1)
    assert detail.attention.shape == (2, 2, 8, 8)


def test_machine_description_names_the_backend_used() -> None:
    import platform
    from importlib import metadata

    decoder = Solver.load("parity").decoder
    assert decoder.machine == {
        "platform": f"{platform.system()} {platform.machine()}", "device": "cpu", "threads": 1,
        "python": platform.python_version(), "alga": alga.__version__, "numba": metadata.version("numba"),
    }  # fmt: skip
    _ = decoder.model  # loads torch, which is then named
    assert decoder.machine["torch"] == metadata.version("torch")
    assert list(decoder.machine) == ["platform", "device", "threads", "python", "alga", "torch", "numba"]
