"""Thousands of evaluations stay inside the proven bounds; the verifier agrees on every kind of network."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch

from alga import export, runs
from alga.network.generation import Compiled, unfolded
from alga.runs import Run
from alga.runs.verification import verify
from alga.solve.solver import Solver
from alga.trust.proof.bounds import FLOAT32, FLOAT64, NumberFormat
from alga.trust.proof.margins import bounded, margins
from alga.trust.proof.rounding import Rounding
from tests.sloppy import Array
from tests.trust.sampled_errors import DTYPES, laid_out, ratio, sampled_ratio, weights_of

pytestmark = pytest.mark.slow


def bounds(run: Run, prompts: list[str], arithmetic: NumberFormat) -> tuple[Array, Array, Array, Array]:
    ids, right = laid_out(run, prompts)
    mid, off = bounded(run.config.model, weights_of(run), ids, right, Rounding((arithmetic,)))
    return mid, off[0], ids, right


@pytest.mark.parametrize("arithmetic", DTYPES)
@pytest.mark.parametrize("name", ["addition", "division-by-a-digit", "smallest", "comparison"])
def test_thousands_of_shuffled_evaluations_stay_inside(name: str, arithmetic: NumberFormat) -> None:
    """80 random choices of orders and algorithms, each on 16 prompts."""
    run = runs.load(name)
    domain = list(run.config.task.domain)
    chosen = [domain[i] for i in np.random.default_rng(0).integers(len(domain), size=16)]
    assert 0 < sampled_ratio(run, chosen, arithmetic, times=80, seed=1) < 1


@pytest.mark.parametrize("name", ["addition", "smallest", "xor-base-16"])
def test_torch_stays_inside_for_any_batch_size_and_thread_count(name: str) -> None:
    run = runs.load(name)
    prompts = list(run.config.task.domain)[:512]
    threads = torch.get_num_threads()
    try:
        for arithmetic, dtype in ((FLOAT32, torch.float32), (FLOAT64, torch.float64)):
            mid, off, ids, right = bounds(run, prompts, arithmetic)
            model = run.model.to(dtype)
            for count, size in ((1, 512), (2, 512), (3, 100), (1, 7), (2, 1)):
                torch.set_num_threads(count)
                with torch.inference_mode():
                    parts = [model(torch.from_numpy(ids[i : i + size])) for i in range(0, len(ids), size)]
                assert 0 < ratio(mid, off, torch.cat(parts).numpy(), right) < 1
    finally:
        torch.set_num_threads(threads)
        run.model.to(torch.float32)


def test_fused_attention_stays_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    run = runs.load("addition")
    mid, off, ids, right = bounds(run, list(run.config.task.domain)[:256], FLOAT32)

    def fused(self: object, x: torch.Tensor, mask: torch.Tensor, skip: int, past: object) -> tuple[object, ...]:
        B, L, D = x.shape
        q, k, v = (part.view(B, L, 2, -1).transpose(1, 2) for part in self.project_in(x).chunk(3, dim=-1))  # type: ignore[attr-defined]
        mixed = torch.nn.functional.scaled_dot_product_attention(q[:, :, skip:], k, v, mask[skip:])
        return self.project_out(mixed.transpose(1, 2).reshape(B, L - skip, D)), (k, v)  # type: ignore[attr-defined]

    monkeypatch.setattr("alga.network.model.Attention.forward", fused)
    with torch.inference_mode():
        assert 0 < ratio(mid, off, run.model(torch.from_numpy(ids)).numpy(), right) < 1


@pytest.mark.parametrize("name", ["addition", "smallest", "parity"])
def test_compiled_margins_stay_above_the_proven_ones(name: str) -> None:
    run = runs.load(name)
    prompts = list(run.config.task.domain)[:300]
    least = margins(run.config.task.domain, run.config.model, weights_of(run), prompts, (FLOAT32,))[0]
    real = margins(run.config.task.domain, run.config.model, weights_of(run), prompts, (FLOAT64,))[0]
    compiled = Compiled(unfolded(run.weights.arrays, run.config.model), run.config.model)
    for prompt, low, exact in zip(prompts, least, real, strict=True):
        margin = compiled.decode(run.config.tokens.packed([prompt]))[1]
        assert low <= margin <= exact + (exact - low) + 1e-9


def test_onnx_runtime_stays_inside() -> None:
    import onnxruntime

    for name in ("addition", "comparison"):
        loaded = Solver.load(name)
        session = onnxruntime.InferenceSession(io.BytesIO(export.onnx(loaded)).getvalue())
        run, tokens = loaded.run, loaded.run.config.tokens
        prompts = list(run.config.task.domain)
        for size in (1, 64, 400):
            chunk = prompts[:size]
            mid, off, _, right = bounds(run, chunk, FLOAT32)
            logits = session.run(["logits"], {"prompts": np.array(tokens.prompts(chunk), np.int64)})[0]
            generated = np.cumsum(right == 1, axis=1) - (right == 1) == 0  # logits after the stop token have no bound
            logits = np.where(generated[..., None], logits, np.take_along_axis(logits, right[..., None], -1) - mid)
            assert 0 < ratio(mid, off, logits, right) < 1


@pytest.mark.parametrize("name", ["smallest", "addition-base-2", "subtraction-base-2", "comparison", "and-base-16"])
def test_verifier_agrees_with_the_shipped_networks(name: str) -> None:
    found = verify(runs.locate(name))
    assert found.agrees
    certificate = runs.load(name).certificate
    assert certificate is not None
    assert certificate.bounded
    assert found.proven["float32"] > 0


def test_verifier_agrees_on_the_shipped_adder() -> None:
    found = verify(runs.locate("addition"))
    assert found.agrees
    assert found.proven["float32"] > 10
