"""Proofs: sampled errors stay inside the bounds, and networks that cannot be proven are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from alga import runs
from alga.base import files
from alga.base.errors import AlgaError
from alga.runs import SHIPPED, Run
from alga.runs.verification import verify
from alga.trust.assumptions import assumed, at_least
from alga.trust.certificate import Certificate
from alga.trust.proof import lemmas
from alga.trust.proof.bounds import FORMATS, REAL, NumberFormat
from alga.trust.proof.margins import margins as margins_of
from alga.trust.proof.margins import prove
from tests.conftest import ROOT, Result
from tests.runs.edited_files import rewrite
from tests.trust.sampled_errors import DTYPES, sampled_ratio, weights_of

# --- whole networks ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arithmetic", DTYPES)
@pytest.mark.parametrize("name", ["parity", "smallest", "xor-base-8"])
def test_shuffled_evaluations_stay_inside_the_proven_bounds(name: str, arithmetic: NumberFormat) -> None:
    run = runs.load(name)
    prompts = list(run.config.task.domain)[:12]
    assert 0 < sampled_ratio(run, prompts, arithmetic, times=8) < 1


def test_small_network_is_proven_in_every_arithmetic() -> None:
    run = runs.load("parity")
    found = prove(run.config.task.domain, run.config.model, weights_of(run), threads=2, tighter=True)
    margins = {bound.arithmetic: bound.margin for bound in found.bounds}
    assert list(margins) == [arithmetic.name for arithmetic in FORMATS]
    assert run.certificate is not None
    assert run.certificate.proof is not None
    assert margins["real"] == pytest.approx(run.certificate.least_margin, abs=1e-4)
    assert margins == pytest.approx({b.arithmetic: b.margin for b in run.certificate.proof.bounds}, abs=1e-6)
    assert 7 < margins["float32"] < margins["float64"] < margins["real"]


def lowered(run: Run, margin: float) -> None:
    """Move one row of the head until the least margin is about as small as requested."""
    head = run.model.head.weight
    weights = weights_of(run)
    step = np.random.default_rng(1).normal(size=head.shape[1])

    def least(size: float) -> float:
        weights["head.weight"][2] = head[2].detach().double().numpy() + np.float32(size) * step
        return float(
            margins_of(run.config.task.domain, run.config.model, weights, list(run.config.task.domain), (REAL,)).min()
        )

    low, high = 0.0, 1.0
    while least(high) > margin:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if least(middle) > margin else (low, middle)
    least(low)
    with torch.no_grad():
        head[2] = torch.from_numpy(weights["head.weight"][2]).float()


def test_correct_network_with_tiny_margins_is_not_proven(parity: Path) -> None:
    run = runs.load(parity, read_certificate=False)
    lowered(run, 2e-4)
    judged = run.judged()
    assert judged.certificate is not None
    assert judged.certificate.certified  # it is right on this machine
    found = judged.proven().certificate
    assert found is not None
    assert found.proof is not None
    assert (found.strength, found.proof.covers("float64"), found.proof.covers("float32")) == ("checked", True, False)
    assert "checked; proven in real, float64 arithmetic only" in found.statement
    runs.save(parity, replace(judged, certificate=found))
    assert verify(parity).agrees
    stated = [replace(bound, margin=1e-6) if bound.arithmetic == "float32" else bound for bound in found.proof.bounds]
    claims = replace(found, strength="proven", proof=replace(found.proof, bounds=tuple(stated)))
    (parity / "certificate.json").write_text(claims.to_json())
    assert "it is not proven here in float32 arithmetic" in verify(parity).objections[0]


def test_perturbed_weights_prove_nothing(parity: Path) -> None:
    run = runs.load(parity, read_certificate=False)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in run.model.parameters():
            parameter.add_(0.5 * torch.randn(parameter.shape, generator=generator))
    found = run.judged().proven().certificate
    assert found is not None
    assert found.proof is not None
    assert (found.certified, found.strength, found.proof.arithmetics) == (False, "checked", "none")
    (parity / "model.safetensors").write_bytes(run.weights.data)
    objections = verify(parity).objections
    assert any("it is for the weights" in objection for objection in objections)
    assert any("a prompt is answered wrongly" in objection for objection in objections)


@pytest.mark.parametrize(("name", "factor"), [("head.weight", 1e35), ("token_embedding.weight", 1e20)])
def test_weights_that_overflow_prove_nothing(name: str, factor: float) -> None:
    """The second weights overflow only when a norm squares them."""
    run = runs.load("parity")
    weights = weights_of(run)
    weights[name] *= factor
    assert prove(run.config.task.domain, run.config.model, weights).arithmetics == "none"


# --- certificates -----------------------------------------------------------------------------------------------------


def test_shipped_networks_are_proven_in_every_arithmetic() -> None:
    found = {path.parent.name: Certificate.from_json(path.read_text()) for path in SHIPPED.glob("*/certificate.json")}
    proofs = {name: certificate.proof for name, certificate in found.items()}
    assert all(proof is not None and proof.arithmetics == "real, float64, float32" for proof in proofs.values())
    assert all(proof is not None and assumed(proof.assumptions)[0] for proof in proofs.values())
    assert {name for name, certificate in found.items() if certificate.strength != "proven"} == {"smallest"}
    assert found["smallest"].strength == "kernel-checked"


def test_docs_table_and_cards_match_the_certificates() -> None:
    table = (ROOT / "docs" / "proof.md").read_text().replace("**", "")
    for folder in SHIPPED.iterdir():
        certificate = Certificate.from_json((folder / "certificate.json").read_text())
        assert certificate.proof is not None
        row, said = [f"`{folder.name}`", f"{certificate.prompts:,}"], []
        for bound in certificate.proof.bounds:
            shown = "no bound" if bound.margin is None else at_least(bound.margin, 2)
            row.append(shown if bound.proven else f"not proven ({shown})")
            said.append(f"{bound.arithmetic} {at_least(bound.margin or 0) if bound.proven else 'not proven'}")
        assert f"| {' | '.join(row)} |" in table
        assert ", ".join(said) in (folder / "README.md").read_text()


def test_invalid_proof_is_refused() -> None:
    text = json.loads((SHIPPED / "parity" / "certificate.json").read_text())
    for nonsense in ({}, [], "yes", {"assumptions": "x", "bounds": [{"margin": 1}]}):
        with pytest.raises(AlgaError, match="expected a certificate"):
            Certificate.from_json(json.dumps({**text, "proof": nonsense}))
    bounds = [{"arithmetic": "float32", "margin": "7", "prompt": ""}]
    with pytest.raises(AlgaError, match="must be a number or null"):
        Certificate.from_json(json.dumps({**text, "proof": {"assumptions": "x", "bounds": bounds}}))


# --- the command line -------------------------------------------------------------------------------------------------


def test_certify_proves_and_states_its_assumptions(alga: Callable[..., Result], parity: Path) -> None:
    said = alga("certify", parity, "--proof", "--save")
    assert said.code == 0
    assert "certified for parity of any length (proven in real, float64, float32 arithmetic" in said.out
    assert "  float32  proven: at least 7.1" in said.out
    assert "*proven* rests on these assumptions (ieee-2, docs/proof.md):" in said.out
    assert runs.load(parity).certificate == Certificate.from_json((parity / "certificate.json").read_text())
    content = json.loads(alga("certify", parity, "--proof", "--json").out)
    assert content["strength"] == "proven"
    assert [bound["arithmetic"] for bound in content["proof"]["bounds"]] == ["real", "float64", "float32"]
    refused = alga("certify", "parity", "--proof", "--save")
    assert (refused.code, refused.err) == (2, "alga: --save needs a run folder, got 'parity'\n")


def test_certify_save_reports_failures(alga: Callable[..., Result], parity: Path) -> None:
    before = (parity / "certificate.json").read_bytes()
    rewrite(parity / "model.safetensors", lambda weights: weights["head.weight"].mul_(-1))
    said = alga("certify", parity, "--save")
    assert said.code == 1
    assert "expected" in said.out
    assert said.err == "alga: certificate not saved: the network is wrong on some prompts\n"
    assert (parity / "certificate.json").read_bytes() == before


def test_certificate_is_not_saved_while_another_process_writes(parity: Path) -> None:
    run = runs.load(parity, read_certificate=False).judged()
    with files.Lock(parity), pytest.raises(AlgaError, match="another process is writing"):
        runs.keep(parity, run)


def test_certify_refuses_too_wide_bounds_even_in_float64(
    alga: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = lemmas.gelu_error
    monkeypatch.setattr(lemmas, "gelu_error", lambda *given: 1e18 * wide(*given))
    said = alga("certify", "parity", "--proof")
    assert (said.code, "float64  not proven" in said.out) == (1, True)
    assert alga("certify", "parity").code == 0


def test_nan_margin_ranks_below_all_others() -> None:
    run = runs.load("parity")
    weights = weights_of(run)
    weights["head.weight"] = np.full_like(weights["head.weight"], np.nan)
    found = margins_of(run.config.task.domain, run.config.model, weights, list(run.config.task.domain), FORMATS)
    assert np.array_equal(found, np.full((3, 6), -np.inf))
