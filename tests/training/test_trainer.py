"""Training: to the certificate, reproducibly, with nothing overwritten."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from alga.base.errors import AlgaError
from alga.network.decoder import Decoder
from alga.network.tokens import PAD_ID, START, STOP
from alga.runs import Run, Weights
from alga.solve.solver import Solver
from alga.training.trainer import Training
from tests.conftest import tiny
from tests.training.small_runs import bits, steps_in, trained


def test_training_ends_with_a_certificate_and_a_complete_run(tmp_path: Path, curves: None) -> None:
    training = trained(tmp_path / "run")
    assert training.certificate is not None
    assert training.certificate.least_margin >= 1.0
    files = sorted(path.name for path in (tmp_path / "run").iterdir())
    assert files == [
        "README.md", "SHA256SUMS", "certificate.json", "config.json", "curves.png", "curves.svg", "metrics.jsonl",
        "model.safetensors", "table.json",
    ]  # fmt: skip
    calculator = Solver.load(tmp_path / "run")
    assert calculator.certified
    assert calculator.solve("1011").answer == "1"
    assert calculator.certify().certified


def test_recipe_that_asks_for_a_proof_ends_with_it_and_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = trained(None)
    training = trained(tmp_path / "proven", strength="proven")
    assert training.certificate is not None
    assert (training.certificate.strength, training.step) == ("proven", checked.step)
    assert Solver.load(tmp_path / "proven").run.certificate == training.certificate
    assert (training.certificate.has("proven", 1.0), training.certificate.has("proven", 99.0)) == (True, False)
    monkeypatch.setattr(Run, "proven", lambda self: self)  # nothing can be proven
    unproven = trained(tmp_path / "unproven", strength="proven", steps=checked.step + 20)
    assert unproven.step == checked.step + 20
    assert unproven.certificate is not None  # out of steps: saved as far as it came
    assert (unproven.certificate.strength, unproven.reached_aim) == ("checked", False)


def test_trained_network_keeps_its_certificate_when_saved(tmp_path: Path) -> None:
    training = trained(None)
    calculator = Solver(training.as_run())
    assert calculator.certified
    calculator.save(tmp_path / "kept")
    assert Solver.load(tmp_path / "kept").run.certificate == training.certificate
    with torch.no_grad():
        next(training.model.parameters()).add_(1.0)
    assert not Solver(training.as_run()).certified


def test_folders_may_be_given_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    list(Training.start("run", tiny(steps=2), seed=5).run())
    list(Training.resume("run", steps=4).run())
    assert len(steps_in(tmp_path / "run")) == 2


def test_only_the_same_seed_gives_the_same_bits(tmp_path: Path) -> None:
    first, again = trained(tmp_path / "a", steps=30), trained(tmp_path / "b", steps=30)
    other = Training.start(tmp_path / "c", tiny(steps=30), seed=6)
    list(other.run())
    assert bits(first) == bits(again) != bits(other)


def test_uncertified_training_leaves_a_usable_run(tmp_path: Path) -> None:
    training = trained(tmp_path / "run", steps=2)
    assert training.certificate is None
    calculator = Solver.load(tmp_path / "run")
    assert not calculator.certified
    assert not (tmp_path / "run" / "certificate.json").exists()


def test_training_restores_torch_settings(tmp_path: Path) -> None:
    torch.manual_seed(1)
    expected = torch.rand(4)
    torch.manual_seed(1)
    threads = torch.get_num_threads()
    training = Training.start(tmp_path / "run", tiny(steps=20), seed=5, threads=1)
    for _ in training.run():
        assert torch.get_num_threads() == threads
    assert torch.equal(torch.rand(4), expected)


def test_every_check_sees_the_weights_of_its_step(tmp_path: Path) -> None:
    training = Training.start(tmp_path / "run", tiny(steps=60, margin=100.0))
    for progress in training.run():
        domain = training.config.task.domain
        fresh = Decoder(Weights.of(training.config, training.model), training.config.tokens)(list(domain))
        wrong = [step for step, exact in zip(fresh, domain.values(), strict=True) if step.output != exact.output]
        assert progress.wrong == len(wrong)
        if progress.step < 60:
            assert progress.least_margin == pytest.approx(min(step.margin for step in fresh), abs=1e-3)


@pytest.mark.parametrize("clip", [0.0, 0.01, 100.0])
def test_long_gradients_are_clipped(clip: float, monkeypatch: pytest.MonkeyPatch) -> None:
    training = Training.start(None, tiny(clip=clip, dropout=0.0, steps=5, margin=100.0))
    batches, lengths, draw, step = [], [], training._sampler.draw, torch.optim.AdamW.step
    monkeypatch.setattr(training._sampler, "draw", lambda *asked: batches.append(draw(*asked)) or batches[-1])

    def length(gradients: Sequence[torch.Tensor]) -> float:
        return float(torch.cat([gradient.flatten() for gradient in gradients]).norm())

    def checked(optimizer: torch.optim.AdamW) -> None:
        weights = [weight for weight in training.model.parameters() if weight.grad is not None]
        given = [weight.grad for weight in weights if weight.grad is not None]
        exact = torch.autograd.grad(training._sampler.loss(training.model, batches[-1]), weights)
        factor = clip / length(exact) if clip and length(exact) > clip else 1.0
        for taken, gradient in zip(given, exact, strict=True):
            torch.testing.assert_close(taken, factor * gradient, rtol=1e-4, atol=1e-6)
        lengths.append(length(exact))
        step(optimizer)

    monkeypatch.setattr(torch.optim.AdamW, "step", checked)
    list(training.run())
    assert len(lengths) == 5
    assert all(0.01 < each < 100.0 for each in lengths)  # so the first is clipped, and the second is not


def test_evaluation_loss_is_the_mean_over_output_tokens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("alga.training.sampling.LOSS_BATCH", 5)  # chunks of unequal size
    training = Training.start(None, tiny(task="addition-base-2", dropout=0.5, steps=1))
    (progress,) = training.run()
    tokens, logs = training.config.tokens, []
    training.model.eval()
    for instance in training.config.task.domain.values():
        ids = [*tokens.prompts([instance.prompt])[0], tokens.ids[START]]
        for token in f"{instance.output}{STOP}":  # token by token, each seeing those before
            padded = [*ids, *[PAD_ID] * (tokens.input_length + tokens.output_length - len(ids))]
            with torch.inference_mode():
                logits_OV = training.model(torch.tensor([padded]))[0]
            logs.append(float(logits_OV.log_softmax(-1)[len(ids) - tokens.input_length - 1, tokens.ids[token]]))
            ids.append(tokens.ids[token])
    assert progress.evaluation_loss == pytest.approx(-sum(logs) / len(logs), abs=1e-5)


def test_folder_with_a_run_is_not_overwritten(tmp_path: Path) -> None:
    trained(tmp_path / "run", steps=2)
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    with pytest.raises(AlgaError, match="already holds a run"):
        Training.start(tmp_path / "run", tiny())
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


def test_unknown_or_missing_device_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AlgaError, match="unknown device 'tpu'"):
        Training.start(tmp_path / "run", tiny(), device="tpu")
    if not torch.backends.mps.is_available():
        with pytest.raises(AlgaError, match="mps is not available here"):
            Training.start(tmp_path / "run", tiny(), device="mps")
    assert not (tmp_path / "run").exists()
