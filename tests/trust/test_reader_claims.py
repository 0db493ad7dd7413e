"""What may be claimed of a reader: which words hold, in certificates, folders and the second program."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import pytest

from alga import runs
from alga.base.errors import AlgaError
from alga.network.reader import ReaderAttention
from alga.runs import Run, Weights, checksums
from alga.runs.folder import SHIPPED
from alga.trust.certificate import Bound, Certificate, Outside, Proof
from alga.trust.proof.readers import prove_reader
from alga.trust.verify.verdict import verify
from tests.conftest import Alga
from tests.readers import TASK, TEXTS


@pytest.fixture(scope="module")
def whole() -> Run:
    return runs.load("whole")


def test_situations_alone_are_a_sample(whole: Run) -> None:
    assert whole.certificate is not None
    assert (whole.certified, whole.certificate.strength) == (True, "proven")
    sample = dataclasses.replace(whole.certificate.as_sample(), proof=None)
    assert not sample.certified
    assert "what lies outside them decides too" in sample.statement
    assert not dataclasses.replace(whole, certificate=sample).certified
    checked = dataclasses.replace(sample, certified=True, strength="checked")
    assert not dataclasses.replace(whole, certificate=checked).certified
    with pytest.raises(ValueError, match="certified by samples"):
        dataclasses.replace(sample, certified=True)
    refused = Proof(assumptions="ieee-text-1", bounds=(Bound("float32", None, "+=1"),), outside=Outside(1.0, 1, "+=1"))
    assert (
        "up to 1 of head 2's attention at +=1; proven in none arithmetic, not in float32"
        in sample.with_proof(refused).statement
    )


@pytest.mark.slow
def test_hard_window_is_checked_without_a_bound(whole: Run) -> None:
    """Where nothing outside two columns has any weight, the situations are all there is."""
    shape = dataclasses.replace(whole.config.model, window=True)
    config = dataclasses.replace(whole.config, model=shape, training=None)
    hard = Run(name="hard", config=config, weights=Weights.holding(config, whole.weights.arrays)).judged()
    assert hard.certificate is not None
    assert (hard.certified, hard.certificate.strength, hard.certificate.proof) == (True, "checked", None)
    assert not dataclasses.replace(hard, config=whole.config).certified  # the same weights, without the window


def test_folder_that_claims_less_than_proven_is_refused(tmp_path: Path) -> None:
    shutil.copytree(SHIPPED / "whole", tmp_path / "mine")
    path = tmp_path / "mine" / "certificate.json"
    content = json.loads(path.read_text())
    del content["proof"]
    path.write_text(json.dumps({**content, "strength": "checked"}))
    checksums.seal(tmp_path / "mine")
    with pytest.raises(AlgaError, match="bounds nothing outside its prompts"):
        runs.load(tmp_path / "mine")


def test_certificate_round_trips(whole: Run) -> None:
    assert whole.certificate is not None
    assert Certificate.from_json(whole.certificate.to_json()) == whole.certificate
    assert whole.certificate.proof is not None
    assert whole.certificate.proof.outside is not None


@pytest.mark.slow
def test_whole_is_proven_and_verified_again(alga: Alga) -> None:
    proven = alga("certify", "whole", "--proof")
    assert proven.code == 0, proven.err
    assert "proven in real, float64, float32 arithmetic" in proven.out
    assert "attention outside the two columns, in a text of any length: at most" in proven.out
    verified = alga("verify", "whole")
    assert verified.code == 0, verified.out
    assert "is proven in real, float64, float32 arithmetic" in verified.out


def test_several_layers_are_never_checked_by_situations(whole: Run) -> None:
    for window in (False, True):
        shape = dataclasses.replace(whole.config.model, layers=2, window=window)
        assert shape.needs_bound
        assert not shape.can_be_bounded
    with pytest.raises(AlgaError, match="2 layers cannot be proven"):
        prove_reader(TEXTS, shape, {})


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": "float64"},
        {"outside": None},
        {"outside": {"share": "0.1", "head": 0, "prompt": "+=1"}},
        {"outside": {"share": 0.1, "head": 0, "prompt": "\x1b[31m"}},
        {"outside": {"share": float("1e300"), "head": 0, "prompt": "+=1"}},
        {"assumptions": "none at all"},
    ],
)
def test_folder_with_other_claims_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    shutil.copytree(SHIPPED / "whole", tmp_path / "mine")
    path = tmp_path / "mine" / "certificate.json"
    content = json.loads(path.read_text())
    (content if "dtype" in change else content["proof"]).update(change)
    path.write_text(json.dumps(content))
    checksums.seal(tmp_path / "mine")
    with pytest.raises(AlgaError):
        runs.load(tmp_path / "mine")


def test_second_program_objects_to_another_format_and_to_less_outside(whole: Run) -> None:
    certificate = whole.certificate
    assert certificate is not None
    assert certificate.proof is not None
    assert certificate.proof.outside is not None
    less = dataclasses.replace(certificate.proof, outside=dataclasses.replace(certificate.proof.outside, share=0.0))
    for forged, objection in (
        (dataclasses.replace(certificate, dtype="float64"), "this one runs in float32"),
        (dataclasses.replace(certificate, proof=less), "it states 0.0 of attention outside"),
    ):
        found = verify(TASK, whole.config.model, whole.weights.data, forged, only=5)
        assert any(objection in each for each in found.objections)


def test_patched_score_is_an_alteration(whole: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run = runs.load("whole")
    assert run.model is not None
    assert run.certified
    monkeypatch.setattr(ReaderAttention, "score", lambda *_: 0)
    assert not run.certified
