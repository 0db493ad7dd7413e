"""Training: to the certificate, interrupted anywhere, resumed to the same bits."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import torch

from alga import recipes
from alga.calculator import load
from alga.decoding import Decoder
from alga.errors import AlgaError
from alga.runs import Weights
from alga.training import Training
from tests.conftest import tiny


def trained(folder: Path, **changes: object) -> Training:
    training = Training.start(folder, tiny(**changes), seed=5)
    list(training.run())
    return training


def bits(training: Training) -> bytes:
    return Weights.of(training.config, training.model).data


def steps_in(folder: Path) -> list[int]:
    return [json.loads(line)["step"] for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_training_ends_with_a_certificate_and_a_whole_run(tmp_path: Path, curves: None) -> None:
    training = trained(tmp_path / "run")
    assert training.certificate is not None
    assert training.certificate.least_margin >= 1.0
    files = sorted(path.name for path in (tmp_path / "run").iterdir())
    assert files == [
        "README.md", "SHA256SUMS", "certificate.json", "config.json", "curves.png", "curves.svg", "metrics.jsonl",
        "model.safetensors", "table.json",
    ]  # fmt: skip
    calculator = load(tmp_path / "run")
    assert calculator.certified
    assert calculator.solve("1011").answer == "1"
    assert calculator.certify().certified


def test_the_same_seed_gives_the_same_bits_and_another_seed_others(tmp_path: Path) -> None:
    first, again = trained(tmp_path / "a", steps=30), trained(tmp_path / "b", steps=30)
    other = Training.start(tmp_path / "c", tiny(steps=30), seed=6)
    list(other.run())
    assert bits(first) == bits(again) != bits(other)


@pytest.mark.parametrize("stops", [[3], [10], [17, 18, 44], [1, 2, 3, 59]])
def test_a_run_stopped_anywhere_resumes_to_the_same_bits(tmp_path: Path, stops: list[int]) -> None:
    whole = trained(tmp_path / "whole", steps=60, margin=99.0)
    training = Training.start(tmp_path / "parts", tiny(steps=60, margin=99.0), seed=5)
    for stop in stops:
        list(training.run(should_stop=lambda stop=stop, training=training: training.step >= stop))
        assert training.step == stop
        torch.rand(7)  # others use torch's randomness meanwhile
        training = Training.resume(tmp_path / "parts")
    list(training.run())
    assert bits(training) == bits(whole)
    assert steps_in(tmp_path / "parts") == steps_in(tmp_path / "whole") == [10, 20, 30, 40, 50, 60]


def losses(folder: Path) -> list[float]:
    return [json.loads(line)["loss"] for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_a_run_killed_between_checkpoint_and_metrics_writes_its_lines_once(tmp_path: Path) -> None:
    whole = trained(tmp_path / "whole", steps=60, margin=99.0)
    training = Training.start(tmp_path / "parts", tiny(steps=60, margin=99.0), seed=5)
    list(training.run(should_stop=lambda: training.step >= 25))
    with (tmp_path / "parts" / "metrics.jsonl").open("a") as file:
        file.write('{"step": 30, "loss": 0.1}\n{"step": 4')
    (tmp_path / "parts" / ".abc.unfinished").write_bytes(b"half a file")
    resumed = Training.resume(tmp_path / "parts")
    list(resumed.run())
    assert bits(resumed) == bits(whole)
    assert losses(tmp_path / "parts") == losses(tmp_path / "whole")
    assert not list((tmp_path / "parts").glob(".*"))


def test_a_run_killed_before_its_first_checkpoint_starts_again(tmp_path: Path) -> None:
    whole = trained(tmp_path / "whole", steps=30)
    Training.start(tmp_path / "killed", tiny(steps=30), seed=5)
    resumed = Training.resume(tmp_path / "killed")
    list(resumed.run())
    assert bits(resumed) == bits(whole)


def test_a_run_out_of_steps_is_kept_and_goes_on_as_if_it_had_had_them(tmp_path: Path) -> None:
    whole = trained(tmp_path / "whole", steps=60, margin=99.0)
    short = trained(tmp_path / "short", steps=20, margin=99.0)
    assert short.step == 20
    with pytest.raises(AlgaError, match="has done its 20 steps; ask for more with --steps"):
        Training.resume(tmp_path / "short")
    longer = Training.resume(tmp_path / "short", steps=60)
    list(longer.run())
    assert bits(longer) == bits(whole)


def test_an_uncertified_end_leaves_a_usable_run_without_certificate(tmp_path: Path) -> None:
    training = trained(tmp_path / "run", steps=2)
    assert training.certificate is None
    calculator = load(tmp_path / "run")
    assert not calculator.certified
    assert not (tmp_path / "run" / "certificate.json").exists()


def test_training_leaves_torchs_settings_as_they_were(tmp_path: Path) -> None:
    torch.manual_seed(1)
    expected = torch.rand(4)
    torch.manual_seed(1)
    threads = torch.get_num_threads()
    training = Training.start(tmp_path / "run", tiny(steps=20), seed=5, threads=1)
    for _ in training.run():
        assert torch.get_num_threads() == threads
    assert torch.equal(torch.rand(4), expected)


def test_a_finished_run_has_nothing_to_resume(tmp_path: Path) -> None:
    trained(tmp_path / "run")
    with pytest.raises(AlgaError, match="is trained to its end"):
        Training.resume(tmp_path / "run")


def test_a_network_without_its_checkpoint_is_not_trained_over(tmp_path: Path) -> None:
    trained(tmp_path / "run", steps=20, margin=99.0)
    (tmp_path / "run" / "checkpoint.safetensors").unlink()
    with pytest.raises(AlgaError, match="has lost its checkpoint"):
        Training.resume(tmp_path / "run", steps=40)


def test_every_check_sees_the_weights_of_its_step(tmp_path: Path) -> None:
    training = Training.start(tmp_path / "run", tiny(steps=60, margin=100.0))
    for progress in training.run():
        domain = training.config.task.domain
        fresh = Decoder(training.model, training.config.tokens)(list(domain))
        wrong = [step for step, exact in zip(fresh, domain.values(), strict=True) if step.output != exact.output]
        assert progress.wrong == len(wrong)
        if progress.step < 60:
            assert progress.least_margin == pytest.approx(min(step.margin for step in fresh), abs=1e-3)


@pytest.mark.slow
def test_a_certified_network_short_of_its_margin_can_go_on(tmp_path: Path) -> None:
    short = trained(tmp_path / "run", steps=300, margin=99.0)
    assert short.certificate is not None
    assert not short.reached_margin
    assert load(tmp_path / "run").certified
    longer = Training.resume(tmp_path / "run", steps=320)
    list(longer.run())
    assert longer.step == 320


@pytest.mark.parametrize("setting", ["seed", "learning_rate", "width", "task"])
def test_a_checkpoint_does_not_go_on_under_other_settings(tmp_path: Path, setting: str) -> None:
    training = Training.start(tmp_path / "run", tiny(), seed=5)
    list(training.run(should_stop=lambda: training.step >= 5))
    path = tmp_path / "run" / "config.json"
    content = json.loads(path.read_text())
    other = {"seed": 77, "learning_rate": 0.5, "width": 4096, "task": "addition"}[setting]
    place = content["training"] if setting == "seed" else content["training"]["recipe"]
    place[setting] = other
    path.write_text(json.dumps(content))
    with pytest.raises(AlgaError, match="belongs to other settings"):
        Training.resume(tmp_path / "run")


@pytest.mark.parametrize(
    "change", [{"seed": "x"}, {"seed": -1}, {"threads": "x"}, {"threads": 0}, {"device": "tpu"}, {"recipe": {}}]
)
def test_a_configuration_edited_into_nonsense_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    Training.start(tmp_path / "run", tiny(), seed=5)
    path = tmp_path / "run" / "config.json"
    content = json.loads(path.read_text())
    content["training"] |= change
    path.write_text(json.dumps(content))
    with pytest.raises(AlgaError):
        Training.resume(tmp_path / "run")


def test_a_folder_with_a_run_is_not_overwritten(tmp_path: Path) -> None:
    trained(tmp_path / "run", steps=2)
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    with pytest.raises(AlgaError, match="already holds a run"):
        Training.start(tmp_path / "run", tiny())
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


@pytest.mark.parametrize("damage", [lambda d: d[:-5], lambda d: d[:20], lambda d: b"", lambda d: b"\xff" * len(d)])
def test_a_damaged_checkpoint_is_refused(tmp_path: Path, damage: object) -> None:
    training = Training.start(tmp_path / "run", tiny(), seed=5)
    list(training.run(should_stop=lambda: training.step >= 5))
    path = tmp_path / "run" / "checkpoint.safetensors"
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(AlgaError, match="is damaged"):
        Training.resume(tmp_path / "run")


def test_an_unknown_or_absent_device_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AlgaError, match="unknown device 'tpu'"):
        Training.start(tmp_path / "run", tiny(), device="tpu")
    if not torch.backends.mps.is_available():
        with pytest.raises(AlgaError, match="mps is not available here"):
            Training.start(tmp_path / "run", tiny(), device="mps")
    assert not (tmp_path / "run").exists()


def test_the_paper_recipe_is_the_papers() -> None:
    recipe = recipes.find("paper")
    assert (recipe.task, recipe.batch_size, recipe.learning_rate, recipe.weight_decay) == (
        "addition-padded", 512, 5e-4, 0.01,
    )  # fmt: skip
    assert (recipe.dropout, recipe.second_type_share, recipe.contexts) == (0.2, 0.5, "paper")
    assert (recipe.width, recipe.heads, recipe.layers, recipe.hidden) == (64, 2, 2, 256)


def test_the_rate_rises_falls_and_stays() -> None:
    recipe = tiny(learning_rate=1.0, warmup_steps=10, decay_steps=100, final_rate=0.1)
    rates = [recipe.rate(step) for step in range(1, 300)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[9] == 1.0
    assert rates[59] == pytest.approx(0.55)
    assert rates[109:] == [pytest.approx(0.1)] * 190
    assert dataclasses.replace(recipe, steps=7).rate(60) == recipe.rate(60)  # more --steps do not change the past


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"contexts": "none"}, "contexts must be one of paper, domain"),
        ({"second_type_share": 1.5}, r"second_type_share must be a number from 0\.0 to 1\.0, got 1\.5"),
        ({"batch_size": 0}, "batch_size must be a whole number from 1 to"),
        ({"batch_size": 10**12}, "batch_size must be a whole number from 1 to"),
        ({"steps": -3}, "steps must be a whole number from 1 to"),
        ({"learning_rate": float("nan")}, "learning_rate must be a number"),
        ({"learning_rate": "high"}, "learning_rate must be a number"),
        ({"warmup_steps": "x"}, "warmup_steps must be a whole number"),
        ({"beta1": 2}, "beta1 must be a number"),
        ({"margin": "x"}, "margin must be a number"),
    ],
)
def test_an_impossible_recipe_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(AlgaError, match=message):
        tiny(**change)
