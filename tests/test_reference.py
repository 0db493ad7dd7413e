"""The author's published weights, renamed into this model: the proof that the architecture is the paper's."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import safetensors.torch

from alga import runs, tasks
from alga.calculator import Calculator
from alga.model import ModelConfig, Transformer
from alga.runs import Config, Run
from tests.conftest import Result

NAMES = (
    (r"wte_out", "token_embedding"),
    (r"wpe_out", "position_embedding"),
    (r"MH_dec\.(\d)\.in_proj_", r"layers.\1.attention.project_in."),
    (r"MH_dec\.(\d)\.out_proj", r"layers.\1.attention.project_out"),
    (r"scale1_dec\.(\d)", r"layers.\1.attention_norm"),
    (r"scale2_dec\.(\d)", r"layers.\1.feed_forward_norm"),
    (r"FFN_dec\.(\d)", r"layers.\1.feed_forward"),
    (r"scale3", "final_norm"),
    (r"ln_f", "head"),
)


def authors_network(reference: Path) -> Calculator:
    model = Transformer(ModelConfig(vocabulary=14, input_length=5, output_length=3))
    weights = safetensors.torch.load_file(reference / "alga_r_model.safetensors")
    for theirs, ours in NAMES:
        weights = {re.sub(f"^{theirs}", ours, name): tensor for name, tensor in weights.items()}
    model.load_state_dict(weights)
    config = Config(task=tasks.find("addition-padded"), model=model.config)
    return Calculator(Run(name="author", config=config, model=model.eval()))


def test_the_authors_weights_certify_as_addition_padded_with_their_known_margin(
    reference: Path, tmp_path: Path, alga: Callable[..., Result]
) -> None:
    runs.save(tmp_path / "author", authors_network(reference).run)
    judged = alga("certify", tmp_path / "author", "--json")
    certificate = json.loads(judged.out)
    assert judged.code == 0
    assert certificate["certified"] is True
    assert certificate["prompts"] == 2100
    assert certificate["parameters"] == 102_464
    assert round(certificate["least_margin"], 2) == 10.18
    assert certificate["least_margin_prompt"] == "18C99"


def test_the_authors_weights_do_not_know_columns_of_one_digit(reference: Path) -> None:
    """The text writes `14C6`, the code `14C06`: the weights answer only what they were trained on."""
    decoder, domain = authors_network(reference).decoder, tasks.find("addition").domain
    lone = [prompt for prompt, instance in domain.items() if len(instance.column) == 1]
    wrong = [p for p, step in zip(lone, decoder(lone), strict=True) if step.output != domain[p].output]
    assert (len(lone), len(wrong)) == (200, 178)
