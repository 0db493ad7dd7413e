"""`alga verify` agrees with the proof, and refuses certificates that claim more."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from alga import runs
from alga.base.errors import AlgaError
from alga.runs import checksums
from alga.runs.verification import verify
from alga.trust.certificate import Bound, Certificate
from tests.conftest import Result
from tests.runs.edited_files import rewrite


def edited(path: Path, change: Callable[[Certificate], Certificate]) -> None:
    path.write_text(change(Certificate.from_json(path.read_text())).to_json())
    checksums.seal(path.parent)


def proven(folder: Path) -> Certificate:
    run = runs.load(folder, read_certificate=False).judged().proven()
    runs.keep(folder, run)
    assert run.certificate is not None
    return run.certificate


def test_proof_is_saved_loaded_and_verified(parity: Path) -> None:
    kept = proven(parity)
    assert kept.strength == "proven"
    assert runs.load(parity).certificate == kept
    found = verify(parity)
    assert found.agrees
    assert kept.proof is not None
    real, float64, float32 = (bound.margin or 0.0 for bound in kept.proof.bounds)
    assert 0 < real - float32 < found.real - found.proven["float32"] < 1e-3  # the second method allows less
    assert 0 < found.real - found.proven["float64"] < 1e-9  # here the balls' own radius is that large
    assert 0 < real - float64 < 1e-9
    assert "An independent check: `alga verify`" in (parity / "README.md").read_text()


def test_certificate_without_a_proof_stays_valid(parity: Path) -> None:
    proven(parity)
    edited(parity / "certificate.json", lambda c: replace(c, proof=None, strength="checked"))
    run = runs.load(parity)
    assert run.certified
    assert run.certificate is not None
    assert run.certificate.strength == "checked"
    assert verify(parity).agrees


@pytest.mark.parametrize(
    ("change", "objection"),
    [
        (lambda c: replace(c, sha256="0" * 64), "it is for the weights 000000000000…"),
        (lambda c: replace(c, prompts=7), "it is for 7 prompts of parity, not 6"),
        (lambda c: replace(c, certified=False, strength="checked"), "it certifies nothing"),
        (lambda c: replace(c, least_margin=7.2), "it states a measured margin of 7.2; the real one is 7.114"),
        (lambda c: replace(c, proof=replace(c.proof, assumptions="none")), "it rests on the assumptions none"),
        (lambda c: replace(c, proof=replace(c.proof, bounds=(*c.proof.bounds[:2], Bound("float32", 7.2, "1C0")))),
         "it states a margin of 7.2 in float32; the real one is 7.114"),
        (lambda c: replace(c, proof=replace(c.proof, bounds=(*c.proof.bounds, Bound("bfloat16", 1.0, "1C0")))),
         "it is not proven here in bfloat16 arithmetic"),
    ],
)  # fmt: skip
def test_certificate_that_overstates_its_proof_is_refused(
    parity: Path, change: Callable[[Certificate], Certificate], objection: str
) -> None:
    proven(parity)
    edited(parity / "certificate.json", change)
    found = verify(parity)
    assert not found.agrees
    assert any(objection in said for said in found.objections)


def test_verify_confirms_proven_and_refuses_unproven_claims(alga: Callable[..., Result], parity: Path) -> None:
    proven(parity)
    said = alga("verify", parity / "certificate.json")
    assert said.code == 0
    assert "the certificate agrees: parity of any length is proven in real, float64, float32 arithmetic," in said.out
    assert "flushed to zero" in said.out
    edited(parity / "certificate.json", lambda c: replace(c, prompts=7))
    refused = alga("verify", parity)
    assert refused.code == 1
    assert "refused: it is for 7 prompts of parity, not 6" in refused.out
    content = json.loads(alga("verify", parity, "--json").out)
    assert (content["agrees"], content["margins"].keys()) == (False, {"real", "float64", "float32"})
    (parity / "certificate.json").unlink()
    missing = alga("verify", parity)
    assert (missing.code, missing.err) == (2, f"alga: {parity} has no certificate.json: nothing to verify\n")


@pytest.mark.parametrize(
    "name", ["token_embedding.weight", "layers.0.feed_forward.2.weight", "layers.0.feed_forward.0.bias"]
)
def test_weights_of_another_size_are_refused_in_one_line(parity: Path, name: str) -> None:
    proven(parity)
    rewrite(parity / "model.safetensors", lambda weights: weights.update({name: weights[name][:-1].clone()}))
    with pytest.raises(AlgaError, match=r"does not match its configuration: .* has the shape"):
        verify(parity)
