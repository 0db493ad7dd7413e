"""A proof can fail: bounds hold whatever is sampled, and a bound that is put wrong is found out."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from alga import files, proof, runs, seal, verify
from alga.assumptions import at_least
from alga.certificate import Bound, Certificate
from alga.errors import AlgaError
from alga.proof import lemmas
from alga.proof.arithmetic import ARITHMETICS, FLOAT32, FLOAT64, REAL, Arithmetic
from alga.proof.errors import Rounding
from alga.runs import SHIPPED, Run
from alga.tokens import START
from tests.conftest import Result
from tests.sloppy import Array, Sloppy
from tests.test_runs import rewrite

DTYPES: dict[Arithmetic, type] = {FLOAT32: np.float32, FLOAT64: np.float64}


def weights_of(run: Run) -> dict[str, Array]:
    return {name: tensor.double().numpy() for name, tensor in run.model.state_dict().items()}


def laid_out(run: Run, prompts: list[str]) -> tuple[Array, Array]:
    """Return prompts with their right outputs behind them as ids, and the ids of the right tokens."""
    tokens, domain = run.config.tokens, run.config.task.domain
    right = np.array(tokens.outputs(domain[prompt].output for prompt in prompts))
    begun = [[*row, tokens.ids[START]] for row in tokens.prompts(prompts)]
    return np.hstack([np.array(begun), right[:, :-1]]), right


def sampled_ratio(run: Run, prompts: list[str], arithmetic: Arithmetic, times: int, seed: int = 0) -> float:
    """Return the largest share of the proven bounds that shuffled evaluations use up: inside, it is below one."""
    weights, (ids, right) = weights_of(run), laid_out(run, prompts)
    mid, off = proof.bounded(run.config.model, weights, ids, right, Rounding((arithmetic,)))
    sloppy = Sloppy(run.config.model, weights, DTYPES[arithmetic], np.random.default_rng(seed))
    return float(np.max([ratio(mid, off[0], sloppy.logits(ids), right) for _ in range(times)]))  # nan stays nan


def ratio(mid: Array, off: Array, logits: Array, right: Array) -> float:
    """Return the largest share of the bounds that an evaluation uses up."""
    logits = logits.astype(np.float64)
    found = np.take_along_axis(logits, right[..., None], -1) - logits
    others = np.arange(logits.shape[-1]) != right[..., None]
    return float((np.abs(found - mid) / off)[others].max())


# --- whole networks ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arithmetic", DTYPES)
@pytest.mark.parametrize("name", ["parity", "smallest", "xor-base-8"])
def test_shuffled_evaluations_of_a_network_stay_inside_the_proven_bounds(name: str, arithmetic: Arithmetic) -> None:
    run = runs.load(name)
    prompts = list(run.config.task.domain)[:12]
    assert 0 < sampled_ratio(run, prompts, arithmetic, times=8) < 1


def test_a_small_network_is_proven_in_every_arithmetic() -> None:
    run = runs.load("parity")
    found = proof.prove(run.config, weights_of(run), threads=2)
    margins = {bound.arithmetic: bound.margin for bound in found.bounds}
    assert list(margins) == [arithmetic.name for arithmetic in ARITHMETICS]
    assert run.certificate is not None
    assert run.certificate.proof is not None
    assert margins["real"] == pytest.approx(run.certificate.least_margin, abs=1e-4)
    assert margins == pytest.approx({b.arithmetic: b.margin for b in run.certificate.proof.bounds}, abs=1e-6)
    assert 7 < margins["float32"] < margins["float64"] < margins["real"]


@pytest.fixture
def parity(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SHIPPED / "parity", tmp_path / "parity"))


def lowered(run: Run, margin: float) -> None:
    """Move one row of the head until the least margin is about as small as asked."""
    head = run.model.head.weight
    weights = weights_of(run)
    step = np.random.default_rng(1).normal(size=head.shape[1])

    def least(size: float) -> float:
        weights["head.weight"][2] = head[2].detach().double().numpy() + np.float32(size) * step
        return float(proof.margins(run.config, weights, list(run.config.task.domain), (REAL,)).min())

    low, high = 0.0, 1.0
    while least(high) > margin:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if least(middle) > margin else (low, middle)
    least(low)
    with torch.no_grad():
        head[2] = torch.from_numpy(weights["head.weight"][2]).float()


def test_a_network_that_is_right_with_tiny_margins_is_refused(parity: Path) -> None:
    run = runs.load(parity, read_certificate=False)
    lowered(run, 2e-4)
    judged = run.judged()
    assert judged.certificate is not None
    assert judged.certificate.certified  # it is right, here
    found = judged.proven().certificate
    assert found is not None
    assert found.proof is not None
    assert (found.strength, found.proof.covers("float64"), found.proof.covers("float32")) == ("checked", True, False)
    assert "checked; proven in real, float64 arithmetic only" in found.statement
    runs.save(parity, replace(judged, certificate=found))
    assert verify.verify(parity).agrees
    stated = [replace(bound, margin=1e-6) if bound.arithmetic == "float32" else bound for bound in found.proof.bounds]
    claims = replace(found, strength="proven", proof=replace(found.proof, bounds=tuple(stated)))
    (parity / "certificate.json").write_text(claims.to_json())
    assert "it is not proven here in float32 arithmetic" in verify.verify(parity).objections[0]


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
    objections = verify.verify(parity).objections
    assert any("it is for the weights" in objection for objection in objections)
    assert any("a prompt is not answered rightly" in objection for objection in objections)


@pytest.mark.parametrize(("name", "factor"), [("head.weight", 1e35), ("token_embedding.weight", 1e20)])
def test_weights_that_overflow_prove_nothing(name: str, factor: float) -> None:
    """The second ones only overflow when a norm squares them."""
    run = runs.load("parity")
    weights = weights_of(run)
    weights[name] *= factor
    assert proof.prove(run.config, weights).arithmetics == "none"


# --- certificates and the checker -------------------------------------------------------------------------------------


def edited(path: Path, change: Callable[[Certificate], Certificate]) -> None:
    path.write_text(change(Certificate.from_json(path.read_text())).to_json())
    seal.seal(path.parent)


def proven(folder: Path) -> Certificate:
    run = runs.load(folder, read_certificate=False).judged().proven()
    runs.keep(folder, run)
    assert run.certificate is not None
    return run.certificate


def test_what_is_proven_is_kept_loaded_and_verified(parity: Path) -> None:
    kept = proven(parity)
    assert kept.strength == "proven"
    assert runs.load(parity).certificate == kept
    found = verify.verify(parity)
    assert found.agrees
    assert kept.proof is not None
    real, float64, float32 = (bound.margin or 0.0 for bound in kept.proof.bounds)
    assert found.real - found.proven["float32"] == pytest.approx(real - float32, rel=0.1)  # what rounding may do
    assert 0 < found.real - found.proven["float64"] < 1e-9  # here the balls' own radius is as large
    assert 0 < real - float64 < 1e-9
    assert "An independent check: `alga verify`" in (parity / "README.md").read_text()


def test_a_certificate_without_a_proof_stays_valid(parity: Path) -> None:
    proven(parity)
    edited(parity / "certificate.json", lambda c: replace(c, proof=None, strength="checked"))
    run = runs.load(parity)
    assert run.certified
    assert run.certificate is not None
    assert run.certificate.strength == "checked"
    assert verify.verify(parity).agrees


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
def test_a_certificate_that_states_more_is_refused(
    parity: Path, change: Callable[[Certificate], Certificate], objection: str
) -> None:
    proven(parity)
    edited(parity / "certificate.json", change)
    found = verify.verify(parity)
    assert not found.agrees
    assert any(objection in said for said in found.objections)


def test_every_shipped_network_is_proven_in_float64_and_all_but_three_in_float32() -> None:
    found = {path.parent.name: Certificate.from_json(path.read_text()) for path in SHIPPED.glob("*/certificate.json")}
    proofs = {name: certificate.proof for name, certificate in found.items()}
    assert all(proof is not None and proof.covers("real") and proof.covers("float64") for proof in proofs.values())
    assert {name for name, certificate in found.items() if certificate.strength != "proven"} == {
        "arithmetic", "division-by-a-digit-base-16", "times-a-digit-base-16",
    }  # fmt: skip


def test_the_table_of_the_docs_and_the_cards_say_what_the_certificates_say() -> None:
    table = (SHIPPED.parents[2] / "docs" / "proof.md").read_text().replace("**", "")
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


def test_a_proof_that_is_none_is_no_certificate() -> None:
    text = json.loads((SHIPPED / "parity" / "certificate.json").read_text())
    for nonsense in ({}, [], "yes", {"assumptions": "x", "bounds": [{"margin": 1}]}):
        with pytest.raises(AlgaError, match="expected a certificate"):
            Certificate.from_json(json.dumps({**text, "proof": nonsense}))
    bounds = [{"arithmetic": "float32", "margin": "7", "prompt": ""}]
    with pytest.raises(AlgaError, match="must be a number or null"):
        Certificate.from_json(json.dumps({**text, "proof": {"assumptions": "x", "bounds": bounds}}))


# --- the command line -------------------------------------------------------------------------------------------------


def test_certify_proves_and_says_under_which_assumptions(alga: Callable[..., Result], parity: Path) -> None:
    said = alga("certify", parity, "--proof", "--save")
    assert said.code == 0
    assert "certified for parity of any length (proven in real, float64, float32 arithmetic" in said.out
    assert "  float32  proven: at least 7.1" in said.out
    assert "*proven* rests on these assumptions (ieee-1, docs/proof.md):" in said.out
    assert runs.load(parity).certificate == Certificate.from_json((parity / "certificate.json").read_text())
    content = json.loads(alga("certify", parity, "--proof", "--json").out)
    assert content["strength"] == "proven"
    assert [bound["arithmetic"] for bound in content["proof"]["bounds"]] == ["real", "float64", "float32"]
    refused = alga("certify", "parity", "--proof", "--save")
    assert (refused.code, refused.err) == (2, "alga: --save needs a run folder, got 'parity'\n")


def test_verify_says_what_is_proven_and_refuses_what_is_not(alga: Callable[..., Result], parity: Path) -> None:
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


def test_certify_tells_what_is_wrong_even_where_it_was_to_keep_it(alga: Callable[..., Result], parity: Path) -> None:
    before = (parity / "certificate.json").read_bytes()
    rewrite(parity / "model.safetensors", lambda weights: weights["head.weight"].mul_(-1))
    said = alga("certify", parity, "--save")
    assert said.code == 1
    assert "expected" in said.out
    assert said.err == "alga: not kept: a certificate is for networks that are right on every prompt\n"
    assert (parity / "certificate.json").read_bytes() == before


def test_a_certificate_is_not_kept_beside_another_writer(parity: Path) -> None:
    run = runs.load(parity, read_certificate=False).judged()
    with files.Hold(parity), pytest.raises(AlgaError, match="another process is writing"):
        runs.keep(parity, run)


@pytest.mark.parametrize(
    "name", ["token_embedding.weight", "layers.0.feed_forward.2.weight", "layers.0.feed_forward.0.bias"]
)
def test_weights_of_another_size_are_refused_in_one_line(parity: Path, name: str) -> None:
    proven(parity)
    rewrite(parity / "model.safetensors", lambda weights: weights.update({name: weights[name][:-1].clone()}))
    with pytest.raises(AlgaError, match="the weights do not fit their configuration"):
        verify.verify(parity)


def test_certify_says_no_where_bounds_are_too_wide_even_in_float64(
    alga: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = lemmas.gelu_error
    monkeypatch.setattr(lemmas, "gelu_error", lambda *given: 1e18 * wide(*given))
    said = alga("certify", "parity", "--proof")
    assert (said.code, "float64  not proven" in said.out) == (1, True)
    assert alga("certify", "parity").code == 0
