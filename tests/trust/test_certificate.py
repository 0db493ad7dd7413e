"""Table and certificate: wrong networks fail, right ones pass."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from alga import tasks
from alga.base.errors import AlgaError
from alga.network.decoder import Decoder
from alga.network.generation import Compiled
from alga.network.step import Decode, Step
from alga.solve.solver import Solver
from alga.trust.certificate import Certificate, certify
from alga.trust.table import Table, extract
from tests.conftest import ALL_TASKS, Result

IDENTITY: Any = {
    "sha256": "0" * 64, "parameters": 1, "dtype": "float32", "batch_sizes": (1, 2300), "machine": {"threads": 1},
}  # fmt: skip
ADDITION = tasks.find("addition")


@pytest.mark.parametrize("name", ALL_TASKS)
def test_exact_network_is_certified_on_the_whole_domain(name: str, faulty: Callable[..., Decode]) -> None:
    task = tasks.find(name)
    certificate, table = certify(task.domain, faulty(task), **IDENTITY)
    assert certificate.certified
    assert certificate.prompts == len(task.domain) == len(table.outputs)
    assert certificate.failures == ()


@pytest.mark.parametrize("prompt", ["00", "99", "19C99", "10C0", "7C35"])
@pytest.mark.parametrize("produced", ["3S", "33", "S", "\nS"])
def test_certificate_names_the_one_prompt_a_faulty_step_gets_wrong(
    prompt: str, produced: str, faulty: Callable[..., Decode]
) -> None:
    certificate, _ = certify(ADDITION.domain, faulty(ADDITION, {prompt: produced}), **IDENTITY)
    assert not certificate.certified
    assert [(f.prompt, f.produced) for f in certificate.failures] == [(prompt, produced)]
    assert certificate.failures[0].expected == ADDITION.domain[prompt].output


def test_network_that_fails_one_of_two_backends_is_refused(faulty: Callable[..., Decode]) -> None:
    right, wrong = faulty(ADDITION), faulty(ADDITION, {"99": "19S"})
    for decode, again in ((right, wrong), (wrong, right)):
        certificate, table = certify(ADDITION.domain, decode, again=again, **IDENTITY)
        assert [failure.prompt for failure in certificate.failures] == ["99"]
        assert table.outputs["99"] == ("18" if decode is right else "19")  # from the decoder that answers users


def test_certificate_covers_compiled_code_and_torch(adder: Solver, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, int] = {"compiled": 0, "torch": 0}
    one_by_one, in_chunks = Decoder._one_by_one, Decoder._in_chunks

    def compiled(self: Decoder, network: Compiled, prompts: list[str]) -> list[Step]:
        asked["compiled"] += len(prompts)
        return one_by_one(self, network, prompts)

    def by_torch(self: Decoder, prompts: list[str]) -> list[Step]:
        asked["torch"] += len(prompts)
        return in_chunks(self, prompts)

    monkeypatch.setattr(Decoder, "_one_by_one", compiled)
    monkeypatch.setattr(Decoder, "_in_chunks", by_torch)
    assert adder.certify().certified
    assert asked == {"compiled": 2300, "torch": 2300}


@pytest.mark.parametrize("margin", [0.0, 1e-5, float("nan"), float("inf")])
def test_tie_tiny_margin_and_nan_logits_are_refused(margin: float, faulty: Callable[..., Decode]) -> None:
    certificate, _ = certify(ADDITION.domain, faulty(ADDITION, margin=margin), **IDENTITY)
    assert len(certificate.failures) == 2300
    assert certificate.least_margin == (margin if margin < 1 else None)
    json.loads(certificate.to_json(), parse_constant=pytest.fail)


def test_single_nan_margin_is_not_ignored(faulty: Callable[..., Decode]) -> None:
    decode = faulty(ADDITION)

    def once(prompts: list[str]) -> list[Step]:
        steps = zip(prompts, decode(prompts), strict=True)
        return [Step(p, s.text, s.output, float("nan") if p == "55" else s.margin) for p, s in steps]

    certificate, _ = certify(ADDITION.domain, once, **IDENTITY)  # type: ignore[arg-type]
    assert [failure.prompt for failure in certificate.failures] == ["55"]
    assert (certificate.least_margin, certificate.least_margin_prompt) == (None, "55")


def test_least_margin_and_its_prompt_are_found(faulty: Callable[..., Decode]) -> None:
    decode = faulty(ADDITION)

    def narrow(prompts: list[str]) -> list[Step]:
        steps = zip(prompts, decode(prompts), strict=True)
        return [Step(p, s.text, s.output, 0.25 if p == "19C99" else s.margin) for p, s in steps]

    certificate, table = certify(ADDITION.domain, narrow, **IDENTITY)  # type: ignore[arg-type]
    assert (certificate.least_margin, certificate.least_margin_prompt) == (0.25, "19C99")
    assert table.uncertain == ()


def test_a_second_decoder_that_leaves_prompts_out_certifies_nothing(faulty: Callable[..., Decode]) -> None:
    decode = faulty(ADDITION)
    with pytest.raises(ValueError, match="shorter"):
        certify(ADDITION.domain, decode, again=lambda prompts: decode(prompts)[:-1], **IDENTITY)  # type: ignore[arg-type]


def test_table_follows_a_faulty_network_beyond_the_tasks_domain(faulty: Callable[..., Decode]) -> None:
    asked: list[str] = []
    exact = faulty(ADDITION, {"55": "77S"})

    def decode(prompts: list[str]) -> list[Step]:
        asked.extend(prompts)
        inside = [prompt if prompt in ADDITION.domain else "12" for prompt in prompts]
        return exact(inside)

    table = extract(ADDITION.domain, decode)  # type: ignore[arg-type]
    beyond = {f"77C{column}" for column in ADDITION.layout.following("")}
    assert len(beyond) == 110
    assert sorted(asked) == sorted(ADDITION.domain.keys() | beyond)  # each once
    assert table.outputs.keys() == {*asked}
    assert table.outputs["55"] == "77"
    assert table.outputs["77C12"] == "3"


def test_prompts_with_tiny_margins_are_marked_uncertain(faulty: Callable[..., Decode]) -> None:
    table = extract(ADDITION.domain, faulty(ADDITION, margin=1e-5))
    assert len(table.uncertain) == 2300


def test_table_round_trips_and_an_altered_one_is_refused(faulty: Callable[..., Decode]) -> None:
    table = extract(ADDITION.domain, faulty(ADDITION, {"55": "99"}))
    assert Table.from_json(table.to_json()) == table
    with pytest.raises(AlgaError, match="altered"):
        Table.from_json(table.to_json().replace('"15C77":"15"', '"15C77":"16"'))
    for broken in ("", "[]", "{}", '{"task": 1}', "null", table.to_json()[:-9]):
        with pytest.raises(AlgaError, match="expected a table"):
            Table.from_json(broken)


def test_certificate_round_trips_and_an_invalid_one_is_refused(faulty: Callable[..., Decode]) -> None:
    certificate, _ = certify(ADDITION.domain, faulty(ADDITION, {"55": "99"}), **IDENTITY)
    assert Certificate.from_json(certificate.to_json()) == certificate
    stated = certificate.to_json()
    numbers = [stated.replace('"least_margin": 9.0', f'"least_margin": {value}') for value in ("1e999", "NaN", '"9"')]
    numbers += [stated.replace('"threads": 1', f'"threads": {value}') for value in ("1e999", "-Infinity")]
    assert all(text != stated for text in numbers)
    for broken in ("", "[]", "{}", "null", json.dumps({"failures": []}), stated[:-9], *numbers):
        with pytest.raises(AlgaError, match="expected a certificate"):
            Certificate.from_json(broken)


def test_every_shipped_answer_matches_its_task(adder: Solver) -> None:
    table = adder.run.table
    assert table is not None
    assert table.outputs == {prompt: instance.output for prompt, instance in adder.trained.domain.items()}


def test_weight_change_that_breaks_one_prompt_is_detected(tmp_path: Path, alga: Callable[..., Result]) -> None:
    calculator = Solver.load()
    decoder, domain, weight = calculator.decoder, calculator.trained.domain, calculator.run.model.head.weight
    before = weight[3, 0].item()

    def wrong_after(change: float) -> list[str]:
        with torch.no_grad():
            weight[3, 0] = before + change
        return [p for p, s in zip(domain, decoder(list(domain)), strict=True) if s.output != domain[p].output]

    enough = 1.0
    while not wrong_after(enough):
        enough *= 2
    harmless = 0.0
    while len(wrong := wrong_after(enough)) > 1:
        middle = (harmless + enough) / 2
        harmless, enough = (harmless, middle) if wrong_after(middle) else (middle, enough)
    assert len(wrong) == 1
    assert not calculator.certified  # the hash no longer matches
    calculator.save(tmp_path / "spoiled")
    judged = alga("certify", tmp_path / "spoiled", "--json")
    content = json.loads(judged.out)
    assert judged.code == 1
    assert content["certified"] is False
    assert [failure["prompt"] for failure in content["failures"]] == wrong
    assert wrong[0] in alga("certify", tmp_path / "spoiled").out
