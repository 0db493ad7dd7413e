"""Weights kept on the way, and trainings that begin from the weights of another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from alga import runs
from alga.base.errors import AlgaError
from alga.base.folders import Folder
from alga.runs import intermediate, verdicts
from alga.runs.weights import WEIGHTS
from alga.solve.loading import load
from alga.training.trainer import Training
from tests.conftest import Alga, tiny
from tests.training.small_runs import bits

LIKE_FAST = {"matrix_rate": 2.5, "averaging": 0.9}


def kept(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "checkpoints").iterdir()}


def run(folder: Path, **changes: object) -> Training:
    training = Training.start(folder, tiny(steps=60, margin=99.0, **changes), seed=5, checkpoints=20)
    list(training.run())
    return training


@pytest.mark.parametrize("more", [{}, LIKE_FAST], ids=["AdamW", "averaged"])
def test_kept_weights_are_those_of_their_step(tmp_path: Path, more: dict[str, object]) -> None:
    training = run(tmp_path / "run", **more)
    assert training.kept_steps == [0, 20, 40, 60]
    assert kept(tmp_path / "run")["step-000060.safetensors"] == (tmp_path / "run" / WEIGHTS).read_bytes()
    for step in (20, 40):
        shorter = Training.start(None, tiny(steps=step, margin=99.0, **more), seed=5)
        list(shorter.run())
        loaded = runs.load(tmp_path / "run", checkpoint=step)
        assert {name: array.tobytes() for name, array in loaded.weights.arrays.items()} == {
            name: array.tobytes() for name, array in shorter.as_run().weights.arrays.items()
        }


@pytest.mark.parametrize("stops", [[3], [20], [25, 41]])
def test_stopped_run_keeps_the_same_weights(tmp_path: Path, stops: list[int]) -> None:
    whole = run(tmp_path / "whole")
    training = Training.start(tmp_path / "parts", tiny(steps=60, margin=99.0), seed=5, checkpoints=20)
    for stop in stops:
        list(training.run(should_stop=lambda stop=stop, training=training: training.step >= stop))
        training = Training.resume(tmp_path / "parts")
    list(training.run())
    assert bits(training) == bits(whole)
    assert kept(tmp_path / "parts") == kept(tmp_path / "whole")


def test_right_prompts_are_stored_at_each_kept_step(tmp_path: Path) -> None:
    run(tmp_path / "run")
    stored = verdicts.read(Folder(tmp_path / "run"))
    assert [each.step for each in stored] == [0, 20, 40, 60]
    assert [each.loss is None for each in stored] == [True, False, False, False]
    domain = runs.load(tmp_path / "run").config.task.domain
    for each in stored:
        certificate = load(tmp_path / "run", checkpoint=each.step).certify()
        wrong = {failure.prompt for failure in certificate.failures if failure.produced != f"{failure.expected}S"}
        assert [prompt for prompt, right in zip(domain, each.right, strict=True) if not right] == [
            prompt for prompt in domain if prompt in wrong
        ]
    assert sum(stored[0].right) < len(domain)
    assert sum(stored[-1].right) > sum(stored[0].right)


def test_kept_weights_are_never_certified(tmp_path: Path) -> None:
    training = Training.start(tmp_path / "run", tiny(), seed=5, checkpoints=10)
    list(training.run())
    assert training.certificate is not None
    last = training.kept_steps[-1]
    assert load(tmp_path / "run").certified
    for step in (0, last):
        calculator = load(tmp_path / "run", checkpoint=step)
        assert not calculator.certified
        assert not calculator.solve("101").certified
        assert repr(calculator).endswith(f"after {step:,} steps: parity, not certified))")
    assert load(tmp_path / "run", checkpoint=last).certify().sha256 == training.certificate.sha256


def test_checkpoint_is_checked_on_the_command_line(tmp_path: Path, alga: Alga) -> None:
    run(tmp_path / "run")
    early = alga("certify", tmp_path / "run", "--checkpoint", 0, "--json")
    assert early.code == 1
    assert not json.loads(early.out)["certified"]
    refused = alga("certify", tmp_path / "run", "--checkpoint", 30)
    expected = f"alga: {tmp_path}/run has no weights after 30 steps; it has those after 0, 20, 40, 60 steps\n"
    assert (refused.code, refused.err) == (2, expected)
    assert alga("certify", tmp_path / "run", "--checkpoint", 60, "--save").code == 2
    none = alga("certify", "parity", "--checkpoint", 30)
    assert none.err.endswith("has no weights after 30 steps; alga train --checkpoints EVERY keeps some\n")


def test_kept_weights_can_be_imported(tmp_path: Path, alga: Alga) -> None:
    run(tmp_path / "run")
    source = tmp_path / "run" / "checkpoints" / "step-000040.safetensors"
    assert alga("import", source, "--out", tmp_path / "at-40").code == 0
    assert runs.load(tmp_path / "at-40").sha256 == runs.load(tmp_path / "run", checkpoint=40).sha256


def test_damaged_or_linked_checkpoints_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run(folder)
    path = folder / "checkpoints" / "step-000020.safetensors"
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(AlgaError, match=r"step-000020.safetensors is damaged: its SHA-256 is not the one in"):
        runs.load(folder, checkpoint=20)
    path.unlink()
    path.symlink_to(folder / WEIGHTS)
    with pytest.raises(AlgaError, match="is a link"):
        runs.load(folder, checkpoint=20)
    (folder / "checkpoints" / "SHA256SUMS").write_text("what\n")
    with pytest.raises(AlgaError, match="SHA256SUMS is damaged: 'what'"):
        runs.load(folder, checkpoint=40)
    (folder / "checkpoints").rename(tmp_path / "elsewhere")
    (folder / "checkpoints").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AlgaError, match="checkpoints is not a folder"):
        runs.load(folder, checkpoint=40)
    with pytest.raises(AlgaError, match="checkpoints is not a folder"):
        intermediate.write(runs.folder.Folder(folder), 80, data)


def test_training_begins_from_other_weights(tmp_path: Path) -> None:
    first = Training.start(tmp_path / "first", tiny(), seed=5)
    list(first.run())
    finished = runs.load(tmp_path / "first")
    training = Training.start(tmp_path / "second", tiny(margin=2.0, dropout=0.0), seed=6, init=finished, checkpoints=9)
    list(training.run())
    began = runs.load(tmp_path / "second", checkpoint=0)
    assert {name: array.tobytes() for name, array in began.weights.arrays.items()} == {
        name: array.tobytes() for name, array in finished.weights.arrays.items()
    }
    stated = json.loads((tmp_path / "second" / "config.json").read_text())["training"]["init"]
    assert stated == {"run": str(tmp_path / "first"), "sha256": finished.sha256}
    assert runs.load(tmp_path / "second").config.training["init"] == stated


@pytest.mark.parametrize("stop", [0, 7])
def test_continued_training_resumes_to_the_same_bits(tmp_path: Path, stop: int) -> None:
    recipe = tiny(steps=30, margin=99.0, **LIKE_FAST)
    whole = Training.start(tmp_path / "whole", recipe, seed=5, init=_other(tmp_path))
    list(whole.run())
    training = Training.start(tmp_path / "parts", recipe, seed=5, init=runs.load(tmp_path / "other"))
    if stop:
        list(training.run(should_stop=lambda: training.step >= stop))
    else:
        training._writer.unlock()  # as after a kill before the first step
    for path in (tmp_path / "other").iterdir():
        path.unlink()  # resuming does not need it
    resumed = Training.resume(tmp_path / "parts")
    list(resumed.run())
    assert bits(resumed) == bits(whole)


def _other(tmp_path: Path) -> runs.Run:
    training = Training.start(tmp_path / "other", tiny(steps=10, margin=99.0), seed=7)
    list(training.run())
    return runs.load(tmp_path / "other")


def test_lost_first_weights_are_not_replaced_by_random_ones(tmp_path: Path) -> None:
    training = Training.start(tmp_path / "run", tiny(), seed=5, init=_other(tmp_path))
    training._writer.unlock()
    (tmp_path / "run" / "checkpoint.safetensors").unlink()
    with pytest.raises(AlgaError, match="was stopped before its first weights were written: start it again"):
        Training.resume(tmp_path / "run")


@pytest.mark.parametrize(
    ("changes", "differs"), [({"width": 16}, "width is 8 there, and 16 here"), ({"heads": 4}, "heads is 2 there")]
)
def test_weights_of_another_shape_are_refused(tmp_path: Path, changes: dict[str, object], differs: str) -> None:
    other = _other(tmp_path)
    with pytest.raises(AlgaError, match=f"a network of another shape: {differs}"):
        Training.start(tmp_path / "run", tiny(**changes), init=other)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"checkpoints": 0}, {"checkpoints": "x"}, {"init": "x"}, {"init": {"run": "x", "sha256": "x"}}, {"more": 1},
        {"init": {"run": 1, "sha256": "0" * 64}}, {"init": {"run": "\n", "sha256": "0" * 64}},
    ],
)  # fmt: skip
def test_invalid_configuration_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    run(tmp_path / "run")
    path = tmp_path / "run" / "config.json"
    content = json.loads(path.read_text())
    content["training"] |= change
    path.write_text(json.dumps(content))
    with pytest.raises(AlgaError, match=r"expected|must be"):
        runs.load(tmp_path / "run")


def test_training_verb_changes_keeps_and_begins(tmp_path: Path, alga: Alga) -> None:
    small = ["train", "--task", "parity", "--recipe", "small", "--set", "width=8", "--set", "hidden=8"]
    first = alga(*small, "--steps", 40, "--checkpoints", 20, "--out", tmp_path / "a", "--json")
    assert json.loads(first.out)["checkpoints"] == [0, 20, 40]
    assert runs.load(tmp_path / "a").config.model.width == 8
    assert alga(*small, "--steps", 1, "--init", tmp_path / "a", "--out", tmp_path / "b").code == 1
    refused = alga("train", "--like", tmp_path / "b", "--out", tmp_path / "c")
    assert "name them by --init" in refused.err
    assert alga("train", "--like", tmp_path / "b", "--init", tmp_path / "a", "--out", tmp_path / "c").code == 1
    assert runs.load(tmp_path / "c").sha256 == runs.load(tmp_path / "b").sha256
    for option in (["--set", "width=8"], ["--init", "parity"], ["--checkpoints", 5]):
        refused = alga("train", "--resume", tmp_path / "a", *option)
        assert (refused.code, refused.err) == (
            2, f"alga: --resume takes everything from the run itself, got {option[0]} too\n",
        )  # fmt: skip
