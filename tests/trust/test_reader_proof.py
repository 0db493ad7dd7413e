"""The proof of a reader for texts of any length: against brute force, and that it can fail."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from alga import runs
from alga.network.compiled import compiled
from alga.runs import Run
from alga.trust.assumptions import ZERO_FROM
from alga.trust.certificate import Bound
from alga.trust.proof.outside import Distances
from alga.trust.proof.readers import ReaderBounds, prove_reader
from alga.trust.verify.verdict import derive_reader, verify
from tests.readers import SOME, TASK, TEXTS, Array, changed, margins, numbers


@pytest.fixture(scope="module")
def whole() -> Run:
    return runs.load("whole")


def logits(run: Run, kinds: list[int], distances: list[int]) -> Array:
    """Return the logits of the last token, over everything that it is given, in float64 and written out once more."""
    w, shape = numbers(run), run.config.model
    a, tokens, parts = "layers.0.attention", w["token_embedding.weight"], w["part_embedding.weight"]
    x = np.array([tokens[kind % len(tokens)] + parts[kind // len(tokens)] for kind in kinds])

    def norm(x: Array, name: str) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
        return scaled * w[f"{name}.weight"] + w[f"{name}.bias"]

    def linear(x: Array, name: str) -> Array:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    q, k, v = np.split(linear(norm(x, "layers.0.attention_norm"), f"{a}.project_in"), 3, axis=1)
    width, mixed = shape.width // shape.heads, []
    for h in range(shape.heads):
        e = slice(h * width, (h + 1) * width)
        head = Distances(w[f"{a}.distances"][h], w[f"{a}.slopes"][h], float(w[f"{a}.sinks"][h]))
        scores = k[:, e] @ q[-1, e] / math.sqrt(width) + [head.added(distance) for distance in distances]
        top = max(scores.max(), head.sink)
        raised = np.exp(scores - top)
        mixed.append(raised @ v[:, e] / (raised.sum() + math.exp(head.sink - top)))
    y = x[-1] + linear(np.concatenate(mixed), f"{a}.project_out")
    hidden = linear(norm(y, "layers.0.feed_forward_norm"), "layers.0.feed_forward.0")
    gelu = hidden * (1 + np.array([math.erf(t / math.sqrt(2)) for t in hidden])) / 2
    y = y + linear(gelu, "layers.0.feed_forward.2")
    return w["head.weight"] @ norm(y, "final_norm")


def margin(run: Run, prompt: str, text: str) -> float:
    """Return the margin of the last token of a text, with attention to all of it."""
    kinds, places = TEXTS.kinds(text), TEXTS.places(text)
    found = logits(run, kinds.tolist(), (places - places[-1]).tolist())
    right = TEXTS.ids[TASK.domain[prompt].output]
    return float(found[right] - np.delete(found, right).max())


def long_text(prompt: str, low: str, high: str, length: int, token: str) -> str | None:
    """Return a long text that ends in a situation: `low` digits below, `high` ones above the next place."""
    question, _, last = prompt.partition("=")
    cuts = question.split("+")
    if not last or not all(len(cut) == 2 for cut in cuts):
        return None
    operands = [high * length + cut + low * length for cut in cuts]
    return f"{'+'.join(operands)}={token * length}{last}"


@pytest.mark.parametrize("slope", [None, 1.5, 0.6])
def test_no_long_text_moves_a_margin_by_more_than_the_bound(whole: Run, slope: float | None) -> None:
    def flatten(arrays: dict[str, Array]) -> None:
        if slope is not None:
            near = arrays["layers.0.attention.distances"]
            near[:, [0, 1, 4]] = near[:, 2:4].min() - 12  # so that what is outside can be measured
            arrays["layers.0.attention.slopes"][:] = slope

    run = changed(whole, flatten)
    prompts = [prompt for prompt in SOME if long_text(prompt, "0", "0", 1, "0")][:12]
    bounds, alone = margins(run, prompts)[0], margins(changed(run, _steep), prompts)[0]
    moved = []
    for prompt, bound, exact in zip(prompts, bounds, alone, strict=True):
        for low, high, token in (("0", "9", "5"), ("9", "0", "9"), ("3", "3", "0"), ("7", "1", "2")):
            text = long_text(prompt, low, high, 30, token)
            assert text is not None
            found = margin(run, prompt, text)
            assert found >= bound
            moved.append(abs(found - exact))
    if slope is not None:
        assert max(moved) > 1e-6  # the bound was put to the test
        assert max(moved) < max(alone - bounds) < 1000 * max(moved)


def _steep(arrays: dict[str, Array]) -> None:
    arrays["layers.0.attention.distances"][:, [0, 1, 4]] = -500
    arrays["layers.0.attention.slopes"][:] = 100


def test_bound_without_rounding_is_the_exact_margin(whole: Run) -> None:
    bounds = margins(whole, SOME)
    for prompt, bound in zip(SOME, bounds[0], strict=True):
        kinds, distances = TEXTS.situations([prompt])
        there = kinds[0] >= 0
        found = logits(whole, kinds[0][there].tolist(), distances[0][there].tolist())
        right = TEXTS.ids[TASK.domain[prompt].output]
        assert bound == pytest.approx(found[right] - np.delete(found, right).max(), abs=1e-6)
    assert (bounds[0] >= bounds[1]).all()
    assert (bounds[1] >= bounds[2]).all()


def test_slope_lowered_step_by_step_is_refused_at_some_value(whole: Run) -> None:
    """The first value that is refused comes with the head and the situation."""
    refused = None
    for slope in (5.0, 2.0, 1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 1e-3, 1e-6, 1e-9, 1e-12):

        def lower(arrays: dict[str, Array], slope: float = slope) -> None:
            arrays["layers.0.attention.slopes"][1, 0] = slope

        found, shares = ReaderBounds(TEXTS, whole.config.model, numbers(changed(whole, lower))).margins(SOME)
        if not (found[2] > 0).all():
            refused = slope, int(shares.max(axis=1).argmax()), SOME[int(shares[1].argmax())]
            break
    assert refused is not None
    assert refused[1:] == (1, "+=1")
    assert refused[0] < 0.1


@pytest.mark.parametrize("slope", [0.0, -1.0])
def test_slope_that_is_not_positive_is_refused(whole: Run, slope: float, monkeypatch: pytest.MonkeyPatch) -> None:
    def lower(arrays: dict[str, Array]) -> None:
        arrays["layers.0.attention.slopes"][0, 1] = slope

    run = changed(whole, lower)
    domain = {prompt: TASK.domain[prompt] for prompt in SOME}
    monkeypatch.setattr(TEXTS.task, "domain", dataclasses.replace(TASK.domain, instances=domain))
    proof = prove_reader(TEXTS, run.config.model, numbers(run))
    assert [bound.margin for bound in proof.bounds] == [None, None, None]
    assert proof.outside is not None
    assert (proof.outside.share, proof.outside.head) == (pytest.approx(1.0), 0)
    found = derive_reader(TEXTS, run.config.model, run.weights.data, SOME)
    assert found.real == -math.inf


def test_weight_moved_until_an_answer_is_wrong_is_refused(whole: Run) -> None:
    row, hidden = TEXTS.ids["3"], "head.weight"

    def right(amount: float) -> bool:
        def move(arrays: dict[str, Array]) -> None:
            arrays[hidden][row, 5] += amount

        run = changed(whole, move)
        wrong = [step for step in run_decoder(run)(SOME) if step.output != TASK.domain[step.prompt].output]
        proven = bool((margins(run, SOME)[2] > 0).all())
        assert not (wrong and proven)  # never both
        return proven

    assert right(0.0)
    assert not right(40.0)


def run_decoder(run: Run) -> Callable[[list[str]], list]:
    from alga.network.kinds import decoder_of

    return decoder_of(run.weights, run.config.tokens)


def test_second_program_agrees_on_some_situations(whole: Run) -> None:
    first = margins(whole, SOME).min(axis=1)
    second = derive_reader(TEXTS, whole.config.model, whole.weights.data, SOME)
    assert second.real == pytest.approx(first[0], abs=1e-5)
    assert second.proven["float64"] == pytest.approx(first[1], abs=1e-5)
    assert second.proven["float32"] == pytest.approx(first[2], abs=0.5)
    assert second.proven["float32"] > 0


def test_second_program_objects_to_what_it_does_not_derive(whole: Run) -> None:
    certificate = whole.certificate
    assert certificate is not None
    assert certificate.proof is not None
    assert verify(TASK, whole.config.model, whole.weights.data, certificate, only=5).objections == []
    more = dataclasses.replace(certificate.proof, bounds=(Bound("real", 99.0, "0+0="), *certificate.proof.bounds[1:]))
    found = verify(TASK, whole.config.model, whole.weights.data, dataclasses.replace(certificate, proof=more), only=5)
    assert any("states a margin of 99.0" in each for each in found.objections)
    other = dataclasses.replace(certificate.proof, assumptions="ieee-1")
    found = verify(TASK, whole.config.model, whole.weights.data, dataclasses.replace(certificate, proof=other), only=5)
    assert any("rests on the assumptions ieee-1" in each for each in found.objections)


@pytest.mark.parametrize(
    ("format_", "unit", "least"), [("float32", 2.0**-24, 2.0**-126), ("float64", 2.0**-53, 2.0**-1022)]
)
def test_exp_is_as_assumed_here(format_: str, unit: float, least: float) -> None:
    """Sampled: the error of exp, and that it is exactly zero where the proof says so."""
    zero_from, kind = ZERO_FROM[format_], np.dtype(format_)
    x = -np.random.default_rng(1).uniform(0, zero_from, 200_000).astype(kind)
    exact = np.exp(x.astype(np.longdouble))
    far = -np.array([zero_from, zero_from + 0.5, 2 * zero_from, 1e6, np.inf], kind)
    for exp in (np.exp, lambda x: torch.exp(torch.from_numpy(x)).numpy(), compiled_exp):
        assert (np.abs(exp(x) - exact) <= 8 * unit * exact + least).all()
        assert (exp(far) == 0).all()


@compiled
def compiled_exp(x: Array) -> Array:
    found = np.empty_like(x)
    for i in range(len(x)):
        found[i] = math.exp(x[i])
    return found


@pytest.mark.parametrize("shift", [-3000.0, -752.0, 0.0, 800.0])
def test_shifting_all_scores_of_a_head_hides_nothing(whole: Run, shift: float) -> None:
    """A softmax does not change, so neither may the bound: a sum once underflowed, and a wrong network was proven."""

    def shifted(arrays: dict[str, Array]) -> None:
        arrays["layers.0.attention.distances"][0] += shift
        arrays["layers.0.attention.sinks"][0] += shift

    def spoiled(arrays: dict[str, Array]) -> None:
        arrays["layers.0.attention.distances"][0, 4] = arrays["layers.0.attention.distances"][0, 3]
        shifted(arrays)

    same, wrong = changed(whole, shifted), changed(whole, spoiled)
    expected = ReaderBounds(TEXTS, whole.config.model, numbers(whole)).margins(SOME)[1]
    found = ReaderBounds(TEXTS, whole.config.model, numbers(same)).margins(SOME)[1]
    assert np.log(found) == pytest.approx(np.log(expected), abs=2e-3)
    assert not (margins(wrong, SOME)[0] > 0).any()
    for run, proven in ((same, True), (wrong, False)):
        derived = derive_reader(TEXTS, run.config.model, run.weights.data, SOME[:20])
        assert (derived.real > 0) == proven


@pytest.mark.parametrize(("name", "value"), [("slopes", 1e-3), ("slopes", 1e4), ("distances", 1e4), ("sinks", -1e4)])
def test_extreme_numbers_give_a_bound_or_none(whole: Run, name: str, value: float) -> None:
    def extreme(arrays: dict[str, Array]) -> None:
        arrays[f"layers.0.attention.{name}"].flat[0] = value

    run = changed(whole, extreme)
    found, shares = ReaderBounds(TEXTS, run.config.model, numbers(run)).margins(SOME)
    assert not np.isnan(found).any()
    assert ((shares > 0) & (shares <= 1 + 1e-8)).all()
    derive_reader(TEXTS, run.config.model, run.weights.data, SOME[:5])
